/** Owns the state of one running job and who listens to it; knows not how a task is made, watched or saved. */
import type { AudioError } from "../errors.ts";
import type { SavedFile, TaskRecord } from "../ledger/record.ts";
import type { ReadWaitReason, WaitReason } from "../limits/limits.ts";

/** Why the service has not been asked yet, and about how much longer. */
export interface Hold {
  readonly reason: WaitReason | "unavailable" | "elsewhere";
  readonly waitMs: number;
}

export type JobEnd =
  | { readonly kind: "saved"; readonly record: TaskRecord; readonly file: SavedFile }
  | { readonly kind: "failed"; readonly record: TaskRecord }
  | { readonly kind: "error"; readonly error: AudioError }
  /** Dropped before anything was sent, or left to another process. */
  | { readonly kind: "left" };

export class Job {
  record: TaskRecord;
  /** This job sent the create that the service accepted: whoever started it caused a reservation. */
  hasCreated = false;
  /** Something was sent: from here on the job is seen through, whoever cancels. */
  isCommitted = false;
  /** The task failed while this job was looking on, not in some earlier call. */
  failureIsNews = false;
  hold: Hold | null = null;
  /** When the send that is under way began; `null` while there is none. */
  sentAtSteadyMs: number | null = null;
  lastError: AudioError | null = null;
  /** Why the service may not be asked about the task now, and until when on the steady clock; `null` while it may. */
  readHold: { readonly reason: ReadWaitReason; readonly untilMs: number } | null = null;
  readonly end: Promise<JobEnd>;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(message: string) => void>();
  #finish: (end: JobEnd) => void = () => undefined;
  #callers = 0;
  /** The last caller cancelled: as soon as nothing can have reached the service, the job is dropped. */
  #isAbandoned = false;

  constructor(record: TaskRecord) {
    this.record = record;
    this.end = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get hasCallers(): boolean {
    return this.#callers > 0;
  }

  /** Tells every listener of a change or a poll, in words that a person understands. */
  announce(message: string): void {
    for (const listener of this.#listeners) listener(message);
  }

  listen(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  attach(): void {
    this.#callers += 1;
    this.#isAbandoned = false;
  }

  /** A caller leaves. The last one to cancel takes an unsent job with it; one that merely ran out of window does not. */
  detach(isCancelled: boolean): void {
    this.#callers -= 1;
    if (!isCancelled || this.#callers > 0) return;
    this.#isAbandoned = true;
    if (!this.isCommitted) this.stop();
  }

  /** What was sent was certainly not taken: the job is as unsent as before, and nobody may want it any more. */
  uncommit(): void {
    this.isCommitted = false;
    if (this.#isAbandoned) this.stop();
  }

  stop(): void {
    this.#abort.abort(new Error("the job was stopped"));
  }

  finish(end: JobEnd): void {
    this.#finish(end);
  }
}
