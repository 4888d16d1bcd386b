/**
 * Estimates how long a client waits for a response. The estimate uses the shortest time that the client waited before
 * it gave up a call.
 */

/**
 * Minimum of the shortened default wait. A person may stop a call within a second, which does not mean that the client
 * waits no longer than that.
 */
const MIN_WAIT_SECONDS = 1;

/**
 * Maximum default wait of later calls, as a share of the time after which the client gave up a call. For example, if
 * the client gave up after 60 s, later calls wait at most 40 s by default. The rest of the time is for transmitting the
 * response.
 */
const MAX_WAIT_SHARE = 2 / 3;

/**
 * Remembers the shortest time after which one client gave up a call, and shortens the default wait of its later calls.
 */
export class ClientTimeout {
  #maxWaitSeconds = Number.POSITIVE_INFINITY;

  /**
   * Returns the default wait for the client's next call, in seconds.
   *
   * @param defaultSeconds the default wait for a client that has never given up a call
   */
  capWaitSeconds(defaultSeconds: number): number {
    return Math.min(defaultSeconds, this.#maxWaitSeconds);
  }

  recordGiveUp(ms: number): void {
    const waitSeconds = Math.max(MIN_WAIT_SECONDS, Math.floor((MAX_WAIT_SHARE * ms) / 1000));
    this.#maxWaitSeconds = Math.min(this.#maxWaitSeconds, waitSeconds);
  }
}
