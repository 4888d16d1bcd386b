/** Finds and runs the called tool. This module is loaded on the first call, together with the schemas of all tools. */
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { TOOLS } from "../tools/catalog.ts";
import type { Client } from "./client.ts";
import { runTool, type ServerDeps } from "./run-tool.ts";

/**
 * Runs the called tool.
 *
 * @throws ProtocolError for an unknown tool, listing the known ones
 */
export async function callTool(
  params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  deps: ServerDeps,
  context: ServerContext,
  client?: Client,
): Promise<CallToolResult | InputRequiredResult> {
  const tool = TOOLS.find(({ name }) => name === params.name);
  if (tool === undefined) {
    const toolNames = TOOLS.map(({ name }) => name).join(", ");
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool. The tools of this server are ${toolNames}.`,
    );
  }
  return await runTool(tool, params.arguments ?? {}, deps, context, client);
}
