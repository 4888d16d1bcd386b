/** The MCP Inspector's command line, which speaks tasks in the modern era: a call to its file through a task. */
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import { makeWorkplace, openPeek, startService } from "../processes/team.ts";
import { GENERATE_WORDS, inspect } from "../support/inspector.ts";
import { FAST, taskOutput } from "../support/workplace.ts";

it.each([
  ["modern", 1],
  ["legacy", 0],
] as const)("runs a generation to its file in the %s era, through %i task", async (era, tickets) => {
  const service = await startService({ processingMs: 1500 });
  const workplace = await makeWorkplace();
  const words = ["--protocol-era", era, ...GENERATE_WORDS];
  const { status, stdout } = await inspect(workplace.env(service, FAST), [], words);
  expect(status).toBe(0);
  const { structuredContent } = z.object({ structuredContent: taskOutput }).parse(JSON.parse(stdout));
  expect(structuredContent).toMatchObject({ status: "succeeded", replayed: false });
  expect(existsSync(structuredContent.audio?.path ?? "")).toBe(true);
  expect(service.count("create")).toBe(1);
  const [record] = await (await openPeek(workplace, service)).records();
  expect(record?.tickets).toHaveLength(tickets);
  for (const { end } of record?.tickets ?? []) expect(end?.kind).toBe("done");
});
