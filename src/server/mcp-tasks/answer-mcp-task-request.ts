/** Answers requests of the tasks extension. This module is loaded on the first request. */
import { access } from "node:fs/promises";
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { HandleRow } from "../../ledger/schema.ts";
import { findTool } from "../../tools/catalog.ts";
import { type CallRunner, type Client, requireMcpTasks } from "../client.ts";
import { renderProtocolError, toAudioError } from "../error-result.ts";
import type { McpTaskMethod } from "../extensions.ts";
import { createCallRunner, type ServerDeps } from "../run-tool.ts";
import { buildMcpTaskDetails, type McpTasks } from "./mcp-tasks.ts";

const namingTask = z.looseObject({ taskId: z.string() });

const mcpTaskFormat = z.uuid();

/**
 * Answers one request of the tasks extension.
 *
 * @throws ProtocolError -32021 for a request that does not declare the extension, -32602 for an unknown MCP task,
 *   -32603 for other errors
 */
export async function answerMcpTaskRequest(
  method: McpTaskMethod,
  params: Readonly<Record<string, unknown>>,
  mcpTasks: McpTasks,
  deps: ServerDeps,
  context: ServerContext,
  client: Client,
): Promise<Record<string, unknown>> {
  requireMcpTasks(client);
  const parsed = namingTask.safeParse(params);
  if (!parsed.success) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "taskId must be a string.");
  const { taskId } = parsed.data;
  try {
    deps.toolDeps.assertConfigured();
    if (!mcpTaskFormat.safeParse(taskId).success) return throwUnknown();
    const findRunner = (name: string): CallRunner => {
      const tool = findTool(name);
      if (tool === undefined) throw new Error(`a stored call names the tool ${name}`);
      return createCallRunner(tool, deps, client);
    };
    if (method === "tasks/cancel") return (await mcpTasks.cancel(taskId, findRunner)) ? {} : throwUnknown();
    const row = (await mcpTasks.get(taskId, findRunner)) ?? throwUnknown();
    // MCP tasks of this server never ask for input, so updates are ignored.
    if (method === "tasks/update") return {};
    const now = await lookAgain(row, findRunner("get_task"), context);
    return buildMcpTaskDetails(now === null ? row : { ...row, result: JSON.stringify(now) });
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const error = toAudioError(thrown, params, []);
    deps.log.info(`${method} answered ${error.code}`);
    const text = deps.redact(renderProtocolError(error));
    throw new ProtocolError(ProtocolErrorCode.InternalError, text, { code: error.code });
  }
}

const savedTask = z.object({
  structuredContent: z.object({ task_id: z.string(), audio: z.object({ path: z.string() }) }),
});

/** Says how a task stands whose file was removed after its call had ended; `null` if the stored result is still true. */
async function lookAgain(
  { status, result }: HandleRow,
  getTask: CallRunner,
  { mcpReq: { signal } }: ServerContext,
): Promise<CallToolResult | null> {
  const stored = status === "completed" ? savedTask.safeParse(JSON.parse(result ?? "{}")) : undefined;
  if (stored?.data === undefined) return null;
  const { task_id, audio } = stored.data.structuredContent;
  const isThere = await access(audio.path).then(
    () => true,
    () => false,
  );
  if (isThere) return null;
  const call = { signal, onProgress: (): void => undefined };
  return (await getTask.run({ task_id, wait_seconds: 0 }, call)).result;
}

function throwUnknown(): never {
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "No task of this API key has that taskId. list_tasks shows what the ledger holds; repeating the call that made it does not pay twice.",
  );
}
