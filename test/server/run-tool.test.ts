/** `runTool` catches each error of a tool: whether the caller or the program is at fault, and what is answered. */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createLog } from "../../src/log.ts";
import { runTool, type ServerDeps } from "../../src/server/run-tool.ts";
import { defineTool, type Tool } from "../../src/tools/tool.ts";

const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Returns a tool with one argument and the given handler. */
const createTool = (act: () => void): Tool =>
  defineTool({
    name: "a_tool",
    title: "A tool",
    description: "For this test.",
    annotations: hints,
    input: z.strictObject({ limit: z.int("must be a whole number").optional() }),
    output: z.strictObject({}),
    run: async () => {
      act();
      return { structured: {}, text: "" };
    },
  });

async function call(
  tool: Tool,
  args: Record<string, unknown>,
): Promise<{ text: string; code: unknown; log: string }> {
  let log = "";
  const deps: ServerDeps = {
    toolDeps: {
      assertConfigured: () => undefined,
      requests: () => Promise.reject(new Error("not asked for")),
      openExistingRequests: async () => null,
      narrations: () => Promise.reject(new Error("not asked for")),
      readInput: () => Promise.reject(new Error("not asked for")),
      takeFirstSuccess: () => true,
      defaultVoice: null,
      pronunciations: [],
      voiceNotes: new Map(),
      defaultWaitSeconds: 45,
    },
    stopping: new AbortController().signal,
    openLocalRequests: () => Promise.resolve(null),
    instructions: "",
    ledger: () => Promise.reject(new Error("not asked for")),
    takeNextResultNote: () => null,
    resourceLinks: "auto",
    redact: (text) => text,
    containsSecret: () => false,
    log: createLog(
      "debug",
      (text) => text,
      (line) => {
        log += line;
      },
    ),
  };
  // `runTool` reads only these members of a context.
  const context: Pick<ServerContext, never> & { mcpReq: { signal: AbortSignal } } = {
    mcpReq: { signal: new AbortController().signal },
  };
  const answer = await runTool(tool, args, deps, context as ServerContext);
  const result: CallToolResult = z
    .custom<CallToolResult>((value) => "content" in Object(value))
    .parse(answer);
  const [block] = result.content;
  const meta = z.looseObject({ code: z.string() }).parse(result._meta?.["audio-generation-mcp/error"]);
  return { text: block?.type === "text" ? block.text : "", code: meta.code, log };
}

describe("a ZodError", () => {
  const stored = z.object({ voice: z.string("is required") });
  const failing = createTool(() => void stored.parse({}));

  it("from inside, such as from a ledger record, is never the caller's fault", async () => {
    const { text, code, log } = await call(failing, {});
    expect(code).toBe("unexpected_response");
    expect(text).toBe(
      "unexpected_response: Something unexpected went wrong inside this server.\nWhat to do: Repeat the same call: it does not pay twice. If it happens again, tell the user that this server has a fault; its log on standard error names it.",
    );
    expect(log).toContain("voice");
  });
});

it("an unexpected error is reported without its message, and logged with it", async () => {
  const broken = createTool(() => {
    throw new TypeError("undefined is not a function");
  });
  const { text, code, log } = await call(broken, {});
  expect(code).toBe("unexpected_response");
  expect(text).not.toContain("undefined is not a function");
  expect(log).toContain("undefined is not a function");
});
