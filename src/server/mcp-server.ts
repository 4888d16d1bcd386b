/** Owns the registration of everything that MCP sees; knows no tool by name and composes nothing. */
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { TOOLS } from "../tools/catalog.ts";
import { VERSION } from "../version.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { RESOURCE_TEMPLATES, readResource } from "./resources.ts";
import { runTool, type ServerDeps } from "./run-tool.ts";
import { toolList } from "./tool-list.ts";

/**
 * One server instance, for either protocol era. The low-level `Server` is used because arguments are parsed, and
 * every error rendered, in one place of our own (`run-tool.ts`).
 */
export function createMcpServer(deps: ServerDeps): Server {
  const server = new Server(
    { name: "audio-generation-mcp", title: "Audio generation", version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: toolList() }));
  server.setRequestHandler("tools/call", (request, context) => {
    const { name, arguments: args = {} } = request.params;
    const tool = TOOLS.find((candidate) => candidate.name === name);
    if (tool === undefined) {
      const known = TOOLS.map((candidate) => candidate.name).join(", ");
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `Unknown tool. The tools of this server are ${known}.`,
      );
    }
    return runTool(tool, args, deps, context);
  });
  server.setRequestHandler("resources/list", () => ({ resources: [] }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: RESOURCE_TEMPLATES }));
  server.setRequestHandler("resources/read", (request) => readResource(request.params.uri, deps));
  return server;
}
