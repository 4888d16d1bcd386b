/** The MCP Inspector's command line against the built bin: its tools, a generation with real speech, and an error. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { BIN, createWorkplace, NODE, taskOutput, type Workplace } from "../support/workplace.ts";

let place: Workplace;
beforeAll(async () => {
  place = await createWorkplace();
  cachedTool("inspector");
});
afterAll(() => place.remove());

/** Runs the Inspector once: it starts the server, does one thing, and ends. */
function inspect(...words: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const server = [NODE, BIN, "--sandbox"];
  // The Inspector hands the server little of its own environment; what is in `-e` gets through.
  const env = Object.entries(place.env(null)).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const args = [cachedTool("inspector"), "--cli", ...server, ...env, ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: place.env(null) }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

it("lists all tools, whose schemas have no error and no warning of portability", async () => {
  const { status, stdout, stderr } = await inspect("--method", "tools/list", "--strict");
  expect(z.object({ tools: z.array(z.unknown()) }).parse(JSON.parse(stdout)).tools).toHaveLength(
    TOOLS.length,
  );
  // It says nothing when it has neither an error nor a warning.
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

it("runs a generation to its saved file", async () => {
  const call = [
    "--method",
    "tools/call",
    "--tool-name",
    "generate_audio",
    "--tool-arg",
    "prompt=Hello, inspector",
  ];
  const { status, stdout } = await inspect(...call);
  expect(status).toBe(0);
  const { structuredContent } = z.object({ structuredContent: taskOutput }).parse(JSON.parse(stdout));
  expect(structuredContent.status).toBe("succeeded");
  expect(existsSync(structuredContent.audio?.path ?? "")).toBe(true);
});

it("exits with 5 when a tool answers with an error", async () => {
  const { status, stderr } = await inspect(
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
