/** Drives one narration in one process: takes the lease, performs one step after another, and stores the end. */
import { DamagedPartError } from "../../audio/part-errors.ts";
import { AudioError, type ErrorCode, internalError } from "../../errors.ts";
import { NotWantedError } from "../../generation/job/job.ts";
import type { PartOperations, PartRequest } from "../../generation/use-cases/generate-part.ts";
import { type FileJoiner, plannedFiles } from "../files/joined-files.ts";
import { hasChangedChoice } from "../state/changes.ts";
import type {
  NarrationFile,
  NarrationProblem,
  NarrationState,
  StoredPlan,
} from "../state/narration-state.ts";
import { partRequest, type VerifiedPart } from "../state/part-request.ts";
import { type PartStatus, partStatus, recordCharge, summarizeParts } from "../state/part-summary.ts";
import { NarrationLease, type NarrationLeaseDeps } from "./narration-lease.ts";
import { type DriverStep, decideNextStep, type FileProgress, type PartState } from "./next-step.ts";
import {
  buildProblem,
  concernsOnePart,
  joinProblems,
  MAX_JOBS_PER_PART,
  unusableAudio,
} from "./stop-reasons.ts";

export interface NarrationDriverDeps extends NarrationLeaseDeps {
  readonly partOperations: PartOperations;
  readonly fileJoiner: FileJoiner;
}

/**
 * Errors that may disappear when a running part ends, because most of the reservation of that part is returned then.
 */
const MAY_FIT_LATER: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["budget_exceeded", "max_credits_reached"]);

const INITIAL_STATES: Readonly<Record<PartStatus, PartState>> = {
  open: "open",
  running: "sent",
  saved: "saved",
  failed: "open",
};

export class NarrationDriver {
  readonly narrationId: string;
  /** Resolves when the narration has ended or another process drives it. Never rejects. */
  readonly end: Promise<void>;
  readonly #deps: NarrationDriverDeps;
  readonly #lease: NarrationLease;
  #hasLostLease = false;
  /** Aborts when this process no longer drives the narration. */
  readonly #leaving = new AbortController();
  readonly #listeners = new Set<() => void>();
  #nextChange = Promise.withResolvers<void>();
  /** The newest state that is known. */
  #state: NarrationState | null = null;
  /** The state at the last inspection of the parts. */
  #inspectedState: NarrationState | null = null;
  #partStates: PartState[] = [];
  #firstEqualParts: readonly number[] = [];
  #files: FileProgress[] = [];
  readonly #runningParts = new Map<number, AbortController>();
  /** Abort controllers of the running parts whose create was not sent yet. */
  readonly #unsentParts = new Set<AbortController>();
  readonly #triesByPart = new Map<number, number>();
  readonly #problems = new Map<number, NarrationProblem>();
  /**
   * Parts whose audio was downloaded again because it was missing or damaged. Each part is downloaded again at most
   * once.
   */
  readonly #fetchedAgain = new Set<number>();
  /** Parts for which an unknown status was already reported. */
  readonly #unknownStatuses = new Set<number>();
  /** The reason why the narration ends before all parts are saved; `null` if there is none. */
  #blockingProblem: NarrationProblem | null = null;
  #isOutOfCredits = false;

  constructor(deps: NarrationDriverDeps, narrationId: string) {
    this.#deps = deps;
    this.narrationId = narrationId;
    this.#lease = new NarrationLease(deps, narrationId);
    this.end = this.#drive()
      .catch((error: unknown) => deps.log.error("a narration's driver failed unexpectedly", error))
      .finally(() => this.#announce());
  }

  /** Whether another process has acquired the lease. This happens if this process renews the lease too late. */
  get hasLostLease(): boolean {
    return this.#hasLostLease;
  }

  /**
   * Calls the listener after each saved part, after each change and at the end.
   *
   * @returns a function that removes the listener
   */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the driver without writing to the ledger. The jobs of accepted tasks still save the audio. */
  leave(): void {
    this.#leaving.abort(new Error("the narration was left"));
    this.#stopParts();
    this.#wake();
  }

  /** Adopts a changed state. Ignores a state that is older than the known one. */
  refresh(state: NarrationState): void {
    const before = this.#state;
    if (before !== null && state.startCount < before.startCount) return;
    this.#state = state;
    if (state.status !== "running") this.#stopParts();
    if (before?.maxCredits !== state.maxCredits) this.#isOutOfCredits = false;
    this.#wake();
    this.#announce();
  }

  #wake(): void {
    this.#nextChange.resolve();
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Aborts all running parts. Their jobs drop unsent creates, and complete tasks whose creates were sent. */
  #stopParts(): void {
    for (const controller of this.#runningParts.values())
      controller.abort(new Error("the narration was stopped"));
  }

  async #drive(): Promise<void> {
    if (!(await this.#lease.acquire(this.#leaving.signal))) return;
    const leaseKeeper = new AbortController();
    const keeping = this.#lease.keep(() => this.#renewOrLeave(), leaseKeeper.signal);
    try {
      await this.#makeParts();
    } catch (error) {
      if (this.#leaving.signal.aborted) return;
      this.#stopCreating(error);
      await this.#storeEnd(false);
    } finally {
      this.#stopParts();
      leaseKeeper.abort();
      await keeping;
      await this.#lease.release();
    }
  }

  async #makeParts(): Promise<void> {
    const { plan, state } = await this.#deps.repository.get(this.narrationId);
    this.refresh(state);
    for (;;) {
      this.#nextChange = Promise.withResolvers<void>();
      await this.#inspectParts(plan);
      if (this.#leaving.signal.aborted) return;
      const step = this.#next();
      if (step.kind === "make_part") this.#beginPart(plan, step.part);
      else if (step.kind === "join") await this.#join(plan, step);
      else if (step.kind === "wait") await this.#nextChange.promise;
      else if (await this.#storeEnd(step.isWhole)) return;
    }
  }

  #next(): DriverStep {
    return decideNextStep({
      partStates: this.#partStates,
      firstEqualParts: this.#firstEqualParts,
      files: this.#files,
      isHalted: this.#blockingProblem !== null || this.#state?.status !== "running",
      hasUnsentPart: this.#unsentParts.size > 0,
      isOutOfCredits: this.#isOutOfCredits,
    });
  }

  /**
   * Inspects all parts when the driver starts, and again after each call that has changed the narration or requested it
   * again. Such changes are other takes, another name, or another choice for failed parts.
   */
  async #inspectParts(plan: StoredPlan): Promise<void> {
    const { repository, partOperations, clock } = this.#deps;
    const [state, seen] = [this.#state, this.#inspectedState];
    if (state === null || (seen !== null && !hasChangedChoice(seen, state))) return;
    this.#inspectedState = state;
    this.#blockingProblem = null;
    this.#isOutOfCredits = false;
    this.#problems.clear();
    this.#unknownStatuses.clear();
    this.#triesByPart.clear();
    this.#fetchedAgain.clear();
    const partSummary = await summarizeParts(
      partOperations,
      plan,
      state,
      await repository.bill(this.narrationId),
    );
    const requests = plan.parts.map((_, index) => JSON.stringify(partRequest(plan, state, index)));
    for (const [index, controller] of [...this.#runningParts]) {
      const isSame = seen !== null && JSON.stringify(partRequest(plan, seen, index)) === requests[index];
      if (isSame && !controller.signal.aborted) continue;
      controller.abort(new Error("another take was chosen"));
      this.#runningParts.delete(index);
    }
    const firsts = new Map<string, number>();
    this.#firstEqualParts = requests.map((request, index) => {
      const first = firsts.get(request) ?? index;
      firsts.set(request, first);
      return first;
    });
    this.#partStates = partSummary.statuses.map((status, index) => {
      if (this.#runningParts.has(index)) return "working";
      return status === "failed" && state.skipsFailed ? "skipped" : INITIAL_STATES[status];
    });
    this.#files = plannedFiles(plan).map(({ partIndexes }) => ({ partIndexes, made: null }));
    if (state.status !== "running") return;
    const savedParts = this.#savedParts;
    const begun = { begunAtMs: clock.wallMs(), savedAtBegin: savedParts, lastSavedAtMs: null, savedParts };
    await this.#change((before) => ({ ...before, problems: [], ...begun }));
  }

  get #savedParts(): number {
    return this.#partStates.filter((part) => part === "saved").length;
  }

  /**
   * Changes the stored state. Keeps the stored state instead if a call has changed the narration since the last
   * inspection of the parts.
   *
   * @returns `false` if the state that the call stored was kept
   */
  async #change(change: (before: NarrationState) => NarrationState): Promise<boolean> {
    const inspectedState = this.#inspectedState;
    const state = await this.#deps.repository.change(this.narrationId, (before) =>
      inspectedState !== null && hasChangedChoice(inspectedState, before) ? before : change(before),
    );
    this.refresh(state);
    return inspectedState === null || !hasChangedChoice(inspectedState, state);
  }

  #beginPart(plan: StoredPlan, part: number): void {
    const state = this.#inspectedState;
    if (state === null) return;
    const controller = new AbortController();
    const isSent = this.#partStates[part] === "sent";
    this.#partStates[part] = "working";
    this.#runningParts.set(part, controller);
    const isHalted = this.#blockingProblem !== null || this.#state?.status !== "running";
    const partEnd =
      isSent && isHalted ? this.#awaitSent(plan, state, part) : this.#makePart(plan, state, part, controller);
    if (!isSent) this.#unsentParts.add(controller);
    const end = async (outcome: PartState | "out_of_credits"): Promise<void> => {
      this.#unsentParts.delete(controller);
      // Ignore the outcome of an old take, if another take was chosen meanwhile.
      if (this.#runningParts.get(part) !== controller) return;
      this.#runningParts.delete(part);
      this.#isOutOfCredits = outcome === "out_of_credits" && this.#runningParts.size > 0;
      this.#setPartState(part, outcome === "out_of_credits" ? "open" : outcome);
      if (outcome === "saved") await this.#storeSavedCount();
    };
    void partEnd
      .catch((error: unknown): PartState => {
        this.#stopCreating(error);
        return "open";
      })
      .then(end)
      .finally(() => this.#wake());
  }

  /**
   * Sets the state of a part and of its equal parts, because equal parts are one task. Does not change equal parts that
   * are running themselves.
   */
  #setPartState(part: number, outcome: PartState): void {
    const first = this.#firstEqualParts[part];
    this.#firstEqualParts.forEach((other, index) => {
      if (other === first && (index === part || !this.#runningParts.has(index)))
        this.#partStates[index] = outcome;
    });
  }

  async #makePart(
    plan: StoredPlan,
    state: NarrationState,
    part: number,
    controller: AbortController,
  ): Promise<PartState | "out_of_credits"> {
    const { partOperations } = this.#deps;
    const { signal } = controller;
    const onSent = (): void => {
      if (this.#unsentParts.delete(controller)) this.#wake();
    };
    const request = partRequest(plan, state, part);
    const onUnknownStatus = (message: string): void => void this.#reportUnknownStatus(part, message);
    try {
      await partOperations.generate(request, {
        signal,
        narrationId: this.narrationId,
        onSent,
        onUnknownStatus,
      });
      return "saved";
    } catch (error) {
      // The narration was stopped, or another process has its lease.
      if (error instanceof NotWantedError) await this.#renewOrLeave();
      if (signal.aborted || error instanceof NotWantedError) return await this.#stateOf(plan, state, part);
      const audioError = error instanceof AudioError ? error : internalError(error);
      // The part lacks credits, and only another running part can release some. If no other part runs, the narration
      // ends.
      if (MAY_FIT_LATER.has(audioError.code) && this.#runningParts.size > 1) return "out_of_credits";
      if (await this.#mayTryAgain(plan, state, part, audioError)) return "open";
      if (!concernsOnePart(audioError)) {
        this.#stopCreating(audioError);
        return "open";
      }
      this.#problems.set(part, await this.#problemOfPart(request, part, audioError));
      return state.skipsFailed ? "skipped" : "failed";
    }
  }

  async #problemOfPart(request: PartRequest, part: number, error: AudioError): Promise<NarrationProblem> {
    const record = await this.#deps.partOperations.find(request);
    const isPaid = record !== null && (record.status === "succeeded" || record.isGone);
    return isPaid ? unusableAudio(error.message, part) : buildProblem(error, part);
  }

  async #awaitSent(plan: StoredPlan, state: NarrationState, part: number): Promise<PartState> {
    await this.#deps.partOperations.finish(partRequest(plan, state, part), { signal: this.#leaving.signal });
    const status = await this.#stateOf(plan, state, part);
    // If the task still runs, do not wait for it again. This driver has waited once, and another process now works on
    // the task and will save the audio. Until the audio is saved, the part counts as open, which means not saved.
    return status === "sent" ? "open" : status;
  }

  async #stateOf(plan: StoredPlan, state: NarrationState, part: number): Promise<PartState> {
    const record = await this.#deps.partOperations.find(partRequest(plan, state, part));
    return INITIAL_STATES[partStatus(record)];
  }

  /** Renews the lease and adopts the stored state. If another process has the lease, stops driving the narration. */
  async #renewOrLeave(): Promise<void> {
    const state = await this.#lease.readState();
    if (state !== null) {
      this.refresh(state);
      return;
    }
    this.#hasLostLease = !this.#leaving.signal.aborted;
    this.leave();
  }

  /**
   * Counts a failed try of a part.
   *
   * @returns whether the part may be tried once more. Only a refunded failure allows another try
   */
  async #mayTryAgain(
    plan: StoredPlan,
    state: NarrationState,
    part: number,
    { code }: AudioError,
  ): Promise<boolean> {
    const tries = (this.#triesByPart.get(part) ?? 0) + 1;
    this.#triesByPart.set(part, tries);
    if (code !== "task_failed" || tries >= MAX_JOBS_PER_PART) return false;
    const record = await this.#deps.partOperations.find(partRequest(plan, state, part));
    return record === null || recordCharge(record) === 0;
  }

  /**
   * Reports, once for each part, that its task has a status that this program does not know. Does not wait until the
   * task ends, because the status may stay unknown for an hour.
   */
  async #reportUnknownStatus(part: number, message: string): Promise<void> {
    if (this.#unknownStatuses.has(part)) return;
    this.#unknownStatuses.add(part);
    const problem = { part, code: "unexpected_response", message };
    await this.#change((before) => ({ ...before, problems: [...before.problems, problem] })).catch(
      (cause: unknown) => this.#deps.log.debug(`a problem could not be written: ${String(cause)}`),
    );
  }

  /** Stores the number of saved parts, for lists and other processes. */
  async #storeSavedCount(): Promise<void> {
    const { clock, log } = this.#deps;
    const figures = { savedParts: this.#savedParts, lastSavedAtMs: clock.wallMs() };
    await this.#change((before) => ({ ...before, ...figures })).catch((cause: unknown) =>
      log.debug(`how a narration stands could not be written: ${String(cause)}`),
    );
  }

  /** Joins a file of saved parts. A part whose audio is missing is no longer counted as saved. */
  async #join(
    plan: StoredPlan,
    { file: index, parts, isWhole }: Extract<DriverStep, { kind: "join" }>,
  ): Promise<void> {
    const state = this.#inspectedState;
    const file = plannedFiles(plan)[index];
    if (state === null || file === undefined) return;
    try {
      const sources: VerifiedPart[] = [];
      for (const part of parts) {
        const source = await this.#partFile(plan, state, part, isWhole);
        if (source === null) return;
        sources.push(source);
      }
      const { narrationId } = this;
      const { signal } = this.#leaving;
      const request = { narrationId, plan, state, file, parts: sources, isWhole, signal };
      const joinedFile = await this.#deps.fileJoiner.join(request);
      // Record the joined file even if a call has changed the narration during the joining. A file that is joined later
      // may then replace the recorded one.
      const newState = await this.#deps.repository.change(narrationId, (before) => ({
        ...before,
        files: withFile(before.files, joinedFile),
      }));
      this.refresh(newState);
      if (!hasChangedChoice(state, newState))
        this.#files[index] = { partIndexes: file.partIndexes, made: isWhole ? "whole" : "incomplete" };
    } catch (error) {
      if (this.#leaving.signal.aborted) return;
      const damaged = error instanceof DamagedPartError ? parts[error.part] : undefined;
      const problems = joinProblems(error, parts);
      if (damaged !== undefined && !this.#fetchedAgain.has(damaged))
        await this.#fetchAgain(plan, state, damaged);
      else if (problems !== null) this.#markFailed(problems);
      else {
        this.#stopCreating(error);
        this.#files[index] = { partIndexes: file.partIndexes, made: "failed" };
      }
    }
  }

  /**
   * Finds the audio of a saved part. If the audio was deleted and the whole file is to be joined, downloads the audio
   * again, free of charge.
   *
   * @returns `null` if the audio is not available; the part then no longer counts as saved
   */
  async #partFile(
    plan: StoredPlan,
    state: NarrationState,
    part: number,
    mayFetch: boolean,
  ): Promise<VerifiedPart | null> {
    const { partOperations } = this.#deps;
    const request = partRequest(plan, state, part);
    const savedAudio = await partOperations.saved(request);
    if (savedAudio !== null) return { index: part, ...savedAudio };
    const record = await partOperations.find(request);
    if (this.#fetchedAgain.has(part)) {
      this.#markFailed([
        unusableAudio("Its audio was fetched again, and cannot be read all the same.", part),
      ]);
      return null;
    }
    this.#fetchedAgain.add(part);
    if (!mayFetch || partStatus(record) !== "saved") {
      this.#setPartState(part, "open");
      return null;
    }
    try {
      const call = { signal: this.#leaving.signal, narrationId: this.narrationId };
      return { index: part, ...(await partOperations.generate(request, call)) };
    } catch (error) {
      if (!(error instanceof AudioError && concernsOnePart(error))) throw error;
      this.#markFailed([await this.#problemOfPart(request, part, error)]);
      return null;
    }
  }

  /** Downloads a damaged part again. The present file stays until the new one is saved. */
  async #fetchAgain(plan: StoredPlan, state: NarrationState, part: number): Promise<void> {
    this.#fetchedAgain.add(part);
    const call = { signal: this.#leaving.signal, narrationId: this.narrationId, forcesDownload: true };
    await this.#deps.partOperations.generate(partRequest(plan, state, part), call).catch((error: unknown) => {
      // Only log the error, because the next join reports the part as damaged.
      this.#deps.log.debug(`a damaged part could not be fetched again: ${String(error)}`);
    });
  }

  #markFailed(problems: readonly NarrationProblem[]): void {
    for (const problem of problems) {
      if (problem.part === null) continue;
      this.#problems.set(problem.part, problem);
      this.#setPartState(problem.part, this.#inspectedState?.skipsFailed === true ? "skipped" : "failed");
    }
  }

  /** Stops sending creates, and keeps the first error as the reason. Accepted tasks are still completed. */
  #stopCreating(error: unknown): void {
    if (!(error instanceof AudioError)) this.#deps.log.error("a narration failed unexpectedly", error);
    this.#blockingProblem ??= buildProblem(error instanceof AudioError ? error : internalError(error), null);
    this.#stopParts();
  }

  /**
   * Stores the final status of the narration and its problems.
   *
   * @returns `false` if a call has requested something else meanwhile
   */
  async #storeEnd(isWhole: boolean): Promise<boolean> {
    const leftOut = this.#partStates.flatMap((part, index) =>
      part === "skipped" && !this.#problems.has(index) ? [leftOutProblem(index)] : [],
    );
    const ofParts = [...this.#problems.values(), ...leftOut].sort(
      (one, other) => partOrder(one) - partOrder(other),
    );
    const problems = [...(this.#blockingProblem === null ? [] : [this.#blockingProblem]), ...ofParts];
    const savedParts = this.#savedParts;
    return await this.#change((before) => {
      const end = { status: isWhole ? "finished" : "stopped", problems } as const;
      // If all files are whole, store the narration as finished, even if a call has stopped it. If files are missing
      // and a call has stopped the narration, keep the status and problems that the call stored.
      return { ...before, savedParts, ...(before.status === "running" || isWhole ? end : {}) };
    });
  }
}

/** Builds the problem of a part that was left out. Every result about the narration lists this problem. */
const leftOutProblem = (part: number): NarrationProblem => ({
  part,
  code: "left_out",
  message: "It is left out.",
});

const partOrder = ({ part }: NarrationProblem): number => part ?? -1;

const withFile = (files: readonly NarrationFile[], made: NarrationFile): NarrationFile[] =>
  [...files.filter(({ section }) => section !== made.section), made].sort(
    (one, other) => (one.section ?? 0) - (other.section ?? 0),
  );
