/** Bounds on time: a point that a whole call shares, and a race of one piece of work against a limit. */
import type { Clock } from "./clock.ts";

/** A point on the steady clock; computed once for a call and handed down, so that nothing waits twice. */
export class Deadline {
  readonly #clock: Pick<Clock, "steadyMs" | "sleep">;
  readonly #atMs: number;

  constructor(clock: Pick<Clock, "steadyMs" | "sleep">, ms: number) {
    this.#clock = clock;
    this.#atMs = clock.steadyMs() + ms;
  }

  /** Milliseconds until then; 0 once it is over. */
  get leftMs(): number {
    return Math.max(0, this.#atMs - this.#clock.steadyMs());
  }

  get isOver(): boolean {
    return this.leftMs === 0;
  }

  /** Resolves when it is over; rejects with the signal's reason when that aborts first. */
  async passed(signal: AbortSignal): Promise<void> {
    while (!this.isOver) await this.#clock.sleep(this.leftMs, signal);
  }
}

export interface Limit {
  readonly clock: Pick<Clock, "sleep">;
  readonly ms: number;
  /** The caller's: its abort ends the race with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** What the race ends with, thrown, when the time is over; also the reason of the work's signal. */
  readonly late: () => unknown;
}

/**
 * Runs work for a limited time.
 *
 * @param work gets a signal that aborts with the caller's, or when the time is over; what it still does then is
 *   nobody's concern any more
 * @throws what the work throws, the reason of the caller's signal, or what `late` makes
 */
export async function withDeadline<T>(limit: Limit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  limit.signal?.throwIfAborted();
  const stop = new AbortController();
  const signal = limit.signal === undefined ? stop.signal : AbortSignal.any([limit.signal, stop.signal]);
  const settled = new AbortController();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  const overdue = limit.clock.sleep(limit.ms, settled.signal).then(() => stop.abort(limit.late()));
  // What it throws at once is thrown by the race, which ends the timer.
  const working = (async () => await work(signal))();
  // Whichever loses the race is of no interest any more.
  for (const either of [working, aborted, overdue]) either.catch(() => undefined);
  try {
    return await Promise.race([working, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // With a reason: without one, each would make an error with a stack of its own, which takes longer than all the rest.
    settled.abort("settled");
  }
}
