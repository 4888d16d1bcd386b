/** Defines the sandbox's clock as an interface, so that tests can control time. */
import { setTimeout as sleepFor } from "node:timers/promises";

/**
 * Monotonic time measures the windows of rate limits. Wall time gives tasks their dates, and decides when grants
 * expire.
 */
export interface SandboxClock {
  /** Returns monotonic milliseconds from an arbitrary start. */
  steadyMs(): number;
  /** Returns milliseconds since the Unix epoch. */
  wallMs(): number;
  /** Resolves after `durationMs`; rejects when the signal aborts. The timer does not keep the process alive. */
  sleep(durationMs: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: SandboxClock = {
  steadyMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: async (durationMs, signal) => {
    await sleepFor(durationMs, undefined, { signal, ref: false });
  },
};
