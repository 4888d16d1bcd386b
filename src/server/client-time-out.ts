/**
 * Estimates how long a client waits for a response. The estimate depends on the call that the client gave up after the
 * shortest time.
 */

/**
 * Share of the time after which the client gave up. A call may take this share. The rest is for transmitting the
 * response.
 */
const SHARE = 2 / 3;

export class ClientTimeOut {
  #seconds = Number.POSITIVE_INFINITY;

  /**
   * Returns the default wait for the client's next call, in seconds.
   *
   * @param usual the default wait for a client that has never given up a call
   */
  waitSeconds(usual: number): number {
    return Math.min(usual, this.#seconds);
  }

  gaveUpAfter(ms: number): void {
    this.#seconds = Math.min(this.#seconds, Math.floor((SHARE * ms) / 1000));
  }
}
