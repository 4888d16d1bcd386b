/**
 * Runs a request in the background for a call handle. No caller waits for the request; its result is read through the
 * call handle.
 */
import { randomUUID } from "node:crypto";
import type { RequestRecord } from "../../ledger/record.ts";
import type { CallHandle, SaveOptions } from "../../ledger/rules/call-handle.ts";
import type { Call, CallHandlePreparation } from "../call.ts";
import type { GenerationDeps } from "../deps.ts";
import { taskFailedError } from "../task-failed-error.ts";

/**
 * Thrown if the request needs no call handle. The call is then answered as for clients that do not support the tasks
 * extension.
 */
export class CallHandleNotNeededError extends Error {
  override readonly name = "CallHandleNotNeededError";
}

/**
 * Thrown if nothing is left to do for the call handle, or if another {@link CallHandleRun} of this process already
 * works for it.
 */
export class CallHandleEndedError extends Error {
  override readonly name = "CallHandleEndedError";
}

/** A call handle and its record. */
export interface CallHandleWithRecord {
  readonly handle: CallHandle;
  readonly record: RequestRecord;
}

/**
 * The number of recovery windows within which the request must end. One attempt needs up to three: one each for create,
 * watch and save. The free repeat of a failed task needs three more.
 */
const RECOVERY_WINDOWS = 6;

/** Whether the record's latest attempt was made for this call handle and has failed. */
export const hasFailedAttempt = ({ record, handle }: CallHandleWithRecord): boolean =>
  record.status === "failed" && record.attempt >= handle.attempt;

export class CallHandleRun implements CallHandlePreparation {
  readonly isResumed: boolean;
  readonly #deps: GenerationDeps;
  readonly #onOpened: (opened: CallHandleWithRecord) => void;
  readonly #saveOptions: SaveOptions;
  readonly #abort = new AbortController();
  #handle: CallHandle | null;

  /**
   * @param knownHandle the call handle to resume; `null` to open one
   * @param onOpened called with the opened call handle before the job of the request starts. `onOpened` must
   *   throw `CallHandleEndedError` if this process already works for that call handle
   */
  constructor(
    deps: GenerationDeps,
    knownHandle: CallHandle | null,
    saveOptions: SaveOptions,
    onOpened: (opened: CallHandleWithRecord) => void,
  ) {
    this.#deps = deps;
    this.#handle = knownHandle;
    this.#saveOptions = saveOptions;
    this.#onOpened = onOpened;
    this.isResumed = knownHandle !== null;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Stops the work for the call handle, because the call handle was cancelled. */
  abort(): void {
    this.#abort.abort(new CallHandleEndedError("the handle was cancelled"));
  }

  /** The call that makes the request. */
  call(): Call {
    const waitMs = RECOVERY_WINDOWS * this.#deps.timing.stageTimeoutMs;
    return { signal: this.signal, waitMs, onProgress: () => undefined, handlePreparation: this };
  }

  async prepare(draft: RequestRecord): Promise<RequestRecord> {
    if (this.#handle === null) return await this.#open(draft);
    const handle = await this.#deps.ledger.store.callHandles.find(this.#handle.handleId);
    if (handle === null || handle.endedAtMs !== null) throw new CallHandleEndedError("the handle has ended");
    // After a failed attempt, only a new call may begin another attempt.
    if (hasFailedAttempt({ record: draft, handle })) throw taskFailedError(draft);
    return draft;
  }

  async #open(draftRecord: RequestRecord): Promise<RequestRecord> {
    const { ledger, clock } = this.#deps;
    const isSavedSomewhere = draftRecord.status === "succeeded" && draftRecord.files.length > 0;
    if (isSavedSomewhere) throw new CallHandleNotNeededError("nothing has to be made");
    // Acquire the lease before opening the call handle, so that no other process sends the request in between.
    const { record } = await ledger.acquireLease(draftRecord);
    const { apiKeyId, recordId: targetId } = record;
    const draft = { handleId: randomUUID(), apiKeyId, targetId, openedAtMs: clock.wallMs() };
    this.#handle = await ledger.store.callHandles.open(draft, this.#saveOptions);
    if (this.#handle === null) throw new CallHandleNotNeededError("the ledger has lost the record");
    this.#onOpened({ handle: this.#handle, record });
    // Take the file name from this call, because this call sends the request.
    return { ...record, fileName: draftRecord.fileName, replacedFile: draftRecord.replacedFile };
  }
}
