/** A manual clock: time passes only when a test advances it. */
import type { Clock } from "../../src/clock.ts";

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #wallMs = 1_800_000_000_000;
  #steadyMs = 1_000_000_000;
  readonly #sleepers = new Set<Sleeper>();
  readonly #isBusy: (() => boolean) | undefined;

  /** @param isBusy whether something is under way that takes real time, so that the manual time must wait */
  constructor(isBusy?: () => boolean) {
    this.#isBusy = isBusy;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  steadyMs(): number {
    return this.#steadyMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        untilMs: this.#steadyMs + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Advances time. Resolves when the sleepers that are due have woken up and run. */
  async advance(ms: number): Promise<void> {
    // Code that is about to sleep has computed its delay from the present time, so let it begin its sleep first.
    await drainEventLoop(this.#isBusy);
    const endMs = this.#steadyMs + ms;
    for (;;) {
      const next = [...this.#sleepers].sort((a, b) => a.untilMs - b.untilMs)[0];
      const toMs = Math.min(endMs, next?.untilMs ?? endMs);
      this.#wallMs += Math.max(0, toMs - this.#steadyMs);
      this.#steadyMs = Math.max(this.#steadyMs, toMs);
      if (next === undefined || next.untilMs > endMs) break;
      next.wake();
      await drainEventLoop(this.#isBusy);
    }
    await drainEventLoop(this.#isBusy);
  }

  /** Lets time pass from one sleeper to the next until a promise has settled. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    for (;;) {
      await drainEventLoop(this.#isBusy);
      if (isSettled) return await promise;
      await this.advance(this.nextSleeperMs ?? 0);
    }
  }

  /** Milliseconds until the next sleeper is due; `null` if nobody sleeps. */
  get nextSleeperMs(): number | null {
    if (this.#sleepers.size === 0) return null;
    return Math.max(0, Math.min(...[...this.#sleepers].map(({ untilMs }) => untilMs)) - this.#steadyMs);
  }

  /** Advances time at once, without letting sleepers run. */
  skip(ms: number): void {
    this.#wallMs += ms;
    this.#steadyMs += ms;
  }

  /** Moves the wall clock, as a user does who sets it. */
  moveWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Sets the steady clock back, as a restart of the machine does. */
  reboot(): void {
    this.#steadyMs = 5_000;
  }
}

/** Runs everything that does not wait for time. */
export async function drainEventLoop(isBusy?: () => boolean): Promise<void> {
  const idleTurns = isBusy === undefined ? 20 : 4;
  for (let turn = 0; turn < idleTurns; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (isBusy?.() === true || isReadingOrWritingFiles()) turn = -1;
  }
}

const isReadingOrWritingFiles = (): boolean =>
  process.getActiveResourcesInfo().some((kind) => kind.startsWith("FSReq") || kind === "FileHandleCloseReq");
