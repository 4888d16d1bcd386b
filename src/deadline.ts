/** Limits time: a deadline that all waits of a call share, and a time limit for one operation. */
import type { Clock } from "./clock.ts";

/**
 * A time limit, as a point on the steady clock. A call creates one deadline and passes it to all its waits, so that
 * they share one time limit.
 */
export class Deadline {
  readonly #clock: Pick<Clock, "steadyMs" | "sleep">;
  readonly #atMs: number;

  constructor(clock: Pick<Clock, "steadyMs" | "sleep">, ms: number) {
    this.#clock = clock;
    this.#atMs = clock.steadyMs() + ms;
  }

  /** Remaining milliseconds; 0 after the deadline. */
  get leftMs(): number {
    return Math.max(0, this.#atMs - this.#clock.steadyMs());
  }

  get isOver(): boolean {
    return this.leftMs === 0;
  }

  /** Resolves at the deadline; rejects with the signal's reason if the signal aborts first. */
  async waitUntilPassed(signal: AbortSignal): Promise<void> {
    while (!this.isOver) await this.#clock.sleep(this.leftMs, signal);
  }
}

export interface TimeoutOptions {
  readonly clock: Pick<Clock, "sleep">;
  readonly timeoutMs: number;
  /** The caller's signal. If it aborts, the result rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Creates the error for a time-out. The signal of the operation aborts with this error as its reason. */
  readonly timeoutError: () => unknown;
}

/**
 * Runs an operation for a limited time.
 *
 * @param work the operation. Its signal aborts when the caller's signal aborts or when the time is over. A result that
 *   comes after the abort is ignored.
 * @throws errors of the operation, the reason of the caller's signal, or `timeoutError()`
 */
export async function runWithTimeout<T>(
  options: TimeoutOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  options.signal?.throwIfAborted();
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const timer = new AbortController();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  const overdue = options.clock
    .sleep(options.timeoutMs, timer.signal)
    .then(() => stop.abort(options.timeoutError()));
  // The async function turns a synchronous error of the operation into a rejection. Without it, the timer would keep
  // running after such an error.
  const working = (async () => await work(signal))();
  // A promise that loses the race must not cause an unhandled rejection.
  for (const promise of [working, aborted, overdue]) promise.catch(() => undefined);
  try {
    return await Promise.race([working, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Abort with a reason, because otherwise each abort creates an error with a stack, which is slow.
    timer.abort("ended");
  }
}
