/** Answers requests of the tasks extension. This module is loaded on the first request. */
import { ProtocolError, ProtocolErrorCode, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { McpTask } from "../../ledger/rules/mcp-task.ts";
import type { McpTaskOperations, McpTaskStatus } from "../../requests/mcp-tasks/mcp-task-status.ts";
import { renderNarration } from "../../tools/narrate.ts";
import { renderTask } from "../../tools/task-output.ts";
import type { ToolResult } from "../../tools/tool.ts";
import type { Client } from "../client.ts";
import { findRemedy, renderErrorResult, toAudioError } from "../error-result.ts";
import { detectClientTraits, type ServerDeps, toCallResult } from "../run-tool.ts";
import { buildMcpTaskDetails } from "./mcp-task-result.ts";
import { requireMcpTasks } from "./tasks-capability.ts";
import type { McpTaskMethod } from "./tasks-extension.ts";

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
  deps: ServerDeps,
  context: ServerContext,
  client: Client = {},
): Promise<Record<string, unknown>> {
  requireMcpTasks(context);
  const parsed = namingTask.safeParse(params);
  if (!parsed.success) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "taskId must be a string.");
  try {
    deps.toolDeps.assertConfigured();
    const { taskId } = parsed.data;
    if (!mcpTaskFormat.safeParse(taskId).success) return throwUnknown();
    const { findMcpTask, mcpTaskOperations } = await (await deps.toolDeps.requests()).loadMcpTaskOperations();
    const mcpTask = (await findMcpTask(taskId)) ?? throwUnknown();
    const taskRequest = { method, mcpTask, deps, context, client };
    if (mcpTask.kind === "narration") {
      return await answer(taskRequest, (await deps.toolDeps.narrations()).mcpTaskOperations, renderNarration);
    }
    // A client may request the result of an MCP task twice. So that both texts are the same, every result asks the
    // assistant to tell the user the file's path, and not only the first result of the process.
    return await answer(taskRequest, mcpTaskOperations, (view) =>
      renderTask(view, { takeFirstSuccess: () => true }),
    );
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const error = toAudioError(thrown, params, []);
    deps.log.info(`${method} answered ${error.code}`);
    const text = deps.redact(`${error.code}: ${error.message} What to do: ${findRemedy(error)}`);
    throw new ProtocolError(ProtocolErrorCode.InternalError, text, { code: error.code });
  }
}

interface McpTaskRequest {
  readonly method: McpTaskMethod;
  readonly mcpTask: McpTask;
  readonly deps: ServerDeps;
  readonly context: ServerContext;
  readonly client: Client;
}

async function answer<View>(
  { method, mcpTask, deps, context, client }: McpTaskRequest,
  operations: McpTaskOperations<View>,
  render: (view: View) => ToolResult,
): Promise<Record<string, unknown>> {
  if (method === "tasks/cancel") {
    await operations.cancel(mcpTask);
    return {};
  }
  const status: McpTaskStatus<View> = (await operations.resumeAndGetStatus(mcpTask)) ?? throwUnknown();
  // Tasks of this server never ask for input, so updates are ignored.
  if (method === "tasks/update") return {};
  return await buildMcpTaskDetails(status, deps.redact, async () => {
    if (status.kind === "error") return renderErrorResult(status.error, deps.redact);
    if (status.kind === "done")
      return await toCallResult(render(status.view), detectClientTraits(deps, context, client));
    throw new Error("a task that has not ended has no result");
  });
}

function throwUnknown(): never {
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "No task of this API key has that taskId. list_tasks shows what the ledger holds; repeating the call that made it does not pay twice.",
  );
}
