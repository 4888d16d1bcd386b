/** Finds the tool that a call names; loaded, with the tools' schemas, on the first call. */
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

/** @throws ProtocolError for a tool that does not exist, naming those that do */
export async function callTool(
  params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  deps: ServerDeps,
  context: ServerContext,
  client?: Client,
): Promise<CallToolResult | InputRequiredResult> {
  const tool = TOOLS.find(({ name }) => name === params.name);
  if (tool === undefined) {
    const known = TOOLS.map(({ name }) => name).join(", ");
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool. The tools of this server are ${known}.`,
    );
  }
  return await runTool(tool, params.arguments ?? {}, deps, context, client);
}
