/** Starts requests in the background. Reports and cancels them by their call handles, in any process. */
import { AudioError, internalError } from "../../errors.ts";
import {
  type CallHandle,
  type CallHandleEnd,
  type RequestEnd,
  requestEndSchema,
  type SaveOptions,
} from "../../ledger/rules/call-handle.ts";
import { fromStoredError, toStoredError } from "../../ledger/stored-error.ts";
import type { Call } from "../call.ts";
import type { GenerationDeps } from "../deps.ts";
import type { Jobs } from "../job/jobs.ts";
import { describePhase } from "../job/phase.ts";
import type { RequestView } from "../task-view.ts";
import type { IdentifiedRequest } from "../use-cases/find-record.ts";
import { runRequest } from "../use-cases/generate.ts";
import {
  CallHandleEndedError,
  CallHandleNotNeededError,
  CallHandleRun,
  type CallHandleWithRecord,
  hasFailedAttempt,
} from "./call-handle-run.ts";
import {
  type CallHandleOperations,
  type CallHandleOrView,
  type CallHandleStatus,
  callHandleStatus,
  type WorkingStatus,
} from "./call-handle-status.ts";
import { buildFinishedView } from "./finished-view.ts";

const CANCELLED = "Cancelled before anything was sent: nothing was charged. The same call begins a new task.";

interface Running {
  readonly run: CallHandleRun;
  /**
   * The call handle and its record as they were when the work started. Kept in memory, because the record may be
   * deleted from the ledger during the work.
   */
  readonly opened: CallHandleWithRecord;
}

export class CallHandles implements CallHandleOperations<RequestView> {
  readonly #deps: GenerationDeps;
  readonly #jobs: Jobs;
  /**
   * The requests that this process runs in the background, by the id of their call handle. An entry is removed when its
   * request ends.
   */
  readonly #running = new Map<string, Running>();
  #isClosed = false;

  constructor(deps: GenerationDeps, jobs: Jobs) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /**
   * Starts a request in the background.
   *
   * @param call the client's call. If the request needs no call handle, this call waits for the result
   * @returns the status of the call handle, once the ledger has stored the call handle. If the request needs no call
   *   handle, returns the view of the result
   * @throws AudioError for refusals before the job starts
   */
  async start(
    identified: IdentifiedRequest,
    saveOptions: SaveOptions,
    call: Call,
  ): Promise<CallHandleOrView<RequestView>> {
    call.signal.throwIfAborted();
    const opening = Promise.withResolvers<CallHandleWithRecord>();
    const run = new CallHandleRun(this.#deps, null, saveOptions, (opened) => {
      opening.resolve(opened);
      const { handleId } = opened.handle;
      if (this.#running.has(handleId)) throw new CallHandleEndedError("an earlier call works for the handle");
      this.#running.set(handleId, { run, opened });
    });
    const cancel = (): void => run.abort();
    call.signal.addEventListener("abort", cancel, { once: true });
    const view = runRequest(this.#deps, this.#jobs, identified, saveOptions, run.call());
    view.catch(() => undefined);
    try {
      const first = await Promise.race([opening.promise, view]);
      if (!("record" in first)) return { view: first };
      this.#storeOutcomeWhenEnded(first.handle, run, view);
      return { working: this.#working(first) };
    } catch (error) {
      call.signal.throwIfAborted();
      if (!(error instanceof CallHandleNotNeededError)) throw error;
      return { view: await runRequest(this.#deps, this.#jobs, identified, saveOptions, call) };
    } finally {
      call.signal.removeEventListener("abort", cancel);
    }
  }

  async resumeAndGetStatus(handle: CallHandle): Promise<CallHandleStatus<RequestView> | null> {
    const running = this.#running.get(handle.handleId);
    // Another process may have cancelled the call handle.
    if (handle.end?.kind === "cancelled") running?.run.abort();
    const record = (await this.#deps.ledger.get(handle.targetId)) ?? running?.opened.record;
    if (record === undefined) return null;
    const opened = { handle, record };
    if (handle.end !== null) return await this.#ended(opened, handle.end);
    if (running !== undefined) return this.#working(opened);
    // Report `working` even after a failed attempt, because the job of this process may be about to repeat the request
    // free of charge.
    const isDrivenHere = this.#jobs.findRunning(record.recordId) !== undefined;
    if (isDrivenHere) return hasFailedAttempt(opened) ? this.#working(opened) : this.#resume(opened);
    // The process that holds the record's lease works for the call handle. If no process holds the lease, this process
    // resumes the work.
    const acquired = await this.#deps.ledger.acquireLease(record);
    const openHandle = { handle, record: acquired.record };
    return acquired.isOurs && !this.#running.has(handle.handleId)
      ? this.#resume(openHandle)
      : this.#working(openHandle);
  }

  async cancel(knownHandle: CallHandle): Promise<void> {
    const { ledger, clock } = this.#deps;
    const { handleId, end } = await ledger.store.callHandles.cancel(knownHandle, clock.wallMs());
    if (end?.kind === "cancelled") this.#running.get(handleId)?.run.abort();
  }

  /** Stops storing how requests end. Called at the shutdown, when requests end only because the process stops. */
  close(): void {
    this.#isClosed = true;
  }

  #resume(opened: CallHandleWithRecord): WorkingStatus {
    const { handle, record } = opened;
    const { input, originalPrompt, take } = record;
    if (input === null || take === null) throw new Error("a handle of a request that is not known");
    const { fileName } = handle.saveOptions;
    const run = new CallHandleRun(this.#deps, handle, handle.saveOptions, () => undefined);
    this.#running.set(handle.handleId, { run, opened });
    const identified: IdentifiedRequest = { input, originalPrompt, take, fileName, isListed: true };
    this.#storeOutcomeWhenEnded(
      handle,
      run,
      runRequest(this.#deps, this.#jobs, identified, handle.saveOptions, run.call()),
    );
    return this.#working(opened);
  }

  /**
   * Stores the outcome of the request. If the outcome cannot be stored, the work resumes when the client next asks for
   * the status of the call handle.
   */
  #storeOutcomeWhenEnded(
    { handleId, targetId }: CallHandle,
    run: CallHandleRun,
    view: Promise<RequestView>,
  ): void {
    const { ledger, log } = this.#deps;
    view
      .then(
        ({ audio }) => this.#write(handleId, run, audio === null ? null : { kind: "done" }),
        (thrown: unknown) => this.#write(handleId, run, this.#endOfError(thrown, run)),
      )
      .finally(async () => {
        if (this.#running.get(handleId)?.run === run) this.#running.delete(handleId);
        const isUndriven = !this.#isClosed && this.#jobs.findRunning(targetId) === undefined;
        if (isUndriven) await ledger.store.releaseLease(targetId);
      })
      .catch((cause: unknown) => log.warn("the end of a task could not be written yet", cause));
  }

  /** Returns the outcome to store for an error; `null` for an error that says nothing about the request. */
  #endOfError(thrown: unknown, run: CallHandleRun): RequestEnd | null {
    if (run.signal.aborted || thrown instanceof CallHandleEndedError) return null;
    if (!(thrown instanceof AudioError)) this.#deps.log.error("a task failed unexpectedly", thrown);
    const error = thrown instanceof AudioError ? thrown : internalError(thrown);
    // These codes mean that the store is unavailable or the process is stopping.
    const isTransient = error.code === "store_unavailable" || error.code === "timeout";
    return isTransient ? null : { kind: "error", error: toStoredError(error) };
  }

  async #write(handleId: string, run: CallHandleRun, end: RequestEnd | null): Promise<void> {
    const { ledger, clock } = this.#deps;
    const running = this.#running.get(handleId);
    if (end === null || running?.run !== run || this.#isClosed) return;
    const { opened } = running;
    const record = end.kind === "error" ? await ledger.get(opened.record.recordId) : null;
    // Do not store an error while another process holds the lease. That process may still repeat the request, and then
    // stores how the request ends.
    if (record !== null && !(await ledger.acquireLease(record)).isOurs) return;
    await ledger.store.callHandles.end(opened.handle, end, clock.wallMs());
  }

  async #ended(
    { handle, record }: CallHandleWithRecord,
    stored: CallHandleEnd,
  ): Promise<CallHandleStatus<RequestView>> {
    const end = requestEndSchema.parse(stored);
    switch (end.kind) {
      case "done": {
        const view = await buildFinishedView(this.#deps, this.#jobs, record, handle.saveOptions);
        return callHandleStatus(handle, { kind: "done", view });
      }
      case "cancelled":
        return callHandleStatus(handle, { kind: "cancelled", message: CANCELLED });
      case "error":
        return callHandleStatus(handle, { kind: "error", error: fromStoredError(end.error) });
    }
  }

  /** Describes a running call handle by the sentence that a waiting call shows as progress. */
  #working({ handle, record }: CallHandleWithRecord): WorkingStatus {
    const job = this.#jobs.findRunning(record.recordId);
    const kind = this.#running.has(handle.handleId) ? "starting" : "following";
    const message = describePhase(job?.phase ?? { kind }, job?.record ?? record, this.#deps.clock);
    const { sentAtMs, acceptedAtMs, polledAtMs, finishedAtMs } = record;
    const heardAtMs = Math.max(sentAtMs ?? 0, acceptedAtMs ?? 0, polledAtMs ?? 0, finishedAtMs ?? 0);
    return callHandleStatus(handle, { kind: "working", message }, heardAtMs);
  }
}
