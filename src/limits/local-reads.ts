/** Owns the reads that this process made lately, and what it may still do while the store is away. */
import type { Clock } from "../clock.ts";

/**
 * Counts every read of this process, also those that the store admitted: without the store nobody knows what the
 * other processes do, so what is left is a share that several can have at once.
 */
export class LocalReads {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #maxAlone: number;
  #startedAtMs: number[] = [];

  constructor(clock: Clock, windowMs: number, maxAlone: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#maxAlone = maxAlone;
  }

  /** A read that the store admitted. */
  note(): void {
    this.#forget();
    this.#startedAtMs.push(this.#clock.steadyMs());
  }

  /** Milliseconds to wait before this process may read on its own account; 0: it may, and this read is counted. */
  admit(): number {
    const nowMs = this.#forget();
    const oldestThatCounts = this.#startedAtMs.at(-this.#maxAlone);
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
