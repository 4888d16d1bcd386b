/** Starts the server in a terminal, as a person might by mistake, and checks what the server prints. */
import { spawn } from "node:child_process";
import { expect, it } from "vitest";
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
