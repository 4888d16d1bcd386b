/**
 * Registers all MCP handlers. Loads tools and resources only on demand, so that the handshake does not wait for
 * them.
 */
import { Server, type ServerContext, type ServerOptions } from "@modelcontextprotocol/server";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import registryEntry from "../../server.json" with { type: "json" };
import { VERSION } from "../version.ts";
import { type Client, ClientTimeout, readStatedClient } from "./client.ts";
import { MCP_TASK_METHODS, SKILLS_EXTENSION, SKILLS_METHODS, TASKS_EXTENSION } from "./extensions.ts";
import type { McpTasks } from "./mcp-tasks/mcp-tasks.ts";
import type { ServerDeps } from "./run-tool.ts";

const HOUR_MS = 3_600_000;
const PUBLIC_FOR_AN_HOUR = { ttlMs: HOUR_MS, cacheScope: "public" } as const;

/**
 * How long, and for whom, clients may cache the answers. Lists are the same for every user, so their scope is public.
 * The answer to `server/discover` names a folder of the user, so its scope is private.
 */
const CACHE_HINTS: NonNullable<ServerOptions["cacheHints"]> = {
  "tools/list": PUBLIC_FOR_AN_HOUR,
  "prompts/list": PUBLIC_FOR_AN_HOUR,
  "resources/templates/list": PUBLIC_FOR_AN_HOUR,
  "server/discover": { ttlMs: HOUR_MS, cacheScope: "private" },
};

/**
 * A schema that accepts any parameters, because the handlers check the parameters. `answerMcpTaskRequest` must check
 * the client's capabilities before the parameters. A stricter schema here would check the parameters first.
 */
const ANY_PARAMS = { params: z.looseObject({}) };

const [HOMEPAGE = ""] = manifest.homepage.split("#");

/** Facts about this server, which clients may show to a person. */
const SERVER_FACTS = {
  description: manifest.description,
  websiteUrl: HOMEPAGE,
  icons: registryEntry.icons,
};

/**
 * Creates a server for either protocol era. Uses the low-level `Server`, because tools parse their own
 * arguments (`tools/tool.ts`), and `run-tool.ts` renders their errors.
 */
export function createMcpServer(deps: ServerDeps, era: "legacy" | "modern"): Server {
  const isModern = era === "modern";
  const server = new Server(
    { name: "audio-generation-mcp", title: "Audio generation", version: VERSION, ...SERVER_FACTS },
    {
      capabilities: {
        tools: {},
        resources: {},
        prompts: {},
        completions: {},
        extensions: { [SKILLS_EXTENSION]: {}, ...(isModern ? { [TASKS_EXTENSION]: {} } : {}) },
      },
      instructions: deps.instructions,
      cacheHints: CACHE_HINTS,
    },
  );
  server.setRequestHandler("tools/list", async () => {
    const { buildToolList } = await import("./tool-list.ts");
    return { tools: buildToolList() };
  });
  const timeout = new ClientTimeout();
  let mcpTasks: Promise<McpTasks> | undefined;
  const loadMcpTasks = (): Promise<McpTasks> => {
    mcpTasks ??= import("./mcp-tasks/mcp-tasks.ts").then((module) => new module.McpTasks(deps));
    return mcpTasks;
  };
  const clientOf = (context: ServerContext): Client =>
    isModern
      ? {
          ...readStatedClient(context),
          timeout,
          isModern,
          startMcpTask: async (...call) => (await loadMcpTasks()).start(...call),
        }
      : {
          name: server.getClientVersion()?.name,
          capabilities: server.getClientCapabilities(),
          timeout,
        };
  server.setRequestHandler("tools/call", async (request, context) => {
    const { callTool } = await import("./run-tool.ts");
    return await callTool(request.params, deps, context, clientOf(context));
  });
  for (const method of isModern ? MCP_TASK_METHODS : []) {
    server.setRequestHandler(method, ANY_PARAMS, async (params, context) => {
      const { answerMcpTaskRequest } = await import("./mcp-tasks/answer-mcp-task-request.ts");
      return await answerMcpTaskRequest(
        method,
        params,
        await loadMcpTasks(),
        deps,
        context,
        clientOf(context),
      );
    });
  }
  for (const method of SKILLS_METHODS) {
    server.setRequestHandler(method, ANY_PARAMS, async (params) => {
      const { answerSkills } = await import("./skills.ts");
      return { ...answerSkills(method, params), ...(isModern ? PUBLIC_FOR_AN_HOUR : {}) };
    });
  }
  server.setRequestHandler("prompts/list", async () => {
    const { buildPromptList } = await import("./prompts.ts");
    return { prompts: buildPromptList() };
  });
  server.setRequestHandler("prompts/get", async ({ params }) => {
    const { getPrompt } = await import("./prompts.ts");
    return getPrompt(params.name, params.arguments);
  });
  server.setRequestHandler("completion/complete", async (request) => {
    const { complete } = await import("./completion.ts");
    return await complete(request.params, deps);
  });
  server.setRequestHandler("resources/list", async (_request, context) => {
    const { listResources } = await import("./resources.ts");
    return { resources: await listResources(deps, context.mcpReq.signal) };
  });
  server.setRequestHandler("resources/templates/list", async () => {
    const { RESOURCE_TEMPLATES } = await import("./resources.ts");
    return { resourceTemplates: RESOURCE_TEMPLATES };
  });
  server.setRequestHandler("resources/read", async (request, context) => {
    const { readResource } = await import("./resources.ts");
    return await readResource(request.params.uri, deps, context.mcpReq.signal);
  });
  return server;
}
