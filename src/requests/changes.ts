/** Tells those in this process who wait for a request or a narration that it has changed. */
import type { Clock } from "../clock.ts";

/** Notices the changes of one request or narration, from its creation until it is closed. */
export interface Watch {
  /** Resolves at the first change since the last wait, after `maxMs`, or when the signal aborts. Returns whether it has changed. */
  wait(maxMs: number, signal: AbortSignal): Promise<boolean>;
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

  watch(id: string): Watch {
    let change = new AbortController();
    const listener = (): void => change.abort("changed");
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    return {
      wait: async (maxMs, signal) => {
        await this.#clock
          .sleep(Math.max(0, maxMs), AbortSignal.any([signal, change.signal]))
          .catch(() => undefined);
        const hasChanged = change.signal.aborted;
        if (hasChanged) change = new AbortController();
        return hasChanged;
      },
      close: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(id);
      },
    };
  }

  /** Resolves at the next change of `id`, after `maxMs`, or when the signal aborts. */
  async wait(id: string, maxMs: number, signal: AbortSignal): Promise<void> {
    const watch = this.watch(id);
    await watch.wait(maxMs, signal);
    watch.close();
  }
}
