/** Lists: complete rows as text and as structured content, search by words, and the user's notes about voices. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { runCommand } from "../support/run-command.ts";
import { startBinClient, startToolClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const open: ToolClient[] = [];

async function start(env: Record<string, string> = {}, connect = startToolClient): Promise<ToolClient> {
  const client = await connect(testFolders.env(service, { ...FAST, ...env }));
  open.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

const listing = z.object({ tasks: z.array(z.record(z.string(), z.unknown())), message: z.string() });

it("a row of list_tasks has status, local time, credits, length, voice, text and path in the text form and in fields", async () => {
  // The time zone is that of a process.
  const client = await start({ TZ: "Asia/Kolkata" }, startBinClient);
  const createdTask = await generate(client, { prompt: "A row of everything", voice: "felix_zh", take: 2 });
  const outcome = await client.call("list_tasks", {});
  const text = resultTextOf(outcome);
  expect(text).toMatch(
    /^1 request, newest first\. Spent: [^\n]*\ntask-\w+: succeeded, \d{4}-\d\d-\d\d \d\d:\d\d, 10 credits, 4 s, voice: felix_zh, take 2\. "A row of everything" \//,
  );
  expect(text).toContain(createdTask.audio?.path);
  const [row] = listing.parse(outcome.structuredContent).tasks;
  expect(row).toMatchObject({
    task_id: createdTask.task_id,
    credits: 10,
    audio_seconds: 4,
    voice: "felix_zh",
    take: 2,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30$/),
    audio_path: createdTask.audio?.path,
  });
  expect(text).toContain(String(row?.["created_at"]).slice(0, 16).replace("T", " "));
  await rm(createdTask.audio?.path ?? "");
  expect(resultTextOf(await client.call("list_tasks", {}))).toContain(
    `(file gone: ${createdTask.audio?.path}) Next: Call download_audio with task_id ${createdTask.task_id} (free).`,
  );
});

it("a row of list_tasks is found by words of its whole text and by its file's name", async () => {
  const client = await start();
  const long = `${"A long beginning that fills the excerpt and more than that. ".repeat(3)}Then a Zebra.`;
  await client.call("generate_audio", { prompt: long });
  await client.call("generate_audio", { prompt: "Something else", file_name: "bridge" });
  const count = async (query: string): Promise<unknown> =>
    (await client.call("list_tasks", { query })).structuredContent?.["count"];
  expect(await count("zebra beginning")).toBe(1);
  expect(await count("bridge.mp3")).toBe(1);
  // Nothing has both words, so what has one of them is found.
  expect(await count("zebra bridge")).toBe(2);
  expect(await count("walrus")).toBe(0);
  expect(await count("  ")).toBe(2);
});

describe("AUDIO_VOICE_NOTES", () => {
  const write = async (content: string): Promise<string> => {
    const path = join(testFolders.root, "voices.json");
    await writeFile(path, content);
    return path;
  };

  it("adds the user's notes to the voices in both forms, and makes them searchable", async () => {
    const path = await write('{ "sophie_en_zh": "warm, calm\\nfor audiobooks", "sofia": "nobody" }');
    const client = await start({ AUDIO_VOICE_NOTES: path });
    const outcome = await client.call("list_voices", { query: "audiobooks" });
    expect(outcome.structuredContent).toMatchObject({
      count: 1,
      voices: [{ id: "sophie_en_zh", note: "warm, calm for audiobooks" }],
    });
    expect(resultTextOf(outcome)).toContain("sophie_en_zh: warm, calm for audiobooks");
  });

  it("with unknown ids is ignored for those, and doctor reports them", async () => {
    const path = await write('{ "sofia": "nobody" }');
    const env = testFolders.env(service, { ...FAST, AUDIO_VOICE_NOTES: path });
    const { code, stdout } = await runCommand(["doctor"], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/AUDIO_VOICE_NOTES has ids that are not voices: sofia/);
  });

  it.each([
    ["is not JSON", "sophie: warm", /is not JSON such as/],
    ["holds something else", '["sophie"]', /is not JSON such as/],
    ["is far too large", `{"a":"${"x".repeat(70_000)}"}`, /is larger than 64 KiB/],
  ])("that %s is a configuration error, and list_voices works", async (_what, content, words) => {
    const client = await start({ AUDIO_VOICE_NOTES: await write(content) });
    const outcome = await client.call("generate_audio", { prompt: "x" });
    expect(errorOf(outcome).code).toBe("configuration_error");
    expect(resultTextOf(outcome)).toMatch(words);
    expect((await client.call("list_voices", {})).structuredContent).toMatchObject({
      count: VOICE_IDS.length,
    });
  });

  it("with a missing file or a relative path is a configuration error", async () => {
    for (const [path, words] of [
      [join(testFolders.root, "none.json"), /cannot be read \(ENOENT\)/],
      ["notes.json", /is not an absolute path/],
      [testFolders.root, /is not a file/],
    ] as const) {
      const client = await start({ AUDIO_VOICE_NOTES: path });
      expect(resultTextOf(await client.call("list_tasks", {}))).toMatch(words);
    }
  });
});
