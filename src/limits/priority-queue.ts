/** An in-process queue: first come, first served within a rank. Only the head asks for its grant. */
import type { Clock } from "../clock.ts";
import { Wakeup } from "./wakeup.ts";

/** The answer to a request: the grant, or the reason for the refusal and when to ask again. */
export type Answer<Grant, Reason> =
  | { readonly granted: Grant }
  | { readonly refused: Reason; readonly waitMs: number };

export interface PriorityQueueOptions<Request, Grant, Reason> {
  readonly clock: Clock;
  /**
   * Asks for the request at the head. A rejection fails that request, and also all behind it if `failsAll`
   * returns true.
   */
  ask(request: Request): Promise<Answer<Grant, Reason>>;
  failsAll(error: unknown): boolean;
  /** Receives a grant whose caller has left the queue meanwhile. */
  returnGrant(grant: Grant): Promise<void>;
  /** The lowest rank goes first. Called again for each choice, because a rank may change while its request waits. */
  rank(request: Request): number;
  onWaiting(request: Request, reason: Reason, waitMs: number): void;
}

interface Waiter<Request, Grant> {
  readonly request: Request;
  readonly resolve: (grant: Grant) => void;
  readonly reject: (error: unknown) => void;
}

/** A queue in which only the first request asks for its grant. All others wait behind it. */
export class PriorityQueue<Request, Grant, Reason> {
  readonly #options: PriorityQueueOptions<Request, Grant, Reason>;
  readonly #wakeup: Wakeup;
  #waiters: Array<Waiter<Request, Grant>> = [];
  #isServing = false;
  #serving: Promise<void> = Promise.resolve();
  #blocked: { readonly reason: Reason; readonly untilMs: number } | undefined;

  constructor(options: PriorityQueueOptions<Request, Grant, Reason>) {
    this.#options = options;
    this.#wakeup = new Wakeup(options.clock);
  }

  get length(): number {
    return this.#waiters.length;
  }

  /** Asks again at once, because an admission may be possible now. */
  wake(): void {
    this.#wakeup.signal();
  }

  /** Waits for a grant. If the signal aborts, leaves the queue and rejects with its reason. */
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
        this.#wakeup.signal();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#join(waiter);
    });
  }

  /** Rejects all waiting requests with `error`. */
  dismiss(error: unknown): void {
    for (const waiter of [...this.#waiters]) waiter.reject(error);
    this.#wakeup.signal();
  }

  /** Resolves when the queue is empty, nothing is being asked for, and unused grants have been returned. */
  async idle(): Promise<void> {
    await this.#serving;
  }

  #join(waiter: Waiter<Request, Grant>): void {
    const { onWaiting, clock } = this.#options;
    const isAlone = this.#waiters.length === 0;
    this.#waiters.push(waiter);
    if (!isAlone && this.#first() === waiter) this.#wakeup.signal();
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

  /** Never rejects, because each failure rejects the request that it belongs to. */
  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let head = this.#first(); head !== undefined; head = this.#first()) {
      this.#wakeup.reset();
      try {
        const answer = await this.#options.ask(head.request);
        if ("granted" in answer) {
          this.#blocked = undefined;
          if (this.#waiters.includes(head)) head.resolve(answer.granted);
          else await this.#options.returnGrant(answer.granted);
        } else {
          await this.waitToAskAgain(answer.refused, answer.waitMs);
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

  async waitToAskAgain(reason: Reason, waitMs: number): Promise<void> {
    this.#blocked = { reason, untilMs: this.#options.clock.steadyMs() + waitMs };
    for (const { request } of [...this.#waiters]) this.#options.onWaiting(request, reason, waitMs);
    await this.#wakeup.sleep(waitMs);
  }
}
