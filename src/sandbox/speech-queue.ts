/** Owns how many prompts are spoken at a time; knows nothing of tasks, time or storage. */

/**
 * At most two pieces of unfinished audio in memory: the longest prompts make tens of megabytes each, and a
 * machine that also runs a client has few cores to spare.
 */
const CONCURRENT_SPEECHES = 2;

/** Runs jobs in the order they came, a few at a time. Its length is bounded by the site's capacity. */
export class SpeechQueue {
  #running = 0;
  readonly #waiting: Array<() => void> = [];

  async run<Result>(job: () => Promise<Result>): Promise<Result> {
    if (this.#running >= CONCURRENT_SPEECHES) {
      // Whoever finishes hands its place over, so the count does not change.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await job();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
