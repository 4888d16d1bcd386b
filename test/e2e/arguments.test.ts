/** Arguments through the real protocol: values on both sides of each bound, and the errors for invalid values. */
import { expect, it } from "vitest";
import { openClientAll, openFoldersAll, openServiceAll } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";

const service = openServiceAll({ audioBytes: 600 });
const testFolders = openFoldersAll();
const client = openClientAll(() => startToolClient(testFolders.env(service, { AUDIO_TIME_SCALE: "0.001" })));

const url = (length: number): string => `https://example.com/${"a".repeat(length - 20)}`;

const ACCEPTED: Array<[string, Record<string, unknown>]> = [
  ["2,048 emoji", { prompt: "🎧".repeat(2048) }],
  ["2,048 characters with outer white space", { prompt: ` ${"x".repeat(2046)}\n` }],
  ...[8000, 16000, 24000, 32000, 44100, 48000].map((sample_rate): [string, Record<string, unknown>] => [
    `${sample_rate} Hz`,
    { prompt: "s", sample_rate },
  ]),
  ["lowest speed, volume, pitch", { prompt: "l", speed: 0.5, volume: 0.5, pitch: -12 }],
  ["highest speed, volume, pitch", { prompt: "h", speed: 2, volume: 2, pitch: 12 }],
  ["take 999", { prompt: "t", take: 999 }],
];

const REFUSED: Array<[string, Record<string, unknown>, RegExp]> = [
  ["no prompt", {}, /prompt is required/],
  ["white space only", { prompt: " \n\t　" }, /prompt must contain more than white space/],
  ["half of a surrogate pair", { prompt: "a\ud83c" }, /prompt must be well-formed/],
  ["a number as prompt", { prompt: 7 }, /prompt must be a string \(got 7\)/],
  [
    "three references with a voice",
    { prompt: "x", voice: "kian_en_zh", audio_references: [url(30), url(31), url(32)] },
    /audio_references must contain at most 2/,
  ],
  ["an image with a voice", { prompt: "x", image_url: url(30), voice: "kian_en_zh" }, /voice must be absent/],
  ["an unknown rate", { prompt: "x", sample_rate: 22050 }, /sample_rate must be one of 8000.*got 22050/],
  ["speed in words", { prompt: "x", speed: "one" }, /speed must be a number from 0.5 to 2 \(got "one"\)/],
  ["pitch too low", { prompt: "x", pitch: -13 }, /pitch must be a whole number from -12 to 12/],
  ["multilingual as text", { prompt: "x", multilingual: "yes" }, /multilingual must be true or false/],
  ["take 0", { prompt: "x", take: 0 }, /take must be a whole number from 1 to 999/],
  [
    "a voice that is nearly one",
    { prompt: "x", voice: "sofia" },
    /voice must be the id or the name of a voice; nearest: sophie_en_zh \(got "sofia"\)/,
  ],
  ["null for what is required", { prompt: null }, /prompt must be a string \(got null\)/],
  ["a long wait", { prompt: "x", wait_seconds: 3601 }, /wait_seconds must be a number from 0 to 3600/],
  [
    "an unknown argument",
    { prompt: "x", tempo: 2 },
    /unknown argument "tempo"; the known ones are prompt, voice/,
  ],
  ["a path as file name", { prompt: "x", file_name: "../x" }, /invalid_file_name/],
];

it.each(ACCEPTED)("arguments of generate_audio accepts %s", async (_name, args) => {
  const before = service.count("create");
  const task = await generate(client, args);
  expect(task.status).toBe("succeeded");
  expect(service.count("create")).toBe(before + 1);
  const sent: unknown = JSON.parse(service.exchanges.findLast(({ kind }) => kind === "create")?.body ?? "");
  expect(sent).toMatchObject({ prompt: String(args["prompt"]).trim() });
});

it.each(REFUSED)(
  "arguments of generate_audio refuses %s, naming field and rule, and sends nothing",
  async (_name, args, words) => {
    const before = service.exchanges.length;
    const outcome = await client.call("generate_audio", args);
    const facts = errorOf(outcome);
    expect(["invalid_request", "invalid_file_name"]).toContain(facts.code);
    expect(facts).toMatchObject({ http_status: null, retryable: false });
    expect(resultTextOf(outcome)).toMatch(words);
    expect(resultTextOf(outcome)).toMatch(/\nWhat to do: /);
    expect(service.exchanges.length).toBe(before);
  },
);

it.each([
  ["get_task", {}, /task_id is required/],
  ["get_task", { task_id: "../x" }, /task_id must be an id/],
  ["get_task", { task_id: "x", verbose: true }, /the known ones are task_id, wait_seconds/],
  ["download_audio", { task_id: "x", deliver: "mail" }, /deliver must be one of path, inline, both/],
  ["list_voices", { language: "fr" }, /language must be one of en, zh, ja, es, id, pt/],
  ["list_tasks", { limit: 0 }, /limit must be a whole number from 1 to 100/],
  ["list_tasks", { status: "anyhow" }, /status must be one of/],
])("arguments of the other tools %s refuses %j", async (name, args, words) => {
  const outcome = await client.call(name, args);
  expect(errorOf(outcome)).toMatchObject({ code: "invalid_request", http_status: null });
  expect(resultTextOf(outcome)).toMatch(words);
});

it("an unknown tool is a protocol error that names the known ones", async () => {
  await expect(client.call("make_audio", {})).rejects.toThrow(/generate_audio, get_task/);
});

it.each([
  ["Gemini CLI's own argument", { wait_for_previous: true }],
  ["null for what may be left out, as OpenAI's strict mode", { voice: null, take: null, speed: null }],
  ["the one model that there is", { model: "audio-1.0" }],
])("what clients add or leave open takes %s as the same request", async (_what, more) => {
  const plain = await generate(client, { prompt: "Taken as it is meant" });
  const outcome = await generate(client, { prompt: "Taken as it is meant", ...more });
  expect(outcome).toMatchObject({ task_id: plain.task_id, replayed: true });
});
