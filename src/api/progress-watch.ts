/** Watches whether a body comes forward, with one timer for all of it: a race of its own for each chunk costs more than the chunk. */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";

/** The least that counts as coming forward. */
export interface LeastProgress {
  readonly bytes: number;
  readonly withinMs: number;
}

/** How often it looks, as a part of the time that it allows. */
const LOOKS = 64;

export class ProgressWatch {
  readonly #clock: Clock;
  readonly #least: LeastProgress;
  readonly #stopped = new AbortController();
  /** What is left of the time, as long as nothing is waited for. */
  #leftMs: number;
  /** While something is waited for. */
  #deadline: Deadline | null = null;
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
    this.#leftMs = least.withinMs;
    const onAbort = (): void => this.#end(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true, signal: this.#stopped.signal });
    this.#untilLate().then(
      () => this.#end(late()),
      () => undefined,
    );
  }

  async #untilLate(): Promise<void> {
    const lookMs = this.#least.withinMs / LOOKS;
    while (this.#deadline?.isOver !== true) {
      const leftMs = this.#deadline?.leftMs ?? this.#leftMs;
      await this.#clock.sleep(Math.max(leftMs, lookMs), this.#stopped.signal);
    }
  }

  #end(error: unknown): void {
    this.#failure ??= { error };
    this.#giveUp(error);
  }

  /**
   * What is waited for, unless the watch ends first; that is then of no interest any more. Only this time counts: a
   * peer is not to blame for what the disk takes.
   */
  async race<T>(step: Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#clock, this.#leftMs);
    this.#deadline = deadline;
    try {
      return await new Promise<T>((resolve, reject) => {
        step.then(resolve, reject);
        if (this.#failure !== null) reject(this.#failure.error);
        else this.#giveUp = reject;
      });
    } finally {
      this.#leftMs = deadline.leftMs;
      this.#deadline = null;
    }
  }

  /** Each stretch of bytes that comes moves the end. */
  came(bytes: number): void {
    this.#sinceBytes += bytes;
    if (this.#sinceBytes < this.#least.bytes) return;
    this.#leftMs = this.#least.withinMs;
    this.#sinceBytes = 0;
  }

  stop(): void {
    this.#stopped.abort("settled");
  }
}
