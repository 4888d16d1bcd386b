/**
 * Starts requests in the background for MCP tasks. Reports and cancels MCP tasks, even those that another process
 * started. The protocol is in server/mcp-tasks/, narrations in narration/narration-mcp-tasks.ts, the rules in
 * ledger/rules/mcp-task.ts.
 */
import { AudioError, internalError } from "../../errors.ts";
import {
  type McpTask,
  type McpTaskEnd,
  type RequestEnd,
  requestEndSchema,
} from "../../ledger/rules/mcp-task.ts";
import type { SaveOptions } from "../../ledger/rules/save-options.ts";
import { fromStoredError, toStoredError } from "../../ledger/stored-error.ts";
import type { Call } from "../call.ts";
import type { RequestDeps } from "../deps.ts";
import type { JobRunner } from "../job/job-runner.ts";
import { describePhase } from "../job/phase.ts";
import type { RequestView } from "../records/request-view.ts";
import type { PreparedRequest } from "../records/resolve-record.ts";
import { runRequest } from "../use-cases/generate.ts";
import {
  BackgroundRequest,
  hasFailedAttempt,
  McpTaskNeedsNoWorkError,
  McpTaskNotNeededError,
  type McpTaskWithRecord,
} from "./background-request.ts";
import { fetchFinishedView } from "./finished-view.ts";
import {
  buildMcpTaskStatus,
  type McpTaskOperations,
  type McpTaskStatus,
  type StatusOrView,
  type WorkingStatus,
} from "./mcp-task-status.ts";

const CANCELLED_MESSAGE =
  "Cancelled before anything was sent: nothing was charged. The same call begins a new task.";

interface RunningMcpTask {
  readonly backgroundRequest: BackgroundRequest;
  /**
   * The MCP task and its record as they were when the work started. Kept in memory, because the record may be
   * deleted from the ledger during the work.
   */
  readonly opened: McpTaskWithRecord;
}

/**
 * Runs requests in the background for MCP tasks. Reports and cancels the MCP tasks of requests, even those that other
 * processes opened. If no process works for an open MCP task, reporting its status resumes the work in this process.
 */
export class McpTasks implements McpTaskOperations<RequestView> {
  readonly #deps: RequestDeps;
  readonly #jobs: JobRunner;
  /**
   * The requests that this process runs in the background, by the id of their MCP task. An entry is removed when its
   * request ends.
   */
  readonly #running = new Map<string, RunningMcpTask>();
  #isClosed = false;

  constructor(deps: RequestDeps, jobs: JobRunner) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /**
   * Starts a request in the background.
   *
   * @param call the client's call. If the request needs no MCP task, this call waits for the result
   * @returns the status of the MCP task, once the ledger has stored the MCP task. If the request needs no
   *   MCP task, returns the view of the result
   * @throws AudioError for refusals before the job starts
   */
  async start(
    prepared: PreparedRequest,
    saveOptions: SaveOptions,
    call: Call,
  ): Promise<StatusOrView<RequestView>> {
    call.signal.throwIfAborted();
    const opening = Promise.withResolvers<McpTaskWithRecord>();
    const backgroundRequest = new BackgroundRequest(this.#deps, null, saveOptions, (opened) => {
      opening.resolve(opened);
      const { mcpTaskId } = opened.mcpTask;
      if (this.#running.has(mcpTaskId))
        throw new McpTaskNeedsNoWorkError("an earlier call works for the MCP task");
      this.#running.set(mcpTaskId, { backgroundRequest, opened });
    });
    const cancel = (): void => backgroundRequest.abort();
    call.signal.addEventListener("abort", cancel, { once: true });
    const view = runRequest(this.#deps, this.#jobs, prepared, saveOptions, backgroundRequest.call());
    view.catch(() => undefined);
    try {
      const mcpTaskOrView = await Promise.race([opening.promise, view]);
      if (!("record" in mcpTaskOrView)) return { view: mcpTaskOrView };
      this.#storeOutcomeWhenEnded(mcpTaskOrView.mcpTask, backgroundRequest, view);
      return { working: this.#buildWorkingStatus(mcpTaskOrView) };
    } catch (error) {
      call.signal.throwIfAborted();
      if (!(error instanceof McpTaskNotNeededError)) throw error;
      return { view: await runRequest(this.#deps, this.#jobs, prepared, saveOptions, call) };
    } finally {
      call.signal.removeEventListener("abort", cancel);
    }
  }

  async resumeAndGetStatus(mcpTask: McpTask): Promise<McpTaskStatus<RequestView> | null> {
    const running = this.#running.get(mcpTask.mcpTaskId);
    // If another process has cancelled the MCP task, stop the work of this process.
    if (mcpTask.end?.kind === "cancelled") running?.backgroundRequest.abort();
    const record = (await this.#deps.ledger.get(mcpTask.targetId)) ?? running?.opened.record;
    if (record === undefined) return null;
    const opened = { mcpTask, record };
    if (mcpTask.end !== null) return await this.#buildEndedStatus(opened, mcpTask.end);
    if (running !== undefined) return this.#buildWorkingStatus(opened);
    // Report `working` even after a failed attempt, because the job of this process may be about to start a new attempt
    // after a refunded failure.
    const isDrivenHere = this.#jobs.findRunning(record.recordId) !== undefined;
    if (isDrivenHere)
      return hasFailedAttempt(opened) ? this.#buildWorkingStatus(opened) : this.#resume(opened);
    // The process that holds the record's lease works for the MCP task. If no process holds the lease, this process
    // resumes the work.
    const acquired = await this.#deps.ledger.acquireLease(record);
    const openMcpTask = { mcpTask, record: acquired.record };
    return acquired.isOurs && !this.#running.has(mcpTask.mcpTaskId)
      ? this.#resume(openMcpTask)
      : this.#buildWorkingStatus(openMcpTask);
  }

  async cancel(knownMcpTask: McpTask): Promise<void> {
    const { ledger, clock } = this.#deps;
    const { mcpTaskId, end } = await ledger.store.mcpTasks.cancel(knownMcpTask, clock.wallMs());
    if (end?.kind === "cancelled") this.#running.get(mcpTaskId)?.backgroundRequest.abort();
  }

  /**
   * Stops storing outcomes. Call this at shutdown, because a request that ends during the shutdown was only
   * interrupted.
   */
  close(): void {
    this.#isClosed = true;
  }

  #resume(opened: McpTaskWithRecord): WorkingStatus {
    const { mcpTask, record } = opened;
    const { input, originalPrompt, take } = record;
    if (input === null || take === null) throw new Error("an MCP task of a request that is not known");
    const { fileName } = mcpTask.saveOptions;
    const backgroundRequest = new BackgroundRequest(
      this.#deps,
      mcpTask,
      mcpTask.saveOptions,
      () => undefined,
    );
    this.#running.set(mcpTask.mcpTaskId, { backgroundRequest, opened });
    const prepared: PreparedRequest = { input, originalPrompt, take, fileName, isListed: true };
    this.#storeOutcomeWhenEnded(
      mcpTask,
      backgroundRequest,
      runRequest(this.#deps, this.#jobs, prepared, mcpTask.saveOptions, backgroundRequest.call()),
    );
    return this.#buildWorkingStatus(opened);
  }

  /**
   * Stores the outcome of the request. If the outcome cannot be stored, the work resumes when the client next asks for
   * the status of the MCP task.
   */
  #storeOutcomeWhenEnded(
    { mcpTaskId, targetId }: McpTask,
    backgroundRequest: BackgroundRequest,
    view: Promise<RequestView>,
  ): void {
    const { ledger, log } = this.#deps;
    view
      .then(
        ({ audio }) => this.#write(mcpTaskId, backgroundRequest, audio === null ? null : { kind: "done" }),
        (thrown: unknown) =>
          this.#write(mcpTaskId, backgroundRequest, this.#toRequestEnd(thrown, backgroundRequest)),
      )
      .finally(async () => {
        if (this.#running.get(mcpTaskId)?.backgroundRequest === backgroundRequest)
          this.#running.delete(mcpTaskId);
        const hasNoJob = !this.#isClosed && this.#jobs.findRunning(targetId) === undefined;
        if (hasNoJob) await ledger.store.releaseLease(targetId);
      })
      .catch((cause: unknown) => log.warn("the end of a task could not be written yet", cause));
  }

  /** Returns the outcome to store for an error; `null` for an error that says nothing about the request. */
  #toRequestEnd(thrown: unknown, backgroundRequest: BackgroundRequest): RequestEnd | null {
    if (backgroundRequest.signal.aborted || thrown instanceof McpTaskNeedsNoWorkError) return null;
    if (!(thrown instanceof AudioError)) this.#deps.log.error("a task failed unexpectedly", thrown);
    const error = thrown instanceof AudioError ? thrown : internalError(thrown);
    // These codes mean that the store is unavailable or the process is stopping.
    const isTransient = error.code === "store_unavailable" || error.code === "timeout";
    return isTransient ? null : { kind: "error", error: toStoredError(error) };
  }

  async #write(
    mcpTaskId: string,
    backgroundRequest: BackgroundRequest,
    end: RequestEnd | null,
  ): Promise<void> {
    const { ledger, clock } = this.#deps;
    const running = this.#running.get(mcpTaskId);
    if (end === null || running?.backgroundRequest !== backgroundRequest || this.#isClosed) return;
    const { opened } = running;
    const record = end.kind === "error" ? await ledger.get(opened.record.recordId) : null;
    // Do not store an error while another process holds the lease. The other process may still repeat the request, and
    // stores the outcome itself.
    if (record !== null && !(await ledger.acquireLease(record)).isOurs) return;
    await ledger.store.mcpTasks.end(opened.mcpTask, end, clock.wallMs());
  }

  async #buildEndedStatus(
    { mcpTask, record }: McpTaskWithRecord,
    stored: McpTaskEnd,
  ): Promise<McpTaskStatus<RequestView>> {
    const end = requestEndSchema.parse(stored);
    switch (end.kind) {
      case "done": {
        const view = await fetchFinishedView(this.#deps, this.#jobs, record, mcpTask.saveOptions);
        return buildMcpTaskStatus(mcpTask, { kind: "done", view });
      }
      case "cancelled":
        return buildMcpTaskStatus(mcpTask, { kind: "cancelled", message: CANCELLED_MESSAGE });
      case "error":
        return buildMcpTaskStatus(mcpTask, { kind: "error", error: fromStoredError(end.error) });
    }
  }

  /** Describes a running MCP task by the sentence that a waiting call shows as progress. */
  #buildWorkingStatus({ mcpTask, record }: McpTaskWithRecord): WorkingStatus {
    const job = this.#jobs.findRunning(record.recordId);
    const kind = this.#running.has(mcpTask.mcpTaskId) ? "starting" : "following";
    const message = describePhase(job?.phase ?? { kind }, job?.record ?? record, this.#deps.clock);
    const { sentAtMs, acceptedAtMs, polledAtMs, finishedAtMs } = record;
    const heardAtMs = Math.max(sentAtMs ?? 0, acceptedAtMs ?? 0, polledAtMs ?? 0, finishedAtMs ?? 0);
    return buildMcpTaskStatus(mcpTask, { kind: "working", message }, heardAtMs);
  }
}
