/** One running job: the record it drives, the phase it is in, who waits for it. */
import type { Clock } from "../../clock.ts";
import type { AudioError } from "../../errors.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import { continued, describe, type Phase } from "./phase.ts";

/** What a job may do: `create` sends creates; `finish` only watches and saves what was accepted. */
export type JobPurpose = "create" | "finish";

export type JobEnd =
  | { readonly kind: "saved"; readonly record: TaskRecord; readonly file: SavedFile }
  | { readonly kind: "failed"; readonly record: TaskRecord }
  | { readonly kind: "error"; readonly error: AudioError }
  /** Dropped before anything was sent, or left to another process. */
  | { readonly kind: "left" }
  /** Its handles were cancelled, or its narration has ended, or another process drives that: nothing was sent. */
  | { readonly kind: "not_wanted" };

/** Ends a job whose create nobody wants any more. */
export class NotWantedError extends Error {
  override readonly name = "NotWantedError";
}

/** A call that has been open for so long, and is made again, was probably given up by its client. */
const SILENT_AFTER_MS = 2000;

export class Job {
  /** As it was last seen; ahead of the ledger while the ledger cannot be written. */
  record: TaskRecord;
  purpose: JobPurpose;
  /** The narration that its create is sent for; `null` as soon as a caller asks for it by itself. */
  narrationId: string | null = null;
  /** Past attempts that failed, where the answer to a create tells of them. */
  mayRetryFailedAttempt = true;
  /** The audio is fetched although it is here, because that is damaged. */
  forcesDownload = false;
  /** New tasks that creates of this job made. */
  newTasks = 0;
  /** The attempt of which a send of this job was not answered by the service: it may have made the task. */
  unansweredAttempt: number | null = null;
  /** A create of this job is under way or was never answered: it may have made a task, so the job is seen through. */
  mayHaveBeenSent = false;
  readonly end: Promise<JobEnd>;
  readonly #clock: Pick<Clock, "steadyMs">;
  readonly #abort = new AbortController();
  readonly #abortSend = new AbortController();
  readonly #listeners = new Set<(message: string) => void>();
  #phase: Phase = { kind: "starting" };
  #finish: (end: JobEnd) => void = () => undefined;
  /** Callers that wait within their window, and callers that are asked about by a handle. */
  readonly #callers = { plain: 0, withHandle: 0 };
  /** A caller whose window has closed was told that the job goes on. */
  #keepsRunning = false;
  /** When the caller that has waited longest began to; a caller with a handle may be asked again at any time. */
  #waitedForSinceMs = Number.POSITIVE_INFINITY;
  #wasCancelled = false;
  #isAbandoned = false;

  constructor(record: TaskRecord, purpose: JobPurpose, clock: Pick<Clock, "steadyMs">) {
    this.record = record;
    this.purpose = purpose;
    this.#clock = clock;
    this.end = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Aborts when the job is to stop where it stands. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts a create that is under way: somewhat later than {@link signal}, for its answer may be about to come. */
  get sendSignal(): AbortSignal {
    return this.#abortSend.signal;
  }

  get hasCallers(): boolean {
    return this.#callers.plain + this.#callers.withHandle > 0;
  }

  /** All who wait for it have handles: whether these still want it is what the ledger says. */
  get isForHandles(): boolean {
    return !this.#keepsRunning && this.#callers.plain === 0 && this.#callers.withHandle > 0;
  }

  /**
   * Whether a caller who comes now is likely to be one that has given up before: a call was cancelled, or one has been
   * open for so long that its client may have dropped it in silence. Of a cancelled call it is said once.
   */
  takeLikelyRetry(): boolean {
    const wasCancelled = this.#wasCancelled;
    this.#wasCancelled = false;
    return wasCancelled || this.#clock.steadyMs() - this.#waitedForSinceMs >= SILENT_AFTER_MS;
  }

  /** Every change of phase is told to all who wait. */
  enter(phase: Phase): void {
    this.#phase = continued(phase, this.#phase, this.#clock.steadyMs());
    this.announce(describe(this.#phase, this.record, this.#clock));
  }

  announce(message: string): void {
    for (const listener of this.#listeners) listener(message);
  }

  listen(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  attach(hasHandle = false): void {
    if (!hasHandle && this.#callers.plain === 0) this.#waitedForSinceMs = this.#clock.steadyMs();
    this.#callers[hasHandle ? "withHandle" : "plain"] += 1;
    this.#isAbandoned = false;
  }

  /** A caller who asked for it leaves, and is told that it goes on. */
  promise(): void {
    this.#keepsRunning = true;
  }

  /** A caller leaves. The last one to cancel takes an unsent job with it; one that merely ran out of time does not. */
  detach(isCancelled: boolean, hasHandle = false): void {
    this.#callers[hasHandle ? "withHandle" : "plain"] -= 1;
    if (this.#callers.plain === 0) this.#waitedForSinceMs = Number.POSITIVE_INFINITY;
    this.#wasCancelled ||= isCancelled && !hasHandle;
    if (!isCancelled || this.hasCallers || (hasHandle && this.#keepsRunning)) return;
    this.#isAbandoned = true;
    // Nobody wants another create of it: a task that was accepted is still watched and saved.
    this.purpose = "finish";
    if (!this.mayHaveBeenSent && this.record.taskId === null) this.stop();
  }

  /** What was sent was certainly not taken: the job is as unsent as before, and nobody may want it any more. */
  clearSent(): void {
    this.mayHaveBeenSent = false;
    if (this.#isAbandoned) this.stop();
  }

  stop(): void {
    this.#abort.abort(new Error("the job was stopped"));
  }

  /** Ends also a create that is under way. */
  abortSend(): void {
    this.stop();
    this.#abortSend.abort(new Error("the job was broken off"));
  }

  finish(end: JobEnd): void {
    this.#finish(end);
  }
}
