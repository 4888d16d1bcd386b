/**
 * An in-process queue. Requests of the same rank are served in the order of arrival. Only the request at the head of
 * the queue asks for admission.
 */
import type { Clock } from "../clock.ts";
import { Wakeup } from "./wakeup.ts";

/** The answer to a request: its outcome, or why it has to wait and when to ask again. */
export type QueueDecision<Outcome, Reason> =
  | { readonly outcome: Outcome }
  | { readonly waitFor: Reason; readonly waitMs: number };

export interface PriorityQueueOptions<Request, Outcome, Reason> {
  readonly clock: Clock;
  /**
   * Asks for admission of the request at the head of the queue. If the promise rejects, this request fails. If
   * `mustRejectAll` returns `true` for the error, all other requests in the queue fail, too.
   */
  tryAdmit(request: Request): Promise<QueueDecision<Outcome, Reason>>;
  mustRejectAll(error: unknown): boolean;
  /** Releases an outcome whose caller has left the queue in the meantime. */
  releaseUnused(outcome: Outcome): Promise<void>;
  /**
   * Returns the rank of a request. The request with the lowest rank goes first. The queue reads all ranks again before
   * each choice, because a rank may change while the request waits.
   */
  rankOf(request: Request): number;
  onWaiting(request: Request, reason: Reason, waitMs: number): void;
}

interface Waiter<Request, Outcome> {
  readonly request: Request;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets requests wait for admission. The queue asks for admission only for the request with the lowest rank, and among
 * equal ranks for the oldest request. While that request has to wait, no other request of the queue is admitted.
 *
 * `Outcome` is what an admitted request gets. `Reason` says why requests wait.
 */
export class PriorityQueue<Request, Outcome, Reason> {
  readonly #options: PriorityQueueOptions<Request, Outcome, Reason>;
  readonly #wakeup: Wakeup;
  #waiters: Array<Waiter<Request, Outcome>> = [];
  #isServing = false;
  #serving: Promise<void> = Promise.resolve();
  #currentWait: { readonly reason: Reason; readonly untilMs: number } | undefined;

  constructor(options: PriorityQueueOptions<Request, Outcome, Reason>) {
    this.#options = options;
    this.#wakeup = new Wakeup(options.clock);
  }

  get length(): number {
    return this.#waiters.length;
  }

  /**
   * Makes the queue ask for an admission at once, instead of at the end of its wait. Call this when an admission may
   * have become possible.
   */
  wake(): void {
    this.#wakeup.signal();
  }

  /** Waits for an outcome. If the signal aborts, leaves the queue and rejects with the signal's reason. */
  enqueue(request: Request, signal: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const leaveQueue = (): void => {
        signal.removeEventListener("abort", onAbort);
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
      };
      const waiter: Waiter<Request, Outcome> = {
        request,
        resolve: (outcome) => {
          leaveQueue();
          resolve(outcome);
        },
        reject: (error) => {
          leaveQueue();
          reject(error);
        },
      };
      const onAbort = (): void => {
        waiter.reject(signal.reason);
        this.#wakeup.signal();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#addWaiter(waiter);
    });
  }

  /** Rejects all waiting requests with `error`. */
  rejectAll(error: unknown): void {
    for (const waiter of [...this.#waiters]) waiter.reject(error);
    this.#wakeup.signal();
  }

  /** Resolves when the queue is empty, no admission is being requested, and unused outcomes have been released. */
  async onIdle(): Promise<void> {
    await this.#serving;
  }

  #addWaiter(waiter: Waiter<Request, Outcome>): void {
    const { onWaiting, clock } = this.#options;
    const isAlone = this.#waiters.length === 0;
    this.#waiters.push(waiter);
    if (!isAlone && this.#findFirst() === waiter) this.#wakeup.signal();
    if (this.#currentWait !== undefined) {
      onWaiting(
        waiter.request,
        this.#currentWait.reason,
        Math.max(0, this.#currentWait.untilMs - clock.steadyMs()),
      );
    }
    if (!this.#isServing) this.#serving = this.#serve();
  }

  #findFirst(): Waiter<Request, Outcome> | undefined {
    const { rankOf } = this.#options;
    let first = this.#waiters[0];
    for (const waiter of this.#waiters) {
      if (first !== undefined && rankOf(waiter.request) < rankOf(first.request)) first = waiter;
    }
    return first;
  }

  /**
   * Serves requests until the queue is empty. Never rejects: a failure only rejects the waiting requests that it
   * concerns.
   */
  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let firstWaiter = this.#findFirst(); firstWaiter !== undefined; firstWaiter = this.#findFirst()) {
      this.#wakeup.reset();
      try {
        const answer = await this.#options.tryAdmit(firstWaiter.request);
        if ("outcome" in answer) {
          this.#currentWait = undefined;
          if (this.#waiters.includes(firstWaiter)) firstWaiter.resolve(answer.outcome);
          else await this.#options.releaseUnused(answer.outcome);
        } else {
          await this.#waitToAskAgain(answer.waitFor, answer.waitMs);
        }
      } catch (error) {
        this.#currentWait = undefined;
        if (this.#options.mustRejectAll(error)) this.rejectAll(error);
        else firstWaiter.reject(error);
      }
    }
    this.#currentWait = undefined;
    this.#isServing = false;
  }

  async #waitToAskAgain(reason: Reason, waitMs: number): Promise<void> {
    this.#currentWait = { reason, untilMs: this.#options.clock.steadyMs() + waitMs };
    for (const { request } of [...this.#waiters]) this.#options.onWaiting(request, reason, waitMs);
    await this.#wakeup.sleep(waitMs);
  }
}
