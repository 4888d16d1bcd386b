/** A running job: its record, its phase and its callers. */
import type { Clock } from "../../clock.ts";
import type { AudioError } from "../../errors.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { describePhase, type Phase, withHoldStart } from "./phase.ts";

/** A `submit` job may send submissions. A `resume` job sends none: it only watches a task and saves its audio. */
export type JobPurpose = "submit" | "resume";

export type JobOutcome =
  | { readonly kind: "saved"; readonly record: RequestRecord; readonly file: SavedFile }
  | { readonly kind: "failed"; readonly record: RequestRecord }
  | { readonly kind: "error"; readonly error: AudioError }
  /** The job was stopped, or another process drives the record. An accepted task stays in the ledger. */
  | { readonly kind: "no_result" }
  /**
   * Nothing was sent, because all MCP tasks were cancelled, the narration has ended, or another process drives the
   * narration.
   */
  | { readonly kind: "not_wanted" };

/** Thrown if nobody wants the submission any more. */
export class NotWantedError extends Error {
  override readonly name = "NotWantedError";
}

/**
 * If a call has been open for at least this time, a new call for the same job suggests that the client gave up the open
 * call.
 */
const LIKELY_ABANDONED_AFTER_MS = 2000;

/**
 * The work of this process on one record. `JobRunner` creates the job, changes its record and phase, and resolves its
 * outcome. The job counts its callers. When the last caller cancels, a job that has sent nothing stops.
 */
export class Job {
  /** The latest known state; newer than the ledger while the ledger cannot be written. */
  record: RequestRecord;
  purpose: JobPurpose;
  /** The narration that pays for the submission; `null` once a call requests the audio directly. */
  narrationId: string | null = null;
  /**
   * Whether to start a new attempt if the response to the submission shows that the current attempt has already failed.
   */
  mayRetryEarlierTask = true;
  /** Whether to download the audio although this machine has a copy. This is set if the copy is damaged. */
  mustDownload = false;
  /** Number of new tasks that this job created. */
  newTaskCount = 0;
  /**
   * The number of an attempt that may have created a task, although no task id was received; `null` if there is no such
   * attempt. A later response does not clear this number.
   */
  attemptWithLostResponse: number | null = null;
  /**
   * Whether the service may have a task of this job whose id is unknown: a send is in progress, or a response was lost.
   * While this is true, the job must not end early. A response with a task id sets it to false. After a refusal or a
   * 503, it stays true only if the response to an earlier send was lost.
   */
  mayHaveUnknownTask = false;
  /** Whether this process has the lease of the record. */
  ownsLease = false;
  readonly outcome: Promise<JobOutcome>;
  readonly #clock: Pick<Clock, "steadyMs">;
  readonly #abort = new AbortController();
  readonly #sendAbort = new AbortController();
  readonly #listeners = new Set<(message: string) => void>();
  #phase: Phase = { kind: "starting" };
  #resolve: (end: JobOutcome) => void = () => undefined;
  /** Numbers of waiting callers: those with a plain call, and those with an MCP task. */
  readonly #callers = { plain: 0, withMcpTask: 0 };
  /** Whether a call has told its caller that the job continues. */
  #keepsRunning = false;
  /**
   * When the longest wait began, on the steady clock. Ignores callers with MCP tasks, because their clients poll and do
   * not wait.
   */
  #longestWaitSinceMs = Number.POSITIVE_INFINITY;
  #wasCancelled = false;
  #isCancelledByAll = false;

  constructor(record: RequestRecord, purpose: JobPurpose, clock: Pick<Clock, "steadyMs">) {
    this.record = record;
    this.purpose = purpose;
    this.#clock = clock;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Aborts when the job must stop. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Aborts a submission in progress. Aborts a little later than {@link signal}, because the response may be about to
   * arrive.
   */
  get sendSignal(): AbortSignal {
    return this.#sendAbort.signal;
  }

  get hasCallers(): boolean {
    return this.#callers.plain + this.#callers.withMcpTask > 0;
  }

  /**
   * Whether only callers with MCP tasks want the job. If so, the ledger shows whether the job is still wanted, because
   * the ledger stores which MCP tasks were cancelled.
   */
  get hasOnlyMcpTaskCallers(): boolean {
    return !this.#keepsRunning && this.#callers.plain === 0 && this.#callers.withMcpTask > 0;
  }

  /**
   * Whether a new caller probably repeats a call that the client gave up: the earlier call was cancelled, or has been
   * open for at least {@link LIKELY_ABANDONED_AFTER_MS}. Forgets the cancellation, so the next call of this method
   * returns `false` unless another caller has cancelled.
   */
  takeLikelyRetry(): boolean {
    const wasCancelled = this.#wasCancelled;
    this.#wasCancelled = false;
    return wasCancelled || this.#clock.steadyMs() - this.#longestWaitSinceMs >= LIKELY_ABANDONED_AFTER_MS;
  }

  /** Changes the phase and announces it to all callers. */
  setPhase(phase: Phase): void {
    this.#phase = withHoldStart(phase, this.#phase, this.#clock.steadyMs());
    this.announce(describePhase(this.#phase, this.record, this.#clock));
  }

  announce(message: string): void {
    for (const listener of this.#listeners) listener(message);
  }

  addListener(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  addCaller(hasMcpTask = false): void {
    if (!hasMcpTask && this.#callers.plain === 0) this.#longestWaitSinceMs = this.#clock.steadyMs();
    this.#callers[hasMcpTask ? "withMcpTask" : "plain"] += 1;
    this.#isCancelledByAll = false;
  }

  /**
   * Keeps the job running even if all its MCP tasks are cancelled, because a call has told its caller that the job
   * continues.
   */
  keepRunning(): void {
    this.#keepsRunning = true;
  }

  /**
   * Removes a caller. If the last caller cancels, a job that has sent nothing stops. A caller that runs out of time
   * does not stop the job.
   */
  removeCaller(isCancelled: boolean, hasMcpTask = false): void {
    this.#callers[hasMcpTask ? "withMcpTask" : "plain"] -= 1;
    if (this.#callers.plain === 0) this.#longestWaitSinceMs = Number.POSITIVE_INFINITY;
    this.#wasCancelled ||= isCancelled && !hasMcpTask;
    if (!isCancelled || this.hasCallers || (hasMcpTask && this.#keepsRunning)) return;
    this.#isCancelledByAll = true;
    // No further submissions are wanted, but an accepted task is still watched and saved.
    this.purpose = "resume";
    if (!this.mayHaveUnknownTask && this.record.taskId === null) this.stop();
  }

  /**
   * Sets the job back to unsent, because the service responded without accepting the submission. Stops the job if all
   * callers have cancelled.
   */
  markAsUnsent(): void {
    this.mayHaveUnknownTask = false;
    if (this.#isCancelledByAll) this.stop();
  }

  stop(): void {
    this.#abort.abort(new Error("the job was stopped"));
  }

  /** Stops the job and aborts a submission in progress. */
  abortSend(): void {
    this.stop();
    this.#sendAbort.abort(new Error("the send was aborted"));
  }

  resolve(end: JobOutcome): void {
    this.#resolve(end);
  }
}
