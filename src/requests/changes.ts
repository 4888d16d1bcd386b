/** Tells those in this process who wait for a request or a narration that it has changed. */
import type { Clock } from "../clock.ts";

export class Changes {
  readonly #clock: Clock;
  readonly #waits = new Map<string, Set<AbortController>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  announce(id: string): void {
    for (const wait of this.#waits.get(id) ?? []) wait.abort("changed");
  }

  /** Resolves at the next change of `id`, after `maxMs`, or when the signal aborts. Returns whether it has changed. */
  async wait(id: string, maxMs: number, signal: AbortSignal): Promise<boolean> {
    const change = new AbortController();
    const waits = this.#waits.get(id) ?? new Set();
    this.#waits.set(id, waits.add(change));
    await this.#clock
      .sleep(Math.max(0, maxMs), AbortSignal.any([signal, change.signal]))
      .catch(() => undefined);
    waits.delete(change);
    if (waits.size === 0) this.#waits.delete(id);
    return change.signal.aborted;
  }
}
