/** The MCP Inspector's command line with the built bin: tools, a generation with real speech, and an error. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { GENERATE_WORDS, inspect } from "../support/inspector.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { taskOutput } from "../support/tool-result.ts";

let testFolders: TestFolders;
beforeAll(async () => {
  testFolders = await createTestFolders();
  cachedTool("inspector");
});
afterAll(() => testFolders.remove());

const onSandbox = (...words: string[]) => inspect(testFolders.env(null), ["--sandbox"], words);

it("lists all tools, without errors or portability warnings about their schemas", async () => {
  const { status, stdout, stderr } = await onSandbox("--method", "tools/list", "--strict");
  expect(z.object({ tools: z.array(z.unknown()) }).parse(JSON.parse(stdout)).tools).toHaveLength(
    TOOLS.length,
  );
  // The Inspector prints nothing to stderr if there is no error and no warning.
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

it("runs a generation until its file is saved", async () => {
  const { status, stdout } = await onSandbox(...GENERATE_WORDS);
  expect(status).toBe(0);
  const { structuredContent } = z.object({ structuredContent: taskOutput }).parse(JSON.parse(stdout));
  expect(structuredContent.status).toBe("succeeded");
  expect(existsSync(structuredContent.audio?.path ?? "")).toBe(true);
});

it("exits with 5 when a tool answers with an error", async () => {
  const { status, stderr } = await onSandbox(
    "--method",
    "tools/call",
    "--tool-name",
    "get_task",
    "--tool-arg",
    "task_id=no",
  );
  expect(status).toBe(5);
  expect(stderr).toContain("tool_is_error");
});
