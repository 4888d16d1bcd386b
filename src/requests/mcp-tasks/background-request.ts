/**
 * Runs a request in the background for an MCP task. No caller waits for the request; its result is read through the
 * MCP task.
 */
import { randomUUID } from "node:crypto";
import type { RequestRecord } from "../../ledger/record.ts";
import type { McpTask } from "../../ledger/rules/mcp-task.ts";
import type { SaveOptions } from "../../ledger/rules/save-options.ts";
import type { Call, McpTaskPreparation } from "../call.ts";
import type { RequestDeps } from "../deps.ts";
import { taskFailedError } from "../records/task-failed-error.ts";

/**
 * Thrown if the request needs no MCP task. The call is then answered as for clients that do not support the tasks
 * extension.
 */
export class McpTaskNotNeededError extends Error {
  override readonly name = "McpTaskNotNeededError";
}

/**
 * Thrown if nothing is left to do for the MCP task, or if another {@link BackgroundRequest} of this process already
 * works for it.
 */
export class McpTaskNeedsNoWorkError extends Error {
  override readonly name = "McpTaskNeedsNoWorkError";
}

/** An MCP task and its record. */
export interface McpTaskWithRecord {
  readonly mcpTask: McpTask;
  readonly record: RequestRecord;
}

/**
 * The number of stages that the request may take, each limited by `recoveryTimeoutMs`. One attempt has three stages:
 * submit, watch and save. The new attempt after a refunded failure has three more.
 */
const MAX_STAGES = 6;

/** Whether the record's latest attempt was made for this MCP task and has failed. */
export const hasFailedAttempt = ({ record, mcpTask }: McpTaskWithRecord): boolean =>
  record.status === "failed" && record.attempt >= mcpTask.firstAttempt;

/**
 * One request that is made for an MCP task while no caller waits for it. The request runs with the call that
 * {@link BackgroundRequest.call} builds. {@link BackgroundRequest.abort} cancels that call.
 */
export class BackgroundRequest implements McpTaskPreparation {
  readonly isResumed: boolean;
  readonly #deps: RequestDeps;
  readonly #onOpened: (opened: McpTaskWithRecord) => void;
  readonly #saveOptions: SaveOptions;
  readonly #abort = new AbortController();
  #mcpTask: McpTask | null;

  /**
   * @param knownMcpTask the MCP task to resume; `null` to open one
   * @param onOpened called with the opened MCP task before the job of the request starts. `onOpened` must
   *   throw `McpTaskNeedsNoWorkError` if this process already works for that MCP task
   */
  constructor(
    deps: RequestDeps,
    knownMcpTask: McpTask | null,
    saveOptions: SaveOptions,
    onOpened: (opened: McpTaskWithRecord) => void,
  ) {
    this.#deps = deps;
    this.#mcpTask = knownMcpTask;
    this.#saveOptions = saveOptions;
    this.#onOpened = onOpened;
    this.isResumed = knownMcpTask !== null;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Stops the work for the MCP task, because the MCP task was cancelled. */
  abort(): void {
    this.#abort.abort(new McpTaskNeedsNoWorkError("the MCP task was cancelled"));
  }

  /** Builds the call that makes the request. */
  call(): Call {
    const waitMs = MAX_STAGES * this.#deps.timing.recoveryTimeoutMs;
    return { signal: this.signal, waitMs, onProgress: () => undefined, mcpTaskPreparation: this };
  }

  async prepare(draft: RequestRecord): Promise<RequestRecord> {
    if (this.#mcpTask === null) return await this.#open(draft);
    const mcpTask = await this.#deps.ledger.store.mcpTasks.find(this.#mcpTask.mcpTaskId);
    if (mcpTask === null || mcpTask.endedAtMs !== null)
      throw new McpTaskNeedsNoWorkError("the MCP task has ended");
    // After a failed attempt, only a new call may begin another attempt.
    if (hasFailedAttempt({ record: draft, mcpTask })) throw taskFailedError(draft);
    return draft;
  }

  async #open(draftRecord: RequestRecord): Promise<RequestRecord> {
    const { ledger, clock } = this.#deps;
    const isSavedSomewhere = draftRecord.status === "succeeded" && draftRecord.files.length > 0;
    if (isSavedSomewhere) throw new McpTaskNotNeededError("nothing has to be made");
    // Acquire the lease before opening the MCP task, so that no other process sends the request before the MCP task is
    // open.
    const { record } = await ledger.acquireLease(draftRecord);
    const { apiKeyId, recordId: targetId } = record;
    const draft = { mcpTaskId: randomUUID(), apiKeyId, targetId, openedAtMs: clock.wallMs() };
    this.#mcpTask = await ledger.store.mcpTasks.open(draft, this.#saveOptions);
    if (this.#mcpTask === null) throw new McpTaskNotNeededError("the ledger has lost the record");
    this.#onOpened({ mcpTask: this.#mcpTask, record });
    // Take the file name from this call, because this call sends the request.
    return { ...record, fileName: draftRecord.fileName, fileToReplace: draftRecord.fileToReplace };
  }
}
