/** The ledger is damaged or cannot be written: this is reported, and nothing is sent. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";
import { closeAfterEach, openFaultSetup } from "./fault-setup.ts";

closeAfterEach();

describe("a ledger that cannot be used", () => {
  it.each([
    ["is not a database", "this is not a database at all, but long enough to look at\n".repeat(100)],
    ["was emptied", ""],
  ])("because it %s is reported, nothing is sent, and the file is not changed", async (_what, content) => {
    const setup = await openFaultSetup();
    const file = join(setup.testFolders.stateDir, "ledger.sqlite");
    await mkdir(setup.testFolders.stateDir, { recursive: true });
    await writeFile(file, content);
    for (const [tool, args] of [
      ["generate_audio", { prompt: "No ledger" }],
      ["list_tasks", {}],
      ["get_task", { task_id: "x" }],
    ] as const) {
      const outcome = await setup.server.call(tool, args);
      expect(errorOf(outcome)).toMatchObject({ code: "store_unavailable" });
      expect(resultTextOf(outcome)).toContain(file);
      expect(resultTextOf(outcome)).toMatch(/damaged[\s\S]*(backup|move it)/);
    }
    expect(await readFile(file, "utf8")).toBe(content);
    expect(setup.service.exchanges).toEqual([]);
    expect((await setup.server.call("list_voices", {})).isError).not.toBe(true);
  });

  it("because pages of it were overwritten is never read as empty", async () => {
    const setup = await openFaultSetup();
    await generate(setup.server, { prompt: "Before the damage" });
    await setup.server.end();
    const file = join(setup.testFolders.stateDir, "ledger.sqlite");
    const bytes = await readFile(file);
    bytes.fill(0x5a, 100);
    await writeFile(file, bytes);
    const before = setup.service.exchanges.length;
    const later = await setup.another();
    const outcome = await later.call("generate_audio", { prompt: "Before the damage" });
    expect(errorOf(outcome)).toMatchObject({ code: "store_unavailable" });
    expect(setup.service.exchanges.length).toBe(before);
  });

  it("because its folder is a file is reported, and nothing is sent", async () => {
    const setup = await openFaultSetup();
    await mkdir(setup.testFolders.outputDir);
    const file = join(setup.testFolders.outputDir, "file");
    await writeFile(file, "x");
    const server = await setup.another({ AUDIO_STATE_DIR: join(file, "state") });
    const outcome = await server.call("generate_audio", { prompt: "No folder" });
    expect(errorOf(outcome)).toMatchObject({ code: "store_unavailable" });
    expect(resultTextOf(outcome)).toMatch(/AUDIO_STATE_DIR/);
    expect(setup.service.exchanges).toEqual([]);
  });
});
