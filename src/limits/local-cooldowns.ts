/** Keeps the cooldowns that the service demanded from this process. They apply even if the store does not know them. */
import type { Clock } from "../clock.ts";

/** Classes of requests with separate limits: submissions, and reads (queries and downloads). */
export type LimitClass = "submissions" | "reads";

/** Keeps in memory until when this process may send no submissions, and until when it may send no reads. */
export class LocalCooldowns {
  readonly #clock: Clock;
  readonly #untilMs = new Map<LimitClass, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts a cooldown. If a running cooldown ends later, keeps the running cooldown. */
  set(limitClass: LimitClass, ms: number): void {
    const untilMs = this.#clock.steadyMs() + ms;
    this.#untilMs.set(limitClass, Math.max(untilMs, this.#untilMs.get(limitClass) ?? 0));
  }

  /** Returns the remaining milliseconds; 0 without a cooldown. */
  computeLeftMs(limitClass: LimitClass): number {
    return Math.max(0, (this.#untilMs.get(limitClass) ?? 0) - this.#clock.steadyMs());
  }
}
