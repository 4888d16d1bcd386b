/** The MCP Inspector's command line, which speaks tasks in the modern era: a call to its file through a task. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { makeWorkplace, openPeek, startService } from "../processes/team.ts";
import { BIN, FAST, NODE, taskOutput } from "../support/workplace.ts";

it.each([
  ["modern", 1],
  ["legacy", 0],
] as const)("runs a generation to its file in the %s era, through %i task", async (era, tickets) => {
  const service = await startService({ processingMs: 1500 });
  const workplace = await makeWorkplace();
  const env = workplace.env(service, FAST);
  const given = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const call = [
    "--method",
    "tools/call",
    "--tool-name",
    "generate_audio",
    "--tool-arg",
    "prompt=Hello, inspector",
  ];
  const args = [cachedTool("inspector"), "--cli", NODE, BIN, ...given, "--protocol-era", era, ...call];
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    );
  });
  const { structuredContent } = z.object({ structuredContent: taskOutput }).parse(JSON.parse(stdout));
  expect(structuredContent).toMatchObject({ status: "succeeded", replayed: false });
  expect(existsSync(structuredContent.audio?.path ?? "")).toBe(true);
  expect(service.count("create")).toBe(1);
  const [record] = await (await openPeek(workplace, service)).records();
  expect(record?.tickets).toHaveLength(tickets);
  for (const { end } of record?.tickets ?? []) expect(end?.kind).toBe("done");
});
