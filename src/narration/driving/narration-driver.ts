/** Drives one narration in one process: takes the lease, performs one step after another, and stores the end. */
import { AudioError, internalError } from "../../errors.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "../state/narration-state.ts";
import { buildPartRequest } from "../state/part-request.ts";
import { summarizeParts } from "../state/part-summary.ts";
import { DrivenState } from "./driven-state.ts";
import { type DriverStep, decideDriverStep } from "./driver-step.ts";
import { finishSentPart, makePart, type PartOutcome, readOutcome } from "./make-part.ts";
import { NarrationJoiner, type NarrationJoinerDeps } from "./narration-joiner.ts";
import { NarrationLease, type NarrationLeaseDeps } from "./narration-lease.ts";
import { buildProblem } from "./part-problems.ts";
import { PartTable } from "./part-table.ts";
import { type RunningPart, RunningParts } from "./running-parts.ts";

export type NarrationDriverDeps = NarrationLeaseDeps & NarrationJoinerDeps;

/**
 * Drives one narration in this process. The constructor starts the driver. The driver acquires the lease, makes the
 * missing parts, joins the parts into files, and stores how the narration ended. While another process has the lease,
 * the driver waits, but only until the narration no longer runs.
 */
export class NarrationDriver {
  readonly narrationId: string;
  /** Resolves when the narration has ended or another process drives it. Never rejects. */
  readonly end: Promise<void>;
  readonly #deps: NarrationDriverDeps;
  readonly #lease: NarrationLease;
  readonly #state: DrivenState;
  readonly #partTable = new PartTable();
  readonly #runningParts = new RunningParts();
  readonly #joiner: NarrationJoiner;
  readonly #listeners = new Set<() => void>();
  /** Aborts when this process no longer drives the narration. */
  readonly #stopController = new AbortController();
  #hasLostLease = false;
  #nextChange = Promise.withResolvers<void>();
  /** The reason why no more submissions are sent; `null` if submissions may be sent. */
  #stopReason: NarrationProblem | null = null;
  #isOutOfCredits = false;

  constructor(deps: NarrationDriverDeps, narrationId: string) {
    this.#deps = deps;
    this.narrationId = narrationId;
    this.#lease = new NarrationLease(deps, narrationId);
    this.#state = new DrivenState(deps, narrationId);
    this.#joiner = new NarrationJoiner(deps, narrationId, this.#stopController.signal);
    this.end = this.#drive()
      .catch((error: unknown) => deps.log.error("a narration's driver failed unexpectedly", error))
      .finally(() => this.#announce());
  }

  /** Whether another process has acquired the lease. This happens if this process renews the lease too late. */
  get hasLostLease(): boolean {
    return this.#hasLostLease;
  }

  /**
   * Calls the listener after each saved part, after each change of the narration's state, and when the driver ends.
   *
   * @returns a function that removes the listener
   */
  addListener(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the driver without writing to the ledger. The jobs of accepted tasks still save the audio. */
  stopDriving(): void {
    this.#stopController.abort(new Error("this process stopped driving the narration"));
    this.#runningParts.abortAll();
    this.#wake();
  }

  /** Takes over a changed state. Ignores a state that is older than the known one. */
  updateState(state: NarrationState): void {
    const previousState = this.#state.newest;
    if (!this.#state.update(state)) return;
    if (state.status !== "running") this.#runningParts.abortAll();
    if (previousState?.maxCredits !== state.maxCredits) this.#isOutOfCredits = false;
    this.#wake();
    this.#announce();
  }

  #wake(): void {
    this.#nextChange.resolve();
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  async #drive(): Promise<void> {
    if (!(await this.#lease.acquire(this.#stopController.signal))) return;
    const renewalController = new AbortController();
    const leaseRenewal = this.#lease.renewAtIntervals(
      () => this.#renewLeaseOrStop(),
      renewalController.signal,
    );
    try {
      await this.#runSteps();
    } catch (error) {
      if (this.#stopController.signal.aborted) return;
      this.#stopSubmitting(error);
      await this.#storeEnd(false);
    } finally {
      this.#runningParts.abortAll();
      renewalController.abort();
      await leaseRenewal;
      await this.#lease.release();
    }
  }

  async #runSteps(): Promise<void> {
    const { plan, state } = await this.#deps.repository.get(this.narrationId);
    this.updateState(state);
    for (;;) {
      this.#nextChange = Promise.withResolvers<void>();
      await this.#inspectParts(plan);
      if (this.#stopController.signal.aborted) return;
      const step = this.#decideNextStep();
      if (step.kind === "run_part") this.#beginPart(plan, step.partIndex);
      else if (step.kind === "join") await this.#join(plan, step);
      else if (step.kind === "wait") await this.#nextChange.promise;
      else if (await this.#storeEnd(step.isComplete)) return;
    }
  }

  #decideNextStep(): DriverStep {
    return decideDriverStep({
      partStates: this.#partTable.states,
      firstEqualPartIndexes: this.#partTable.firstEqualPartIndexes,
      files: this.#joiner.progress,
      hasStoppedSubmitting: this.#hasStoppedSubmitting,
      hasUnacceptedPart: this.#runningParts.hasUnaccepted,
      isOutOfCredits: this.#isOutOfCredits,
    });
  }

  get #hasStoppedSubmitting(): boolean {
    return this.#stopReason !== null || this.#state.newest?.status !== "running";
  }

  /**
   * Inspects all parts when the driver starts, and again after a call has changed the narration or requested it again.
   * A call can change the retakes, the name, and what happens with failed parts.
   */
  async #inspectParts(plan: StoredPlan): Promise<void> {
    const state = this.#state.beginInspection();
    if (state === null) return;
    this.#stopReason = null;
    this.#isOutOfCredits = false;
    this.#partTable.forgetFailures();
    const { repository, partOperations } = this.#deps;
    const bill = await repository.getBill(this.narrationId);
    const { statuses } = await summarizeParts(partOperations, plan, state, bill);
    const requests = plan.parts.map((_, index) => JSON.stringify(buildPartRequest(plan, state, index)));
    this.#runningParts.dropChanged(requests);
    const runningParts = this.#runningParts.indexes;
    this.#partTable.setInspected({
      statuses,
      requests,
      workingParts: runningParts,
      shouldSkipFailed: state.shouldSkipFailed,
    });
    this.#joiner.reset(plan);
    if (state.status === "running")
      this.updateState(await this.#state.storeBegin(this.#partTable.savedPartCount));
  }

  #beginPart(plan: StoredPlan, partIndex: number): void {
    const state = this.#state.inspected;
    if (state === null) return;
    const isSent = this.#partTable.states[partIndex] === "sent";
    this.#partTable.begin(partIndex);
    const runningPart = this.#runningParts.begin(partIndex, buildPartRequest(plan, state, partIndex), isSent);
    const partEnd =
      isSent && this.#hasStoppedSubmitting
        ? finishSentPart(this.#deps.partOperations, runningPart.request, this.#stopController.signal)
        : this.#makePart(runningPart);
    void partEnd
      .catch((error: unknown): PartOutcome => ({ kind: "blocked", error }))
      .then(async (outcome) => await this.#endPart(runningPart, outcome))
      .finally(() => this.#wake());
  }

  async #makePart(runningPart: RunningPart): Promise<PartOutcome> {
    const { partOperations } = this.#deps;
    const { partIndex, request, controller } = runningPart;
    const outcome = await makePart(partOperations, partIndex, request, {
      signal: controller.signal,
      narrationId: this.narrationId,
      onAccepted: () => {
        if (this.#runningParts.markAccepted(runningPart)) this.#wake();
      },
      onUnknownStatus: (message) => void this.#reportUnknownStatus(partIndex, message),
    });
    if (outcome.kind === "not_wanted") {
      // The narration was stopped, or another process has its lease.
      await this.#renewLeaseOrStop();
      return await readOutcome(partOperations, request);
    }
    // If no other part runs, no credits can become free, so the narration ends.
    if (outcome.kind === "out_of_credits" && this.#runningParts.count === 1)
      return { kind: "blocked", error: outcome.error };
    return outcome;
  }

  async #endPart(runningPart: RunningPart, outcome: PartOutcome): Promise<void> {
    if (outcome.kind === "blocked") this.#stopSubmitting(outcome.error);
    // Ignore the outcome of an old take, if another take was chosen meanwhile.
    if (!this.#runningParts.end(runningPart)) return;
    this.#isOutOfCredits = outcome.kind === "out_of_credits" && this.#runningParts.count > 0;
    switch (outcome.kind) {
      case "ended":
        this.#partTable.setState(runningPart.partIndex, outcome.state);
        if (outcome.state === "saved") await this.#storeSavedCount();
        return;
      case "failed":
        if (outcome.isRefunded && this.#partTable.reopen(runningPart.partIndex)) return;
        this.#partTable.fail(outcome.problem);
        return;
      default:
        this.#partTable.setState(runningPart.partIndex, "to_do");
    }
  }

  /** Renews the lease and takes over the stored state. If another process has the lease, stops driving the narration. */
  async #renewLeaseOrStop(): Promise<void> {
    const state = await this.#lease.renewAndReadState();
    if (state !== null) {
      this.updateState(state);
      return;
    }
    this.#hasLostLease = !this.#stopController.signal.aborted;
    this.stopDriving();
  }

  /**
   * Reports, once for each part, that its task has a status that this program does not know. Does not wait until the
   * task ends, because the status may stay unknown for an hour.
   */
  async #reportUnknownStatus(partIndex: number, message: string): Promise<void> {
    if (!this.#partTable.addUnknownStatus(partIndex)) return;
    const problem = { partIndex, code: "unexpected_response", message };
    await this.#state
      .addProblem(problem)
      .then((state) => this.updateState(state))
      .catch((cause: unknown) => this.#deps.log.debug(`a problem could not be written: ${String(cause)}`));
  }

  async #storeSavedCount(): Promise<void> {
    await this.#state
      .storeSavedCount(this.#partTable.savedPartCount)
      .then((state) => this.updateState(state))
      .catch((cause: unknown) =>
        this.#deps.log.debug(`the progress of a narration could not be saved: ${String(cause)}`),
      );
  }

  /** Joins the saved parts of one file. A part whose audio is missing is no longer counted as saved. */
  async #join(plan: StoredPlan, step: Extract<DriverStep, { kind: "join" }>): Promise<void> {
    const state = this.#state.inspected;
    if (state === null) return;
    const outcome = await this.#joiner.join(plan, state, step);
    switch (outcome.kind) {
      case "joined":
        this.updateState(outcome.state);
        return;
      case "part_missing":
        this.#partTable.setState(outcome.partIndex, "to_do");
        return;
      case "parts_failed":
        for (const problem of outcome.problems) this.#partTable.fail(problem);
        return;
      case "failed":
        this.#stopSubmitting(outcome.error);
    }
  }

  /** Stops sending submissions, and keeps the first error as the reason. Accepted tasks are still completed. */
  #stopSubmitting(error: unknown): void {
    if (!(error instanceof AudioError)) this.#deps.log.error("a narration failed unexpectedly", error);
    this.#stopReason ??= buildProblem(error instanceof AudioError ? error : internalError(error), null);
    this.#runningParts.abortAll();
  }

  /**
   * Stores the end of the narration.
   *
   * @returns `false` if a call has changed the narration or requested it again meanwhile
   */
  async #storeEnd(isComplete: boolean): Promise<boolean> {
    const narrationProblems = this.#stopReason === null ? [] : [this.#stopReason];
    const problems = [...narrationProblems, ...this.#partTable.problems];
    const state = await this.#state.storeEnd(isComplete, this.#partTable.savedPartCount, problems);
    this.updateState(state);
    return this.#state.isUpToDateWith(state);
  }
}
