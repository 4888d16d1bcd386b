/** One process at work on one narration: it takes the lease, does each next step, and writes how it ends. */
import { DamagedPartError } from "../audio/part-errors.ts";
import { AudioError, type ErrorCode, ownMistake } from "../errors.ts";
import { NotWantedError } from "../generation/job/job.ts";
import type { PartRequest, PartWork } from "../generation/use-cases/generate-part.ts";
import { isOtherChoice } from "./changes.ts";
import { type JoinedFiles, plannedFiles } from "./joined-files.ts";
import { NarrationLease, type NarrationLeaseDeps } from "./narration-lease.ts";
import type { NarrationFile, NarrationProblem, NarrationState, StoredPlan } from "./narration-state.ts";
import { type FileProgress, nextStep, type PartState, type Step } from "./next-step.ts";
import { type PartFile, partRequest } from "./part-request.ts";
import { chargeOf, type PartStatus, standingOf, summarizeParts } from "./part-summary.ts";
import { isOfOnePart, joinProblems, MAX_JOBS_A_PART, problemOf, unusable } from "./stop-reasons.ts";

export interface NarrationDriverDeps extends NarrationLeaseDeps {
  readonly parts: PartWork;
  readonly joined: JoinedFiles;
}

/** There may be room again as soon as a running part has ended and has returned most of its reservation. */
const NO_ROOM: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["budget_exceeded", "max_credits_reached"]);

const INITIAL_STATES: Readonly<Record<PartStatus, PartState>> = {
  open: "open",
  running: "sent",
  saved: "saved",
  failed: "open",
};

export class NarrationDriver {
  readonly narrationId: string;
  /** Resolves when it has ended, or when another process drives the narration. Never rejects. */
  readonly end: Promise<void>;
  readonly #deps: NarrationDriverDeps;
  readonly #lease: NarrationLease;
  /** Another process drives the narration, because this one was late with its lease. */
  hasLostLease = false;
  /** Aborts when this process has nothing to say about the narration any more. */
  readonly #left = new AbortController();
  readonly #listeners = new Set<() => void>();
  #news = Promise.withResolvers<void>();
  /** As it was read last. */
  #state: NarrationState | null = null;
  /** As it was when the parts were looked at last. */
  #seen: NarrationState | null = null;
  #parts: PartState[] = [];
  #firstEqual: readonly number[] = [];
  #files: FileProgress[] = [];
  readonly #working = new Map<number, AbortController>();
  /** Running parts whose create was not sent yet. */
  readonly #unsent = new Set<AbortController>();
  readonly #tries = new Map<number, number>();
  readonly #problems = new Map<number, NarrationProblem>();
  /** Parts whose audio was fetched again because it was gone or damaged; each is fetched once. */
  readonly #fetchedAgain = new Set<number>();
  /** Parts of which the service says what nobody understands. */
  readonly #odd = new Set<number>();
  /** The reason for an end before all parts were saved. */
  #obstacle: NarrationProblem | null = null;
  #isFull = false;

  constructor(deps: NarrationDriverDeps, narrationId: string) {
    this.#deps = deps;
    this.narrationId = narrationId;
    this.#lease = new NarrationLease(deps, narrationId);
    this.end = this.#drive()
      .catch((error: unknown) => deps.log.error("a narration's driver failed unexpectedly", error))
      .finally(() => this.#tell());
  }

  /** Called after each part that is saved, each change and the end. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends without a word in the ledger: what was accepted is saved by its own job. */
  leave(): void {
    this.#left.abort(new Error("the narration was left"));
    this.#stopParts();
    this.#wake();
  }

  /** Takes over what a call has changed. A read that was overtaken by a newer call says nothing any more. */
  refresh(state: NarrationState): void {
    const before = this.#state;
    if (before !== null && state.asks < before.asks) return;
    this.#state = state;
    if (state.status !== "running") this.#stopParts();
    if (before?.maxCredits !== state.maxCredits) this.#isFull = false;
    this.#wake();
    this.#tell();
  }

  #wake(): void {
    this.#news.resolve();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Drops creates that were not sent, and waits for the answers to all others. */
  #stopParts(): void {
    for (const controller of this.#working.values()) controller.abort(new Error("the narration was stopped"));
  }

  async #drive(): Promise<void> {
    if (!(await this.#lease.take(this.#left.signal))) return;
    const kept = new AbortController();
    const keeping = this.#lease.keep(() => this.#lookAtLease(), kept.signal);
    try {
      await this.#work();
    } catch (error) {
      if (this.#left.signal.aborted) return;
      this.#halt(error);
      await this.#finish(false);
    } finally {
      this.#stopParts();
      kept.abort();
      await keeping;
      await this.#lease.release();
    }
  }

  async #work(): Promise<void> {
    const { plan, state } = await this.#deps.book.get(this.narrationId);
    this.refresh(state);
    for (;;) {
      this.#news = Promise.withResolvers<void>();
      await this.#lookAtParts(plan);
      if (this.#left.signal.aborted) return;
      const step = this.#next();
      if (step.kind === "work") this.#begin(plan, step.part);
      else if (step.kind === "join") await this.#join(plan, step);
      else if (step.kind === "wait") await this.#news.promise;
      else if (await this.#finish(step.isWhole)) return;
    }
  }

  #next(): Step {
    return nextStep({
      parts: this.#parts,
      firstEqual: this.#firstEqual,
      files: this.#files,
      isHalted: this.#obstacle !== null || this.#state?.status !== "running",
      isUnsent: this.#unsent.size > 0,
      isFull: this.#isFull,
    });
  }

  /** Where somebody has asked anew, or for other takes or names, all that was known of the parts is looked at again. */
  async #lookAtParts(plan: StoredPlan): Promise<void> {
    const { book, parts, clock } = this.#deps;
    const [state, seen] = [this.#state, this.#seen];
    if (state === null || (seen !== null && !isOtherChoice(seen, state))) return;
    this.#seen = state;
    this.#obstacle = null;
    this.#isFull = false;
    this.#problems.clear();
    this.#odd.clear();
    this.#tries.clear();
    this.#fetchedAgain.clear();
    const partSummary = await summarizeParts(parts, plan, state, await book.bill(this.narrationId));
    const requests = plan.parts.map((_, index) => JSON.stringify(partRequest(plan, state, index)));
    for (const [index, controller] of [...this.#working]) {
      const isSame = seen !== null && JSON.stringify(partRequest(plan, seen, index)) === requests[index];
      if (isSame && !controller.signal.aborted) continue;
      controller.abort(new Error("another take was chosen"));
      this.#working.delete(index);
    }
    const firsts = new Map<string, number>();
    this.#firstEqual = requests.map((request, index) => {
      const first = firsts.get(request) ?? index;
      firsts.set(request, first);
      return first;
    });
    this.#parts = partSummary.statuses.map((standing, index) => {
      if (this.#working.has(index)) return "working";
      return standing === "failed" && state.skipsFailed ? "skipped" : INITIAL_STATES[standing];
    });
    this.#files = plannedFiles(plan).map(({ parts: indexes }) => ({ parts: indexes, made: null }));
    if (state.status !== "running") return;
    const savedParts = this.#savedParts;
    const begun = { begunAtMs: clock.wallMs(), savedAtBegin: savedParts, lastSavedAtMs: null, savedParts };
    await this.#change((before) => ({ ...before, problems: [], ...begun }));
  }

  get #savedParts(): number {
    return this.#parts.filter((part) => part === "saved").length;
  }

  /** Changes the state, unless somebody has asked for something else meanwhile: then that is looked at next. */
  async #change(change: (before: NarrationState) => NarrationState): Promise<boolean> {
    const seen = this.#seen;
    const state = await this.#deps.book.change(this.narrationId, (before) =>
      seen !== null && isOtherChoice(seen, before) ? before : change(before),
    );
    this.refresh(state);
    return seen === null || !isOtherChoice(seen, state);
  }

  #begin(plan: StoredPlan, part: number): void {
    const state = this.#seen;
    if (state === null) return;
    const controller = new AbortController();
    const isSent = this.#parts[part] === "sent";
    this.#parts[part] = "working";
    this.#working.set(part, controller);
    const isHalted = this.#obstacle !== null || this.#state?.status !== "running";
    const work =
      isSent && isHalted ? this.#seeThrough(plan, state, part) : this.#create(plan, state, part, controller);
    if (!isSent) this.#unsent.add(controller);
    const end = async (outcome: PartState | "full"): Promise<void> => {
      this.#unsent.delete(controller);
      // Another take of it may have been chosen meanwhile.
      if (this.#working.get(part) !== controller) return;
      this.#working.delete(part);
      this.#isFull = outcome === "full" && this.#working.size > 0;
      this.#settle(part, outcome === "full" ? "open" : outcome);
      if (outcome === "saved") await this.#noteSaved();
    };
    void work
      .catch((error: unknown): PartState => {
        this.#halt(error);
        return "open";
      })
      .then(end)
      .finally(() => this.#wake());
  }

  /** Equal parts are one task, so they stand alike. */
  #settle(part: number, outcome: PartState): void {
    const first = this.#firstEqual[part];
    this.#firstEqual.forEach((other, index) => {
      if (other === first && (index === part || !this.#working.has(index))) this.#parts[index] = outcome;
    });
  }

  async #create(
    plan: StoredPlan,
    state: NarrationState,
    part: number,
    controller: AbortController,
  ): Promise<PartState | "full"> {
    const { parts } = this.#deps;
    const { signal } = controller;
    const onSent = (): void => {
      if (this.#unsent.delete(controller)) this.#wake();
    };
    const request = partRequest(plan, state, part);
    const onOddity = (message: string): void => void this.#noteOddity(part, message);
    try {
      await parts.generate(request, { signal, narrationId: this.narrationId, onSent, onOddity });
      return "saved";
    } catch (error) {
      // The narration was stopped, or another process has its lease.
      if (error instanceof NotWantedError) await this.#lookAtLease();
      if (signal.aborted || error instanceof NotWantedError) return await this.#standing(plan, state, part);
      const known = error instanceof AudioError ? error : ownMistake(error);
      // Nothing is full where nothing of ours runs: then it is the end.
      if (NO_ROOM.has(known.code) && this.#working.size > 1) return "full";
      if (await this.#mayTryAgain(plan, state, part, known)) return "open";
      if (!isOfOnePart(known)) {
        this.#halt(known);
        return "open";
      }
      this.#problems.set(part, await this.#problemOfPart(request, part, known));
      return state.skipsFailed ? "skipped" : "failed";
    }
  }

  async #problemOfPart(request: PartRequest, part: number, error: AudioError): Promise<NarrationProblem> {
    const record = await this.#deps.parts.find(request);
    const isPaid = record !== null && (record.status === "succeeded" || record.isGone);
    return isPaid ? unusable(error.message, part) : problemOf(error, part);
  }

  async #seeThrough(plan: StoredPlan, state: NarrationState, part: number): Promise<PartState> {
    await this.#deps.parts.finish(partRequest(plan, state, part), { signal: this.#left.signal });
    const standing = await this.#standing(plan, state, part);
    // It was waited for once; whoever drives it now saves it.
    return standing === "sent" ? "open" : standing;
  }

  async #standing(plan: StoredPlan, state: NarrationState, part: number): Promise<PartState> {
    const record = await this.#deps.parts.find(partRequest(plan, state, part));
    return INITIAL_STATES[standingOf(record)];
  }

  /** Takes over what others have changed; where another process has the lease, this one leaves. */
  async #lookAtLease(): Promise<void> {
    const state = await this.#lease.look();
    if (state !== null) {
      this.refresh(state);
      return;
    }
    this.hasLostLease = !this.#left.signal.aborted;
    this.leave();
  }

  /** A failure that was refunded is tried once more. */
  async #mayTryAgain(
    plan: StoredPlan,
    state: NarrationState,
    part: number,
    { code }: AudioError,
  ): Promise<boolean> {
    const tries = (this.#tries.get(part) ?? 0) + 1;
    this.#tries.set(part, tries);
    if (code !== "task_failed" || tries >= MAX_JOBS_A_PART) return false;
    const record = await this.#deps.parts.find(partRequest(plan, state, part));
    return record === null || chargeOf(record) === 0;
  }

  /** Reported while it runs, because the part may stay as it is for an hour. */
  async #noteOddity(part: number, message: string): Promise<void> {
    if (this.#odd.has(part)) return;
    this.#odd.add(part);
    const problem = { part, code: "unexpected_response", message };
    await this.#change((before) => ({ ...before, problems: [...before.problems, problem] })).catch(
      (cause: unknown) => this.#deps.log.debug(`a problem could not be written: ${String(cause)}`),
    );
  }

  /** For lists and other processes; how the parts stand is known without it. */
  async #noteSaved(): Promise<void> {
    const { clock, log } = this.#deps;
    const figures = { savedParts: this.#savedParts, lastSavedAtMs: clock.wallMs() };
    await this.#change((before) => ({ ...before, ...figures })).catch((cause: unknown) =>
      log.debug(`how a narration stands could not be written: ${String(cause)}`),
    );
  }

  /** Joins a file of parts that are there; a part that turns out not to be is taken out of the saved ones. */
  async #join(
    plan: StoredPlan,
    { file: index, parts, isWhole }: Extract<Step, { kind: "join" }>,
  ): Promise<void> {
    const state = this.#seen;
    const file = plannedFiles(plan)[index];
    if (state === null || file === undefined) return;
    try {
      const sources: PartFile[] = [];
      for (const part of parts) {
        const source = await this.#partFile(plan, state, part, isWhole);
        if (source === null) return;
        sources.push(source);
      }
      const { narrationId } = this;
      const { signal } = this.#left;
      const order = { narrationId, plan, state, file, parts: sources, isWhole, signal };
      const made = await this.#deps.joined.make(order);
      // It is there whatever was asked meanwhile, and what is made next may take its place.
      const now = await this.#deps.book.change(narrationId, (before) => ({
        ...before,
        files: withFile(before.files, made),
      }));
      this.refresh(now);
      if (!isOtherChoice(state, now))
        this.#files[index] = { parts: file.parts, made: isWhole ? "whole" : "incomplete" };
    } catch (error) {
      if (this.#left.signal.aborted) return;
      const damaged = error instanceof DamagedPartError ? parts[error.part] : undefined;
      const problems = joinProblems(error, parts);
      if (damaged !== undefined && !this.#fetchedAgain.has(damaged))
        await this.#fetchAgain(plan, state, damaged);
      else if (problems !== null) this.#giveUp(problems);
      else {
        this.#halt(error);
        this.#files[index] = { parts: file.parts, made: "failed" };
      }
    }
  }

  /**
   * The audio of a saved part. For a whole file it is fetched again where somebody has removed it, free of charge.
   *
   * @returns `null`: it cannot be had, so the part is not saved any more
   */
  async #partFile(
    plan: StoredPlan,
    state: NarrationState,
    part: number,
    mayFetch: boolean,
  ): Promise<PartFile | null> {
    const { parts } = this.#deps;
    const request = partRequest(plan, state, part);
    const saved = await parts.saved(request);
    if (saved !== null) return { index: part, ...saved };
    const record = await parts.find(request);
    if (this.#fetchedAgain.has(part)) {
      this.#giveUp([unusable("Its audio was fetched again, and cannot be read all the same.", part)]);
      return null;
    }
    this.#fetchedAgain.add(part);
    if (!mayFetch || standingOf(record) !== "saved") {
      this.#settle(part, "open");
      return null;
    }
    try {
      const call = { signal: this.#left.signal, narrationId: this.narrationId };
      return { index: part, ...(await parts.generate(request, call)) };
    } catch (error) {
      if (!(error instanceof AudioError && isOfOnePart(error))) throw error;
      this.#giveUp([await this.#problemOfPart(request, part, error)]);
      return null;
    }
  }

  /** The bytes that the service has now may be sound; what is here stays until others are. */
  async #fetchAgain(plan: StoredPlan, state: NarrationState, part: number): Promise<void> {
    this.#fetchedAgain.add(part);
    const call = { signal: this.#left.signal, narrationId: this.narrationId, forcesDownload: true };
    await this.#deps.parts.generate(partRequest(plan, state, part), call).catch((error: unknown) => {
      // Then it is reported as damaged.
      this.#deps.log.debug(`a damaged part could not be fetched again: ${String(error)}`);
    });
  }

  #giveUp(problems: readonly NarrationProblem[]): void {
    for (const problem of problems) {
      if (problem.part === null) continue;
      this.#problems.set(problem.part, problem);
      this.#settle(problem.part, this.#seen?.skipsFailed === true ? "skipped" : "failed");
    }
  }

  /** Nothing more is created; what was accepted is seen through. */
  #halt(error: unknown): void {
    if (!(error instanceof AudioError)) this.#deps.log.error("a narration failed unexpectedly", error);
    this.#obstacle ??= problemOf(error instanceof AudioError ? error : ownMistake(error), null);
    this.#stopParts();
  }

  /** @returns `false`: somebody has asked for something else meanwhile */
  async #finish(isWhole: boolean): Promise<boolean> {
    const leftOut = this.#parts.flatMap((part, index) =>
      part === "skipped" && !this.#problems.has(index) ? [leftOutProblem(index)] : [],
    );
    const ofParts = [...this.#problems.values(), ...leftOut].sort((one, other) => at(one) - at(other));
    const problems = [...(this.#obstacle === null ? [] : [this.#obstacle]), ...ofParts];
    const savedParts = this.#savedParts;
    return await this.#change((before) => {
      const end = { status: isWhole ? "finished" : "stopped", problems } as const;
      // A call's stop is the reason for the end. A file that is whole all the same is reported.
      return { ...before, savedParts, ...(before.status === "running" || isWhole ? end : {}) };
    });
  }
}

/** Every view of the narration says what its file lacks. */
const leftOutProblem = (part: number): NarrationProblem => ({
  part,
  code: "left_out",
  message: "It is left out.",
});

const at = ({ part }: NarrationProblem): number => part ?? -1;

const withFile = (files: readonly NarrationFile[], made: NarrationFile): NarrationFile[] =>
  [...files.filter(({ section }) => section !== made.section), made].sort(
    (one, other) => (one.section ?? 0) - (other.section ?? 0),
  );
