/** A clock that stands still until a test moves it. */
import type { SandboxClock } from "../../src/sandbox/clock.ts";

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

export class ManualSandboxClock implements SandboxClock {
  #nowMs = 1_000_000;
  #wallMs: number;
  #sleepers: Sleeper[] = [];

  constructor(wall = "2026-06-01T00:00:00Z") {
    this.#wallMs = Date.parse(wall);
  }

  steadyMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  sleep(durationMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper: Sleeper = { dueMs: this.#nowMs + durationMs, wake: resolve };
      const abort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(new Error("aborted"));
      };
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      this.#sleepers.push(sleeper);
    });
  }

  /** Advances time from one sleeper to the next. Each sleeper that wakes runs until it waits again. */
  async advance(durationMs: number): Promise<void> {
    const targetMs = this.#nowMs + durationMs;
    for (;;) {
      const next = this.#sleepers
        .filter((sleeper) => sleeper.dueMs <= targetMs)
        .reduce<Sleeper | undefined>((a, b) => (a !== undefined && a.dueMs <= b.dueMs ? a : b), undefined);
      if (next === undefined) break;
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      this.#moveTo(Math.max(this.#nowMs, next.dueMs));
      next.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#moveTo(targetMs);
  }

  #moveTo(nowMs: number): void {
    this.#wallMs += nowMs - this.#nowMs;
    this.#nowMs = nowMs;
  }
}
