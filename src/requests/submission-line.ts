/**
 * The line in which the submissions of this process wait for leave. Only the first one asks, so that waiting costs
 * little however many wait.
 */
import type { Clock } from "../clock.ts";
import type { Admission, Hold } from "../ledger/admission.ts";
import type { Log } from "../log.ts";

export type Leave = Exclude<Admission, { readonly kind: "hold" }>;

interface Waiter {
  /** Lower ranks go first: sends that may have arrived, requests that a person waits for, parts of narrations. */
  readonly rank: number;
  readonly ask: () => Promise<Admission>;
  readonly resolve: (leave: Leave) => void;
  readonly reject: (error: unknown) => void;
}

/** What holds the first of the line now. */
export interface LineHold extends Pick<Hold, "reason"> {
  /** How long it waits for it at most. */
  readonly leftMs: number;
  readonly soFarMs: number;
}

export class SubmissionLine {
  readonly #clock: Clock;
  /** Called while both concurrency slots are taken: the processes that watched their tasks may have died. */
  readonly #onSlotsFull: () => void;
  /** Called when the line is held by something else than before. */
  readonly #onHold: () => void;
  readonly #log: Pick<Log, "info"> | undefined;
  readonly #waiters: Waiter[] = [];
  #isServing = false;
  #wakeUp: AbortController | null = null;
  /** The hold of the first waiter, with its times on the steady clock. */
  #hold: (Pick<Hold, "reason"> & { readonly untilMs: number; readonly sinceMs: number }) | null = null;

  constructor(clock: Clock, onSlotsFull: () => void, onHold: () => void, log?: Pick<Log, "info">) {
    this.#clock = clock;
    this.#onSlotsFull = onSlotsFull;
    this.#onHold = onHold;
    this.#log = log;
  }

  get hold(): LineHold | null {
    if (this.#hold === null) return null;
    const { reason, untilMs, sinceMs } = this.#hold;
    const nowMs = this.#clock.steadyMs();
    return { reason, leftMs: Math.max(0, untilMs - nowMs), soFarMs: nowMs - sinceMs };
  }

  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  /**
   * Waits for leave.
   *
   * @throws what `ask` throws, which ends the waiting of the whole line; the signal's reason, which leaves the line
   */
  async enter(rank: number, signal: AbortSignal, ask: () => Promise<Admission>): Promise<Leave> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Leave>();
    const waiter: Waiter = { rank, ask, resolve, reject };
    const index = this.#waiters.findIndex((other) => other.rank > rank);
    this.#waiters.splice(index < 0 ? this.#waiters.length : index, 0, waiter);
    const onAbort = (): void => {
      const place = this.#waiters.indexOf(waiter);
      if (place < 0) return;
      this.#waiters.splice(place, 1);
      reject(signal.reason);
      this.wake();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (rank === 0) this.wake();
    void this.#serve();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Lets the first of the line ask again now. */
  wake(): void {
    this.#wakeUp?.abort("woken");
  }

  async #serve(): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      for (let first = this.#waiters[0]; first !== undefined; first = this.#waiters[0])
        await this.#serveFirst(first);
    } finally {
      this.#isServing = false;
      this.#hold = null;
    }
  }

  async #serveFirst(waiter: Waiter): Promise<void> {
    // Created before the question, so that a change that comes during it is not missed.
    const wakeUp = new AbortController();
    this.#wakeUp = wakeUp;
    let admission: Admission;
    try {
      admission = await waiter.ask();
    } catch (error) {
      // The ledger is away for all of them.
      for (const each of this.#waiters.splice(0)) each.reject(error);
      return;
    }
    if (admission.kind !== "hold") {
      this.#hold = null;
      const place = this.#waiters.indexOf(waiter);
      if (place >= 0) this.#waiters.splice(place, 1);
      // If it has left the line meanwhile, its owner takes the admission back.
      waiter.resolve(admission);
      return;
    }
    const { reason, retryMs } = admission;
    const nowMs = this.#clock.steadyMs();
    const isNew = this.#hold?.reason !== reason;
    this.#hold = {
      reason,
      untilMs: nowMs + retryMs,
      sinceMs: isNew ? nowMs : (this.#hold?.sinceMs ?? nowMs),
    };
    if (isNew) {
      this.#log?.info(`${this.#waiters.length} requests wait for leave (${reason}, ${retryMs} ms at most)`);
      this.#onHold();
    }
    if (reason === "concurrency") this.#onSlotsFull();
    await this.#clock.sleep(retryMs, wakeUp.signal).catch(() => undefined);
  }
}
