/** Speaks the parts of one run in reading order, three at a time, each until it is saved or given up. */
import { AudioError, type ErrorCode, ownMistake } from "../errors.ts";
import { NotWantedError } from "../generation/job/job.ts";
import type { PartWork } from "../generation/use-cases/generate-part.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "./narration-state.ts";
import { partRequest } from "./part-request.ts";
import { isOfOnePart, MOST_JOBS_A_PART, problemOf } from "./stop-reasons.ts";
import { chargeOf, standingOf, type Tally } from "./tally.ts";

/** Two places in flight, and one that waits for the next of them: the places are never empty. */
const JOBS_AT_ONCE = 3;

/** There may be room as soon as a running part has ended and returned most of its reservation. */
const NO_ROOM: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["budget_exceeded", "max_credits_reached"]);

export interface PartSchedulerOptions {
  readonly narrationId: string;
  readonly parts: PartWork;
  readonly plan: StoredPlan;
  /** As it was when the run began: which takes, and whether what failed before is left out. */
  readonly state: NarrationState;
  readonly tally: Tally;
  /** Aborts when no create may be sent any more. */
  readonly signal: AbortSignal;
  /** What ends the whole run. */
  readonly onProblem: (problem: NarrationProblem) => void;
  /** The narration was stopped, or another process drives it. */
  readonly onNotWanted: () => void;
  readonly onSaved: () => Promise<void>;
}

/** Whether a part may be paid for is not judged here, but in the ledger's transaction before each create. */
export class PartScheduler {
  readonly #options: PartSchedulerOptions;
  readonly #jobs = new Map<number, number>();
  readonly #problems: NarrationProblem[] = [];
  /** In the order of {@link #rank}. */
  #queue: number[];
  /** Parts that were begun and are not saved. */
  readonly #begun = new Set<number>();
  /** Parts that an earlier run has sent: they come first, because their credits are held already. */
  readonly #sentBefore: ReadonlySet<number>;
  readonly #waiters = new Set<() => void>();
  /** Every part that is to be in the files, in order. */
  readonly wanted: readonly number[];
  #activeParts = 0;
  #savedParts: number;

  constructor(options: PartSchedulerOptions) {
    this.#options = options;
    const { plan, state, tally } = options;
    this.wanted = plan.parts.flatMap((_, index) =>
      state.skipsFailed && tally.standings[index] === "failed" ? [] : [index],
    );
    const isSent = (index: number): boolean => {
      const record = tally.records[index] ?? null;
      return (
        record?.status === "unresolved" || (tally.standings[index] === "running" && record?.taskId != null)
      );
    };
    this.#sentBefore = new Set(this.wanted.filter(isSent));
    this.#queue = this.#ranked(this.wanted.filter((index) => tally.standings[index] !== "saved"));
    this.#savedParts = tally.standings.filter((standing) => standing === "saved").length;
  }

  /** Parts that were given up, each with its reason. */
  get problems(): readonly NarrationProblem[] {
    return this.#problems;
  }

  get savedParts(): number {
    return this.#savedParts;
  }

  /** Resolves when every part is saved or given up, or the run is stopped. Never rejects. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: JOBS_AT_ONCE }, () => this.#work()));
  }

  /** Waits for what the service has accepted, because it is paid for. */
  async settle(signal: AbortSignal): Promise<void> {
    const { parts, plan, state } = this.#options;
    for (const index of this.#begun) {
      const request = partRequest(plan, state, index);
      await parts.finish(request, { signal });
      if (standingOf(await parts.find(request)) === "saved") this.#savedParts += 1;
    }
  }

  /** What may be spent has changed: parts that wait for room ask again. */
  wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  #ranked(parts: readonly number[]): number[] {
    const rank = (index: number): number => (this.#sentBefore.has(index) ? 0 : 1);
    return [...parts].sort((one, other) => rank(one) - rank(other) || one - other);
  }

  #putBack(index: number): void {
    this.#begun.delete(index);
    this.#queue = this.#ranked([...this.#queue, index]);
  }

  async #work(): Promise<void> {
    const { signal, onProblem } = this.#options;
    while (!signal.aborted) {
      const index = this.#queue.shift();
      if (index === undefined) return;
      this.#activeParts += 1;
      this.#begun.add(index);
      try {
        await this.#speak(index);
        this.#begun.delete(index);
      } catch (error) {
        if (error instanceof NotWantedError) this.#options.onNotWanted();
        if (signal.aborted) return;
        const known = error instanceof AudioError ? error : ownMistake(error);
        if (NO_ROOM.has(known.code) && this.#activeParts > 1) {
          this.#putBack(index);
          this.#activeParts -= 1;
          await this.#news();
          this.#activeParts += 1;
        } else if (await this.#mayTryAgain(index, known)) this.#putBack(index);
        else if (isOfOnePart(known)) this.#problems.push(problemOf(known, index));
        else onProblem(problemOf(known, null));
      } finally {
        this.#activeParts -= 1;
        this.wake();
      }
    }
  }

  /** A failure that was refunded is tried once more. */
  async #mayTryAgain(index: number, { code }: AudioError): Promise<boolean> {
    const jobs = (this.#jobs.get(index) ?? 0) + 1;
    this.#jobs.set(index, jobs);
    if (code !== "task_failed" || jobs >= MOST_JOBS_A_PART) return false;
    const { parts, plan, state } = this.#options;
    const record = await parts.find(partRequest(plan, state, index));
    return record === null || chargeOf(record) === 0;
  }

  async #speak(index: number): Promise<void> {
    const { narrationId, parts, plan, state, signal, onSaved } = this.#options;
    await parts.generate(partRequest(plan, state, index), { signal, narrationId });
    this.#savedParts += 1;
    await onSaved();
  }

  #news(): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiters.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiters.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }
}
