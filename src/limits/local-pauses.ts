/** The pauses that this process itself received, while the store may not know them. */
import type { Clock } from "../clock.ts";

/** Requests that the service limits apart: creates, and queries with downloads. */
export type LimitClass = "creates" | "reads";

export class LocalPauses {
  readonly #clock: Clock;
  readonly #untilMs = new Map<LimitClass, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A longer pause already set stays. */
  set(limitClass: LimitClass, ms: number): void {
    const untilMs = this.#clock.steadyMs() + ms;
    this.#untilMs.set(limitClass, Math.max(untilMs, this.#untilMs.get(limitClass) ?? 0));
  }

  /** Milliseconds left; 0 when nothing holds the class. */
  leftMs(limitClass: LimitClass): number {
    return Math.max(0, (this.#untilMs.get(limitClass) ?? 0) - this.#clock.steadyMs());
  }
}
