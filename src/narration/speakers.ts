/** Speaks the parts of one run: three at a time, within the credits that are allowed, each until it is saved or given up. */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { AudioError, ownMistake } from "../errors.ts";
import type { PartWork } from "../generation/use-cases/generate-part.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "./narration-state.ts";
import { partRequest } from "./part-request.ts";
import { isOfOnePart, MOST_JOBS_A_PART, outOfCredits, problemOf } from "./stop-reasons.ts";
import { chargeOf, standingOf, type Tally, wasPaidBefore } from "./tally.ts";

/** Two places in flight, and one that waits for the next of them: the places are never empty. */
const JOBS_AT_ONCE = 3;

/** Among the charges: what takes that others replaced had cost. */
const REPLACED = -1;

export interface SpeakersOptions {
  readonly parts: PartWork;
  readonly plan: StoredPlan;
  /** As it was when the run began: which takes, and whether what failed before is left out. */
  readonly state: NarrationState;
  readonly tally: Tally;
  /** Aborts when no create may be sent any more. */
  readonly signal: AbortSignal;
  /** Looks at what others have decided, as the last thing before each create. */
  readonly mayCreate: () => Promise<boolean>;
  /** The most that may be spent; it may change while the run goes on. */
  readonly maxCredits: () => number;
  /** What ends the whole run. */
  readonly onProblem: (problem: NarrationProblem) => void;
  readonly onSaved: () => Promise<void>;
}

export class Speakers {
  readonly #options: SpeakersOptions;
  /** By part. */
  readonly #charges = new Map<number, number>();
  readonly #jobs = new Map<number, number>();
  readonly #problems: NarrationProblem[] = [];
  readonly #queue: number[];
  /** Parts that were begun and are not saved. */
  readonly #begun = new Set<number>();
  readonly #wasRunning: Set<number>;
  /** Parts whose create was sent, and nobody works on: the service may have set their credits aside. */
  readonly #unanswered: Set<number>;
  readonly #waiters = new Set<() => void>();
  /** Every part that is to be in the files, in order. */
  readonly wanted: readonly number[];
  #activeParts = 0;
  #savedParts: number;

  constructor(options: SpeakersOptions) {
    this.#options = options;
    const { plan, state, tally } = options;
    const stands = (index: number, standing: Tally["standings"][number]): boolean =>
      tally.standings[index] === standing;
    this.wanted = plan.parts.flatMap((_, index) =>
      state.skipsFailed && stands(index, "failed") ? [] : [index],
    );
    // What has its credits set aside already comes first, so that the guard counts it.
    const isAccepted = (index: number): boolean => (tally.records[index]?.taskId ?? null) !== null;
    const running = this.wanted.filter((index) => stands(index, "running") && isAccepted(index));
    const unanswered = this.wanted.filter((index) => tally.records[index]?.status === "unresolved");
    const begun = new Set([...running, ...unanswered]);
    const open = this.wanted.filter((index) => !stands(index, "saved") && !begun.has(index));
    this.#queue = [...begun, ...open];
    this.#wasRunning = new Set(running);
    this.#unanswered = new Set(unanswered);
    this.#savedParts = tally.standings.filter((standing) => standing === "saved").length;
    this.#charges.set(REPLACED, tally.replacedCredits + tally.replacedReservations);
    tally.records.forEach((record, index) => {
      if (record !== null && !wasPaidBefore(state, index)) this.#charges.set(index, chargeOf(record));
    });
  }

  /** Parts that were given up, each with its reason. */
  get problems(): readonly NarrationProblem[] {
    return this.#problems;
  }

  get savedParts(): number {
    return this.#savedParts;
  }

  get chargedCredits(): number {
    return [...this.#charges.values()].reduce((sum, credits) => sum + credits, 0);
  }

  /** Resolves when every part is saved or given up, or the run is stopped. Never rejects. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: JOBS_AT_ONCE }, () => this.#work()));
  }

  /** Waits for what the service has accepted: it is paid for, and told with the end of the run. */
  async settle(signal: AbortSignal): Promise<void> {
    const { parts, plan, state } = this.#options;
    for (const index of this.#begun) {
      const request = partRequest(plan, state, index);
      await parts.finish(request, { signal });
      const record = await parts.find(request);
      if (standingOf(record) === "saved") this.#savedParts += 1;
      if (record !== null && !wasPaidBefore(state, index)) this.#charges.set(index, chargeOf(record));
    }
  }

  /** What may be spent has changed: whoever waits for room looks again, and what has too much room now stops. */
  wake(): void {
    const { maxCredits, onProblem, signal } = this.#options;
    const isOver = this.chargedCredits + this.#setAside > maxCredits();
    if (isOver && this.#activeParts > 0 && !signal.aborted) {
      onProblem(outOfCredits(maxCredits(), this.chargedCredits));
    }
    for (const waiter of [...this.#waiters]) waiter();
  }

  async #work(): Promise<void> {
    const { signal, onProblem } = this.#options;
    while (!signal.aborted) {
      const index = this.#queue.shift();
      if (index === undefined) return;
      // Once: what is made of it after that is new.
      if (this.#wasRunning.delete(index)) this.#activeParts += 1;
      else if (!(await this.#takeRoom(index))) return;
      this.#begun.add(index);
      try {
        await this.#speak(index);
        this.#begun.delete(index);
      } catch (error) {
        if (signal.aborted) return;
        const known = error instanceof AudioError ? error : ownMistake(error);
        // What runs gives most of its reservation back: it may be all that is needed.
        if (known.code === "budget_exceeded" && this.#activeParts > 1) {
          this.#queue.unshift(index);
          this.#activeParts -= 1;
          await this.#news();
          this.#activeParts += 1;
        } else if (this.#mayTryAgain(index, known)) this.#queue.unshift(index);
        else if (isOfOnePart(known)) this.#problems.push(problemOf(known, index));
        else onProblem(problemOf(known, null));
      } finally {
        this.#activeParts -= 1;
        this.wake();
      }
    }
  }

  #mayTryAgain(index: number, { code }: AudioError): boolean {
    const jobs = (this.#jobs.get(index) ?? 0) + 1;
    this.#jobs.set(index, jobs);
    const wasCharged = (this.#charges.get(index) ?? 0) > 0;
    return code === "task_failed" && !wasCharged && jobs < MOST_JOBS_A_PART;
  }

  async #speak(index: number): Promise<void> {
    const { parts, plan, state, signal, mayCreate, onSaved } = this.#options;
    const request = partRequest(plan, state, index);
    try {
      await parts.generate(request, { signal, mayCreate });
    } finally {
      // A failure may have been charged, too.
      const record = await parts.find(request);
      if (record !== null && !wasPaidBefore(state, index)) this.#charges.set(index, chargeOf(record));
      if (record?.status === "unresolved") this.#unanswered.add(index);
    }
    this.#savedParts += 1;
    await onSaved();
  }

  /** For the parts under way, and those that may be. */
  get #setAside(): number {
    return RESERVED_CREDITS * (this.#activeParts + this.#unanswered.size);
  }

  /** Takes one part's room, for which it waits while running parts may yet leave it; `false`: there is none. */
  async #takeRoom(index: number): Promise<boolean> {
    const { signal, maxCredits, onProblem } = this.#options;
    // Its own room is counted already where it may have been accepted, but not without being looked at: should it
    // never have arrived, sending it again sets the credits aside only now.
    const more = this.#unanswered.has(index) ? 0 : RESERVED_CREDITS;
    const fits = (): boolean => this.chargedCredits + this.#setAside + more <= maxCredits();
    while (!signal.aborted && !fits()) {
      if (this.#activeParts === 0) {
        onProblem(outOfCredits(maxCredits(), this.chargedCredits));
        return false;
      }
      await this.#news();
    }
    if (signal.aborted) return false;
    this.#unanswered.delete(index);
    this.#activeParts += 1;
    return true;
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
