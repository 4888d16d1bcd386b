/**
 * The MCP Inspector's command line, which supports MCP tasks in the modern era. It follows a call until its file is
 * saved.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { startService, useTestFolders } from "../processes/server-processes.ts";
import { FAST } from "../support/bin-under-test.ts";
import { GENERATE_WORDS, inspect } from "../support/inspector.ts";
import { taskOutput } from "../support/tool-result.ts";

it.each([
  ["modern", 1],
  ["legacy", 0],
] as const)("runs a generation to its file in the %s era, through %i task", async (era, mcpTaskCount) => {
  const service = await startService({ processingMs: 1500 });
  const testFolders = await useTestFolders();
  const words = ["--protocol-era", era, ...GENERATE_WORDS];
  const { status, stdout } = await inspect(testFolders.env(service, FAST), [], words);
  expect(status).toBe(0);
  const { structuredContent } = z.object({ structuredContent: taskOutput }).parse(JSON.parse(stdout));
  expect(structuredContent).toMatchObject({ status: "succeeded", replayed: false });
  expect(existsSync(structuredContent.audio?.path ?? "")).toBe(true);
  expect(service.count("create")).toBe(1);
  const ledger = new DatabaseSync(join(testFolders.stateDir, "ledger.sqlite"), { readOnly: true });
  const handles = ledger.prepare("SELECT status FROM agm_handle").all();
  ledger.close();
  expect(handles).toEqual(Array.from({ length: mcpTaskCount }, () => ({ status: "completed" })));
});
