/** The ledger is damaged or cannot be written: this is reported, and nothing is sent. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorOf, taskOf, textOf } from "../support/workplace.ts";
import { closeBenchesAfterEach, openBench } from "./bench.ts";

closeBenchesAfterEach();

describe("a ledger that cannot be used", () => {
  it.each([
    ["is not a database", "this is not a database at all, but long enough to look at\n".repeat(100)],
    ["was emptied", ""],
  ])("because it %s is reported, nothing is sent, and the file is not changed", async (_what, content) => {
    const bench = await openBench();
    const file = join(bench.workplace.stateDir, "ledger.sqlite");
    await mkdir(bench.workplace.stateDir, { recursive: true });
    await writeFile(file, content);
    for (const [tool, args] of [
      ["generate_audio", { prompt: "No ledger" }],
      ["list_tasks", {}],
      ["get_task", { task_id: "x" }],
    ] as const) {
      const outcome = await bench.server.call(tool, args);
      expect(errorOf(outcome)).toMatchObject({ code: "store_unavailable" });
      expect(textOf(outcome)).toContain(file);
      expect(textOf(outcome)).toMatch(/damaged[\s\S]*(backup|move it)/);
    }
    expect(await readFile(file, "utf8")).toBe(content);
    expect(bench.service.exchanges).toEqual([]);
    expect((await bench.server.call("list_voices", {})).isError).not.toBe(true);
  });

  it("because pages of it were overwritten is never read as empty", async () => {
    const bench = await openBench();
    taskOf(await bench.server.call("generate_audio", { prompt: "Before the damage" }));
    await bench.server.end();
    const file = join(bench.workplace.stateDir, "ledger.sqlite");
    const bytes = await readFile(file);
    bytes.fill(0x5a, 100);
    await writeFile(file, bytes);
    const before = bench.service.exchanges.length;
    const later = await bench.another();
    const outcome = await later.call("generate_audio", { prompt: "Before the damage" });
    expect(errorOf(outcome)).toMatchObject({ code: "store_unavailable" });
    expect(bench.service.exchanges.length).toBe(before);
  });

  it("because its folder is a file is reported, and nothing is sent", async () => {
    const bench = await openBench();
    await mkdir(bench.workplace.outputDir);
    const file = join(bench.workplace.outputDir, "file");
    await writeFile(file, "x");
    const server = await bench.another({ AUDIO_STATE_DIR: join(file, "state") });
    const outcome = await server.call("generate_audio", { prompt: "No folder" });
    expect(errorOf(outcome)).toMatchObject({ code: "store_unavailable" });
    expect(textOf(outcome)).toMatch(/AUDIO_STATE_DIR/);
    expect(bench.service.exchanges).toEqual([]);
  });
});
