/** Starts the server in a terminal, as a person might by mistake, and checks what the server prints. */
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { renderCommandHelp } from "../../src/commands/command-line.ts";
import { COMMANDS } from "../../src/commands/command-table.ts";
import { ProgressLine } from "../../src/commands/progress-line.ts";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { createTestFolders } from "../support/test-folders.ts";

it("says that it waits for a client, and ends at Ctrl-C", async () => {
  const testFolders = await createTestFolders();
  const command = `exec '${NODE}' '${BIN}'`;
  const terminal = spawn("script", ["-qec", command, "/dev/null"], { env: testFolders.env(null) });
  let shown = "";
  let isInterrupted = false;
  terminal.stdout.on("data", (bytes) => {
    shown += String(bytes);
    if (isInterrupted || !shown.includes("Ctrl-C ends it.")) return;
    isInterrupted = true;
    terminal.stdin.write("\x03");
  });
  const code = await new Promise((resolve) => terminal.on("exit", resolve));
  expect({ shown, code }).toMatchObject({
    shown: expect.stringMatching(/MCP server.*client's configuration/s),
    code: 0,
  });
  await testFolders.remove();
});

describe("progress", () => {
  const WAITS =
    "Part 2 of 14 saved; 30 credits. The service is unavailable (9 s so far); trying again in about 5 s.";

  function shown(screen: { readonly isTTY: boolean; readonly columns?: number }, terminal = "xterm"): string {
    let written = "";
    const line = new ProgressLine({ ...screen, write: (text) => (written += text) }, terminal);
    line.show("Part 1 of 14 saved; 10 credits; about 3 min left");
    line.show(WAITS);
    line.show(WAITS.replace("9 s", "14 s"));
    line.end();
    return written;
  }

  it("breaks at the width of a terminal of 40 columns, and overwrites all its lines", () => {
    const [first = "", ...others] = shown({ isTTY: true, columns: 40 }).split("\r\x1b[J").slice(1);
    for (const each of [first, ...others])
      for (const row of each.replaceAll(/\x1b\[\dA/g, "").split("\n")) expect(row.length).toBeLessThan(40);
    expect(others).toHaveLength(2);
    expect(others[0]).toMatch(/^Part 2 of 14 .*\ntrying again in about 5 s\.\x1b\[2A$/s);
  });

  it("has a bar where there is room for one", () => {
    expect(shown({ isTTY: true, columns: 90 })).toContain("[##......................] Part 1 of 14 saved");
    // A terminal that does not know its width.
    expect(shown({ isTTY: true, columns: 0 })).toContain("Part 1 of 14 saved");
  });

  it.each([
    ["that is no terminal", { isTTY: false }, "xterm"],
    ["that cannot move its cursor", { isTTY: true }, "dumb"],
  ])("is a line for each change but that of a time, on an output %s", (_what, screen, terminal) => {
    const lines = shown(screen, terminal).split("\n");
    expect(lines).toEqual(["Part 1 of 14 saved; 10 credits; about 3 min left", WAITS, ""]);
  });
});

it("progress elsewhere is told once a minute, so that a log shows that it goes on", () => {
  let [written, nowMs] = ["", 0];
  const line = new ProgressLine({ write: (text) => (written += text) }, "xterm", { steadyMs: () => nowMs });
  for (; nowMs <= 150_000; nowMs += 1000) line.show(`It is tried again (${nowMs / 1000} s so far).`);
  expect(written.match(/\(\d+ s/g)).toEqual(["(0 s", "(60 s", "(120 s"]);
});

it("help fits a terminal of 40 columns", () => {
  const [command] = COMMANDS;
  if (command === undefined) throw new Error("no command");
  for (const line of renderCommandHelp(command, 40).split("\n").slice(1))
    expect(line.length).toBeLessThanOrEqual(40);
});
