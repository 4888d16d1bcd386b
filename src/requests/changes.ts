/** Tells those in this process who wait for a request or a narration that it has changed. */
import type { Clock } from "../clock.ts";

/** Notices the changes of one request or narration, from its creation until it is closed. */
export interface Watch {
  /** Resolves at the first change since the last wait, after `maxMs`, or when its signal aborts. Returns whether it has changed. */
  wait(maxMs: number): Promise<boolean>;
  close(): void;
}

export class Changes {
  readonly #clock: Clock;
  /** What to call at a change, by id. */
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  announce(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener();
  }

  /** @param signal ends every wait when it aborts */
  watch(id: string, signal: AbortSignal): Watch {
    let wakeUp = new AbortController();
    const listener = (): void => wakeUp.abort("changed");
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    signal.addEventListener("abort", listener);
    return {
      wait: async (maxMs) => {
        if (!signal.aborted)
          await this.#clock.sleep(Math.max(0, maxMs), wakeUp.signal).catch(() => undefined);
        const hasChanged = wakeUp.signal.aborted;
        if (hasChanged) wakeUp = new AbortController();
        return hasChanged;
      },
      close: () => {
        signal.removeEventListener("abort", listener);
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(id);
      },
    };
  }

  /** Resolves at the next change of `id`, after `maxMs`, or when the signal aborts. */
  async wait(id: string, maxMs: number, signal: AbortSignal): Promise<void> {
    const watch = this.watch(id, signal);
    await watch.wait(maxMs);
    watch.close();
  }
}
