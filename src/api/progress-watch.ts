/** Watches whether a body comes forward, with one timer for all of it: a race of its own for each chunk costs more than the chunk. */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";

/** The least that counts as coming forward. */
export interface LeastProgress {
  readonly bytes: number;
  readonly withinMs: number;
}

export class ProgressWatch {
  readonly #clock: Clock;
  readonly #least: LeastProgress;
  readonly #stopped = new AbortController();
  #deadline: Deadline;
  #sinceBytes = 0;
  #failure: { readonly error: unknown } | null = null;
  #giveUp: (error: unknown) => void = () => undefined;

  /**
   * Begins at once, and is to be stopped.
   *
   * @param signal ends the waiting with its reason
   * @param late what the waiting ends with when nothing comes forward any more
   */
  constructor(clock: Clock, least: LeastProgress, signal: AbortSignal, late: () => unknown) {
    this.#clock = clock;
    this.#least = least;
    this.#deadline = new Deadline(clock, least.withinMs);
    const onAbort = (): void => this.#end(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true, signal: this.#stopped.signal });
    this.#untilLate().then(
      () => this.#end(late()),
      () => undefined,
    );
  }

  /** Each stretch of bytes that comes moves the end. */
  async #untilLate(): Promise<void> {
    while (!this.#deadline.isOver) await this.#clock.sleep(this.#deadline.leftMs, this.#stopped.signal);
  }

  #end(error: unknown): void {
    this.#failure ??= { error };
    this.#giveUp(error);
  }

  /** What is waited for, unless the watch ends first; that is then of no interest any more. */
  race<T>(step: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      step.then(resolve, reject);
      if (this.#failure !== null) reject(this.#failure.error);
      else this.#giveUp = reject;
    });
  }

  came(bytes: number): void {
    this.#sinceBytes += bytes;
    if (this.#sinceBytes < this.#least.bytes) return;
    this.#deadline = new Deadline(this.#clock, this.#least.withinMs);
    this.#sinceBytes = 0;
  }

  stop(): void {
    this.#stopped.abort();
  }
}
