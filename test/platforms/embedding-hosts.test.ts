/**
 * A host, such as Electron's utility processes, whose stdin does not keep the process alive, and whose arguments
 * contain the path of the entry.
 */
import { copyFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { BIN } from "../support/bin-under-test.ts";
import { scratchFolder } from "../support/scratch.ts";
import { generate } from "../support/tool-result.ts";
import { runBin } from "./run-bin.ts";

closeAfterEach();

const HOST = join(import.meta.dirname, "odd-host.ts");

it("a host that does not reference stdin is served while it sends nothing, and the server ends with 0 when the host exits", async () => {
  const setup = await openFaultSetup();
  const server = await setup.another({}, { nodeArgs: [HOST] });
  const ended = server.exited.then(() => "ended");
  const quiet = new Promise((resolve) => setTimeout(() => resolve("lives"), 700));
  expect(await Promise.race([ended, quiet])).toBe("lives");
  expect((await generate(server, { prompt: "Unreferenced" })).status).toBe("succeeded");
  expect(await server.end()).toMatchObject({ code: 0, signal: null });
});

it("the entry's own path among the arguments is skipped, even through a link, and a command after it is run", async () => {
  const link = join(scratchFolder(), "audio-generation-mcp");
  symlinkSync(BIN, link);
  for (const path of [BIN, link, `file://${BIN}`]) {
    expect(await runBin([path, "--version"], {})).toMatchObject({ status: 0, stderr: "" });
  }
});

it("the entry's own path among the arguments is the only such argument: another file is not a command", async () => {
  const copy = join(scratchFolder(), "main.js");
  copyFileSync(BIN, copy);
  for (const path of [copy, "./no-such-file.js"]) {
    const { status, stderr } = await runBin([path], {});
    expect(status).toBe(2);
    expect(stderr).toContain("is not a command");
  }
});
