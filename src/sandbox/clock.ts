/** The sandbox's sense of time, an interface so that tests can hold it. */
import { setTimeout as sleepFor } from "node:timers/promises";

/** Time as the sandbox sees it. Windows are measured on the monotonic one, expiry dates on the wall. */
export interface SandboxClock {
  /** Milliseconds that never run backwards, from an arbitrary start. */
  now(): number;
  /** Milliseconds since the epoch, as grants' expiry dates mean them. */
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
