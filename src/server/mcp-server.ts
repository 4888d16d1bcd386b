/** Registers everything that MCP sees. Tools and resources are loaded only when they are asked for: the handshake must not wait for them. */
import { Server } from "@modelcontextprotocol/server";
import { VERSION } from "../version.ts";
import type { ServerDeps } from "./run-tool.ts";
import { toolList } from "./tool-list.ts";

/**
 * One server instance, for either protocol era. The low-level `Server` is used because arguments are parsed, and
 * every error rendered, in one place of our own (`run-tool.ts`).
 */
export function createMcpServer(deps: ServerDeps): Server {
  const server = new Server(
    { name: "audio-generation-mcp", title: "Audio generation", version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: deps.instructions },
  );
  server.setRequestHandler("tools/list", () => ({ tools: toolList() }));
  server.setRequestHandler("tools/call", async (request, context) => {
    const { callTool } = await import("./call-tool.ts");
    return await callTool(request.params, deps, context, server.getClientVersion()?.name);
  });
  server.setRequestHandler("resources/list", () => ({ resources: [] }));
  server.setRequestHandler("resources/templates/list", async () => {
    const { RESOURCE_TEMPLATES } = await import("./resources.ts");
    return { resourceTemplates: RESOURCE_TEMPLATES };
  });
  server.setRequestHandler("resources/read", async (request) => {
    const { readResource } = await import("./resources.ts");
    return await readResource(request.params.uri, deps);
  });
  return server;
}
