/** The reads that this process made lately, and what it may still do while the store is away. */
import type { Clock } from "../clock.ts";

/**
 * Counts every read of this process, also those that the store admitted: without the store nobody knows what the
 * other processes do, so what is left is a share that several can have at once.
 */
export class LocalReads {
  readonly #clock: Clock;
  readonly #windowMs: number;
  #startedAtMs: number[] = [];

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  /** A read that the store admitted. */
  note(): void {
    this.#forget();
    this.#startedAtMs.push(this.#clock.steadyMs());
  }

  /** Reads that count in the window. */
  get used(): number {
    this.#forget();
    return this.#startedAtMs.length;
  }

  /** Milliseconds to wait before this process may do one of `most` reads; 0: it may, and this read is counted. */
  admit(most: number): number {
    const nowMs = this.#forget();
    const oldestThatCounts = this.#startedAtMs.at(-most);
    if (oldestThatCounts !== undefined) return oldestThatCounts + this.#windowMs - nowMs;
    this.#startedAtMs.push(nowMs);
    return 0;
  }

  #forget(): number {
    const nowMs = this.#clock.steadyMs();
    this.#startedAtMs = this.#startedAtMs.filter((atMs) => atMs > nowMs - this.#windowMs);
    return nowMs;
  }
}
