/** Provides the wall clock, a steady clock and sleeping behind one interface, so that tests can replace them. */

export interface Clock {
  /** Wall clock time in milliseconds since 1970; jumps when the clock is set. */
  wallMs(): number;
  /** Milliseconds since the machine's boot; never jumps, and is comparable between processes of one machine. */
  steadyMs(): number;
  /**
   * Resolves after `ms`; rejects with the signal's reason as soon as the signal aborts. Never keeps the process alive.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Maximum delay of a Node timer. A longer sleep ends after this delay. Callers that need more time sleep again in a
 * loop.
 */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const DAY_MS = 86_400_000;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  steadyMs: () => Number(process.hrtime.bigint() / 1000n) / 1000,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.min(Math.max(0, ms), MAX_TIMER_MS),
      );
      timer.unref();
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
