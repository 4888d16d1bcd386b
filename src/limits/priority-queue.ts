/** A queue of this process: first come, first served among those of one rank, one asks at a time. */
import type { Clock } from "../clock.ts";
import { Wakeup } from "./alarm.ts";

/** The answer to a request for a grant: the grant, or the reason for a refusal and the time to ask again. */
export type Answer<Grant, Reason> =
  | { readonly granted: Grant }
  | { readonly refused: Reason; readonly waitMs: number };

export interface LineOptions<Request, Grant, Reason> {
  readonly clock: Clock;
  /** Asks for the request at the head. A rejection fails that request, and by `failsAll` everyone behind it. */
  ask(request: Request): Promise<Answer<Grant, Reason>>;
  failsAll(error: unknown): boolean;
  /** A grant whose asker has gone meanwhile. */
  giveBack(grant: Grant): Promise<void>;
  /** Lower goes first. Asked each time, for it may change while a request waits. */
  rank(request: Request): number;
  onWaiting(request: Request, reason: Reason, waitMs: number): void;
}

interface Waiter<Request, Grant> {
  readonly request: Request;
  readonly resolve: (grant: Grant) => void;
  readonly reject: (error: unknown) => void;
}

/** One asks at a time, the head of the line; all others wait behind it. */
export class PriorityQueue<Request, Grant, Reason> {
  readonly #options: LineOptions<Request, Grant, Reason>;
  readonly #alarm: Wakeup;
  #waiters: Array<Waiter<Request, Grant>> = [];
  #isServing = false;
  #serving: Promise<void> = Promise.resolve();
  #blocked: { readonly reason: Reason; readonly untilMs: number } | undefined;

  constructor(options: LineOptions<Request, Grant, Reason>) {
    this.#options = options;
    this.#alarm = new Wakeup(options.clock);
  }

  get length(): number {
    return this.#waiters.length;
  }

  /** Asks again now: something may have become free. */
  wake(): void {
    this.#alarm.ring();
  }

  /** Waits for a grant. Rejects with the signal's reason once that aborts, and leaves the line then. */
  enter(request: Request, signal: AbortSignal): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = (): void => {
        signal.removeEventListener("abort", onAbort);
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
      };
      const waiter: Waiter<Request, Grant> = {
        request,
        resolve: (grant) => {
          leave();
          resolve(grant);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = (): void => {
        waiter.reject(signal.reason);
        this.#alarm.ring();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#join(waiter);
    });
  }

  /** Everyone who waits is sent away with `error`. */
  dismiss(error: unknown): void {
    for (const waiter of [...this.#waiters]) waiter.reject(error);
    this.#alarm.ring();
  }

  /** Resolves when nobody waits and nothing is being asked: what was granted to nobody has been given back by then. */
  async idle(): Promise<void> {
    await this.#serving;
  }

  #join(waiter: Waiter<Request, Grant>): void {
    const { onWaiting, clock } = this.#options;
    const isAlone = this.#waiters.length === 0;
    this.#waiters.push(waiter);
    if (!isAlone && this.#first() === waiter) this.#alarm.ring();
    if (this.#blocked !== undefined) {
      onWaiting(waiter.request, this.#blocked.reason, Math.max(0, this.#blocked.untilMs - clock.steadyMs()));
    }
    if (!this.#isServing) this.#serving = this.#serve();
  }

  #first(): Waiter<Request, Grant> | undefined {
    const { rank } = this.#options;
    let first = this.#waiters[0];
    for (const waiter of this.#waiters) {
      if (first !== undefined && rank(waiter.request) < rank(first.request)) first = waiter;
    }
    return first;
  }

  /** Never rejects: each failure belongs to a waiter. */
  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let head = this.#first(); head !== undefined; head = this.#first()) {
      this.#alarm.reset();
      try {
        const answer = await this.#options.ask(head.request);
        if ("granted" in answer) {
          this.#blocked = undefined;
          if (this.#waiters.includes(head)) head.resolve(answer.granted);
          else await this.#options.giveBack(answer.granted);
        } else {
          await this.#waitOut(answer.refused, answer.waitMs);
        }
      } catch (error) {
        this.#blocked = undefined;
        if (this.#options.failsAll(error)) this.dismiss(error);
        else head.reject(error);
      }
    }
    this.#blocked = undefined;
    this.#isServing = false;
  }

  async #waitOut(reason: Reason, waitMs: number): Promise<void> {
    this.#blocked = { reason, untilMs: this.#options.clock.steadyMs() + waitMs };
    for (const { request } of [...this.#waiters]) this.#options.onWaiting(request, reason, waitMs);
    await this.#alarm.sleep(waitMs);
  }
}
