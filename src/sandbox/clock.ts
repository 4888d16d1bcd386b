/** The sandbox's clock, an interface so that tests can control time. */
import { setTimeout as sleepFor } from "node:timers/promises";

/** The sandbox's clocks. The monotonic one measures windows, the wall clock expiry dates. */
export interface SandboxClock {
  /** Milliseconds that never run backwards, from an arbitrary start. */
  now(): number;
  /** Milliseconds since the epoch, for the expiry dates of grants. */
  wallMs(): number;
  /** Resolves after `durationMs`; rejects when the signal aborts. Never keeps the process alive. */
  sleep(durationMs: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: SandboxClock = {
  now: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: async (durationMs, signal) => {
    await sleepFor(durationMs, undefined, { signal, ref: false });
  },
};
