/**
 * Estimates how long a client waits for a response. Uses the shortest time that the client waited before it gave up a
 * call.
 */

/**
 * The client gave up an earlier call after a certain time. Later calls may take this share of that time. The rest is
 * for transmitting the response.
 */
const WAIT_SHARE = 2 / 3;

export class ClientTimeout {
  #seconds = Number.POSITIVE_INFINITY;

  /**
   * Returns the default wait for the client's next call, in seconds.
   *
   * @param defaultSeconds the default wait for a client that has never given up a call
   */
  capWaitSeconds(defaultSeconds: number): number {
    return Math.min(defaultSeconds, this.#seconds);
  }

  recordGiveUp(ms: number): void {
    this.#seconds = Math.min(this.#seconds, Math.floor((WAIT_SHARE * ms) / 1000));
  }
}
