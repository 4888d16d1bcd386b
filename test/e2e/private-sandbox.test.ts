/** The built bin with `--sandbox`: what it says about the sandbox, and which settings apply. */
import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { NOT_LINUX, skipBecause } from "../support/skip-because.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startCommandClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf } from "../support/tool-result.ts";

const OTHER_ACCOUNT_ENV = {
  AUDIO_STORE_URL: "postgres://127.0.0.1:1",
  AUDIO_API_KEY: "sk-real",
  AUDIO_BASE_URL: "nonsense",
};

let open: Array<{ close(): Promise<void> }> = [];
let testFolders: TestFolders[] = [];
afterEach(async () => {
  await Promise.all(open.map((client) => client.close()));
  await Promise.all(testFolders.map((folders) => folders.remove()));
  open = [];
  testFolders = [];
});

async function start(env: Record<string, string> = {}, args = ["--sandbox"]): Promise<ToolClient> {
  const folders = await createTestFolders();
  testFolders.push(folders);
  const client = await startCommandClient({
    command: NODE,
    args: [BIN, ...args],
    env: folders.env(null, env),
  });
  open.push(client);
  return client;
}

it("the instructions say that no real credits are spent, and that the ledger is new", async () => {
  const client = await start();
  expect(client.instructions()).toMatch(/^SANDBOX: .*no real credits are spent.*ledger is new at each start/);
  expect(client.instructions()?.length).toBeLessThanOrEqual(1200);
  const real = await start(OTHER_ACCOUNT_ENV, []);
  expect(real.instructions()).not.toContain("SANDBOX");
});

it("only the first result says that no real credits are spent, in both forms", async () => {
  const client = await start(OTHER_ACCOUNT_ENV);
  // The result of list_voices never has the note, because it is the same for every service.
  expect(resultTextOf(await client.call("list_voices", { language: "pt" }))).not.toContain("--sandbox");
  const first = await client.call("generate_audio", { prompt: "Hello there." });
  expect(first.isError).not.toBe(true);
  const note = /runs on a sandbox of its own \(--sandbox\): no real credits are spent/;
  expect(resultTextOf(first)).toMatch(note);
  expect(first.structuredContent?.["message"]).toMatch(note);
  expect(resultTextOf(await client.call("generate_audio", { prompt: "Hello there." }))).not.toMatch(note);
});

it.each(["before the start", "while it runs"])(
  "speaks, and plans a long text, if its working folder was removed %s",
  skipBecause(NOT_LINUX),
  async (when) => {
    const folders = await createTestFolders();
    testFolders.push(folders);
    const gone = join(folders.root, "gone");
    await mkdir(gone);
    const text = "A long text is planned in a thread of its own. ".repeat(2500);
    await writeFile(join(folders.root, "long.txt"), text);
    const removal = when === "before the start" ? `rmdir "${gone}" && ` : "";
    const client = await startCommandClient({
      command: "/bin/sh",
      args: ["-c", `cd "${gone}" && ${removal}exec "${NODE}" "${BIN}" --sandbox`],
      env: folders.env(null, { AUDIO_INPUT_DIR: folders.root }),
    });
    open.push(client);
    if (removal === "") await rmdir(gone);
    expect(resultTextOf(await client.call("generate_audio", { prompt: "Hello." }))).toMatch(/^Saved /);
    expect(resultTextOf(await client.call("narrate", { file: "long.txt" }))).toContain("A plan of");
  },
);

it("a budget applies, and an invalid one is refused", async () => {
  const tight = await start({ AUDIO_CREDIT_BUDGET: "149" });
  expect(errorOf(await tight.call("generate_audio", { prompt: "Too dear" })).code).toBe("budget_exceeded");
  const wrong = await start({ AUDIO_CREDIT_BUDGET: "lots" });
  const refused = await wrong.call("generate_audio", { prompt: "Nothing" });
  expect(errorOf(refused).code).toBe("configuration_error");
  expect(resultTextOf(refused)).toContain("AUDIO_CREDIT_BUDGET");
});
