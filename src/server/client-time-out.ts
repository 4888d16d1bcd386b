/** How long a client waits for an answer, learnt from the first call that it gave up. */

/** Of the time after which it gave up: room for the answer's way back. */
const SHARE = 2 / 3;

export class ClientTimeOut {
  #seconds = Number.POSITIVE_INFINITY;

  /** @param usual for a client that has not given up yet */
  waitSeconds(usual: number): number {
    return Math.min(usual, this.#seconds);
  }

  gaveUpAfter(ms: number): void {
    this.#seconds = Math.min(this.#seconds, Math.floor((SHARE * ms) / 1000));
  }
}
