/**
 * Answers calls as MCP tasks. An MCP task is a stored row, the plain call without an end of its wait, and the call's
 * stored result. If the process of a call ends, the next process that is asked for the MCP task runs the call again.
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import { isCancelledByCaller } from "../../call-cancellation.ts";
import type { Clock } from "../../clock.ts";
import {
  cancelHandle,
  completeHandle,
  discardHandle,
  findHandle,
  isHandleAbandoned,
  isHandleOpen,
  openHandle,
  takeOverHandle,
  writeHandleMessage,
} from "../../ledger/handle-rows.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { HandleRow } from "../../ledger/schema.ts";
import type { Answer, CallRunner } from "../client.ts";
import type { ServerDeps } from "../run-tool.ts";

/** A call that ends within this time after its first progress message, such as a repeated one, gets a plain result. */
const AT_ONCE_MS = 150;
/** The same for a call that reports no progress: it looks something up, or checks a file. */
const SILENT_MS = 5000;
/** The least time between two writes of a call's message, because each write waits for the disk. */
const MESSAGE_PAUSE_MS = 1000;
/**
 * How long a call rests that has come back before its end, as when the ledger is away. Another process may just be
 * cancelling it.
 */
const RESUME_PAUSE_MS = 3000;

/** A call that this process waits for. */
interface RunningCall {
  readonly ledger: Ledger;
  readonly id: string;
  readonly runner: CallRunner;
  readonly abort: AbortController;
  readonly firstReport: PromiseWithResolvers<void>;
  readonly answered: PromiseWithResolvers<Answer>;
  /** The newest message. It may not be stored yet. */
  message: string;
  isWritingMessages: boolean;
  /** Whether a client knows the MCP task, so that its result must be stored. */
  isHandedOut: boolean;
  /** The answer, until it is stored. */
  answer: Answer | null;
}

type FindRunner = (tool: string) => CallRunner;

const cancelledReason = (): Error => new Error("the MCP task was cancelled");

/** The calls of one client that this process answers as MCP tasks. Any process can report and cancel them. */
export class McpTasks {
  readonly #deps: ServerDeps;
  readonly #calls = new Map<string, RunningCall>();

  constructor(deps: ServerDeps) {
    this.#deps = deps;
  }

  /**
   * Runs a call, and returns its answer if it has nothing to wait for, otherwise the MCP task.
   *
   * @param args the arguments with which any process can run the call
   * @param signal aborts when the client cancels the call
   * @throws AudioError `store_unavailable`; nothing was sent then
   */
  async start(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    runner: CallRunner,
    signal: AbortSignal,
  ): Promise<Answer> {
    const ledger = await this.#deps.ledger();
    const { row, isNew } = await openHandle(ledger, tool, JSON.stringify(args));
    if (!isNew) await this.#resumeIfAbandoned(ledger, row, runner);
    const call = isNew ? this.#run(ledger, row, runner) : this.#calls.get(row.id);
    const early = call === undefined ? null : await waitBriefly(call, signal, ledger.clock);
    const isPlain = early?.work === "none" && !signal.aborted;
    if (isPlain && isNew && (await discardHandle(ledger, row).catch(() => false))) this.#calls.delete(row.id);
    else if (call !== undefined) {
      call.isHandedOut = true;
      await this.#storeAnswer(call);
    }
    if (isNew && signal.aborted && isCancelledByCaller(signal.reason))
      await this.#cancel(ledger, row, runner);
    signal.throwIfAborted();
    if (isPlain) return early;
    const message = call?.message ?? row.message;
    return { result: buildMcpTaskResult({ ...row, message }), work: "goes_on" };
  }

  /**
   * Finds an MCP task of this API key. If no process waits for its call, runs the call in this process.
   *
   * @throws AudioError `store_unavailable`; the MCP task is unaffected
   */
  async get(id: string, findRunner: FindRunner): Promise<HandleRow | null> {
    const ledger = await this.#deps.ledger();
    const running = this.#calls.get(id);
    if (running !== undefined) await this.#storeAnswer(running);
    const row = await findHandle(ledger, id);
    if (row === undefined) return null;
    if (row.status === "cancelled") running?.abort.abort(cancelledReason());
    if (!isHandleOpen(row)) return row;
    const runner = findRunner(row.tool);
    const ended = this.#calls.has(id) ? null : await this.#finishCancellation(ledger, row, runner);
    if (ended !== null) return ended;
    await this.#resumeIfAbandoned(ledger, row, runner);
    return { ...row, message: this.#calls.get(id)?.message ?? row.message };
  }

  /**
   * Cancels an MCP task of this API key, unless it has ended or the service may have its request.
   *
   * @returns false if there is no such MCP task
   * @throws AudioError `store_unavailable`
   */
  async cancel(id: string, findRunner: FindRunner): Promise<boolean> {
    const ledger = await this.#deps.ledger();
    const row = await findHandle(ledger, id);
    if (row !== undefined && isHandleOpen(row)) await this.#cancel(ledger, row, findRunner(row.tool));
    return row !== undefined;
  }

  async #cancel(ledger: Ledger, row: HandleRow, runner: CallRunner): Promise<void> {
    const message = await runner.cancel(row);
    if (message === null) return;
    await cancelHandle(ledger, row.id, this.#deps.redact(message));
    this.#calls.get(row.id)?.abort.abort(cancelledReason());
  }

  /** Ends a call that was cancelled too late, if the service has not made its request. Returns the ended call. */
  async #finishCancellation(ledger: Ledger, row: HandleRow, runner: CallRunner): Promise<HandleRow | null> {
    if (row.status !== "cancelling") return null;
    await this.#cancel(ledger, row, runner);
    const ended = await findHandle(ledger, row.id);
    return ended === undefined || isHandleOpen(ended) ? null : ended;
  }

  async #resumeIfAbandoned(ledger: Ledger, row: HandleRow, runner: CallRunner): Promise<void> {
    if (this.#calls.has(row.id)) return;
    const isOwn = row.process === ledger.identity.processId;
    if (!isOwn && !(await isHandleAbandoned(ledger, row))) return;
    if (!(await takeOverHandle(ledger, row)) || this.#calls.has(row.id)) return;
    this.#run(ledger, row, runner).isHandedOut = true;
  }

  #run(ledger: Ledger, row: HandleRow, runner: CallRunner): RunningCall {
    const call: RunningCall = {
      ledger,
      id: row.id,
      runner,
      abort: new AbortController(),
      firstReport: Promise.withResolvers(),
      answered: Promise.withResolvers(),
      message: row.message,
      isWritingMessages: false,
      isHandedOut: false,
      answer: null,
    };
    this.#calls.set(row.id, call);
    const { signal } = call.abort;
    const onProgress = (message: string): void => {
      call.message = this.#deps.redact(message);
      call.firstReport.resolve();
      void this.#writeMessages(call);
    };
    const handle = { id: row.id, openedAtMs: row.created_at_ms };
    const target = row.target ?? undefined;
    void runner
      .run(JSON.parse(row.args), { signal, onProgress, handle, target })
      .then((answer) => this.#end(call, answer));
    return call;
  }

  async #end(call: RunningCall, answer: Answer): Promise<void> {
    call.answered.resolve(answer);
    const { ledger, id, runner } = call;
    const { signal } = call.abort;
    if (answer.work === "goes_on" || signal.aborted) {
      const row = signal.aborted ? undefined : await findHandle(ledger, id).catch(() => undefined);
      if (row !== undefined) await this.#finishCancellation(ledger, row, runner).catch(() => null);
      if (!signal.aborted) await ledger.clock.sleep(RESUME_PAUSE_MS);
      this.#calls.delete(id);
      return;
    }
    call.answer = answer;
    await this.#storeAnswer(call);
  }

  /**
   * Stores the answer of a call that a client knows as an MCP task, if there is one yet. If that fails, the next request
   * for the MCP task tries again.
   */
  async #storeAnswer(call: RunningCall): Promise<void> {
    if (call.answer === null || !call.isHandedOut) return;
    try {
      await completeHandle(call.ledger, call.id, JSON.stringify(call.answer.result));
      this.#calls.delete(call.id);
    } catch (cause) {
      this.#deps.log.warn("the end of a task could not be written yet", cause);
    }
  }

  /** Stores the newest message of a call from time to time, until no newer one has come. */
  async #writeMessages(call: RunningCall): Promise<void> {
    const { ledger, id } = call;
    if (call.isWritingMessages) return;
    call.isWritingMessages = true;
    try {
      for (let written = ""; written !== call.message && call.answer === null; ) {
        written = call.message;
        const isOpen = await writeHandleMessage(ledger, id, written);
        // Only a cancellation ends the call. If another process waits for it too, both may do so.
        if (!isOpen && (await findHandle(ledger, id))?.status === "cancelled")
          call.abort.abort(cancelledReason());
        await ledger.clock.sleep(MESSAGE_PAUSE_MS);
      }
    } catch (cause) {
      this.#deps.log.debug(`the status of a task could not be written: ${String(cause)}`);
    } finally {
      call.isWritingMessages = false;
    }
  }
}

/** Waits as long as a call may still have nothing to wait for. Returns its answer; `null` if none came. */
function waitBriefly(
  { answered, firstReport }: RunningCall,
  signal: AbortSignal,
  clock: Pick<Clock, "sleep">,
): Promise<Answer | null> {
  const pause = (ms: number): Promise<null> =>
    clock.sleep(ms, signal).then(
      () => null,
      () => null,
    );
  return Promise.race([
    answered.promise,
    firstReport.promise.then(() => pause(AT_ONCE_MS)),
    pause(SILENT_MS),
  ]);
}

/**
 * The interval at which clients should ask for an MCP task's status. It is short, because the answer comes from the
 * ledger and not from the service.
 */
const POLL_INTERVAL_MS = 1000;

const formatIsoTime = (ms: number): string => new Date(ms).toISOString();

/** Builds the fields that every MCP task has. `ttlMs` is `null`, because no call's end depends on it. */
const buildMcpTaskFields = ({ id, created_at_ms, updated_at_ms }: HandleRow) => ({
  taskId: id,
  createdAt: formatIsoTime(created_at_ms),
  lastUpdatedAt: formatIsoTime(updated_at_ms),
  ttlMs: null,
  pollIntervalMs: POLL_INTERVAL_MS,
});

/** Builds the answer to a call that goes on. With the MCP task, the client can fetch the call's result later. */
const buildMcpTaskResult = (row: HandleRow): CallToolResult => ({
  resultType: "task",
  ...buildMcpTaskFields(row),
  status: "working",
  statusMessage: row.message,
  // Clients with the extension ignore `content`, which the SDK adds to every tool result.
  content: [],
});

const storedResult = z.record(z.string(), z.unknown());

/** Builds the answer to `tasks/get`, with the stored result of a call that has ended. */
export function buildMcpTaskDetails(row: HandleRow): Record<string, unknown> {
  const { status, message, result } = row;
  const fields = buildMcpTaskFields(row);
  if (isHandleOpen(row)) return { ...fields, status: "working", statusMessage: message };
  if (status === "cancelled") return { ...fields, status, statusMessage: message };
  const stored = storedResult.parse(JSON.parse(result ?? "{}"));
  return { ...fields, status, result: { resultType: "complete", ...stored } };
}
