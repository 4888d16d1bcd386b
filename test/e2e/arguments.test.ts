/** Arguments through the real protocol: values on both sides of each bound, and the errors for invalid values. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { FakeService } from "../support/fake-service.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf, taskOf } from "../support/tool-result.ts";

let service: FakeService;
let testFolders: TestFolders;
let client: ToolClient;

beforeAll(async () => {
  service = await FakeService.start({ audioBytes: 600 });
  testFolders = await createTestFolders();
  client = await startToolClient(testFolders.env(service, { AUDIO_TIME_SCALE: "0.001" }));
});
afterAll(async () => {
  await client.close();
  await service.stop();
  await testFolders.remove();
});

const url = (length: number): string => `https://example.com/${"a".repeat(length - 20)}`;

const ACCEPTED: Array<[string, Record<string, unknown>]> = [
  ["one character", { prompt: "x" }],
  ["2,048 emoji", { prompt: "🎧".repeat(2048) }],
  ["2,048 characters with outer white space", { prompt: ` ${"x".repeat(2046)}\n` }],
  ...VOICE_IDS.map((voice): [string, Record<string, unknown>] => [`voice ${voice}`, { prompt: "v", voice }]),
  ["three references", { prompt: "r", audio_references: [url(30), url(31), url(32)] }],
  ["two references with a voice", { prompt: "r", voice: "kian_en_zh", audio_references: [url(30), url(31)] }],
  ["a reference of 2,048 characters", { prompt: "r", audio_references: [url(2048)] }],
  ["an image", { prompt: "i", image_url: url(2048) }],
  ...["mp3", "wav", "pcm", "ogg_opus"].map((output_format): [string, Record<string, unknown>] => [
    output_format,
    { prompt: "f", output_format },
  ]),
  ...[8000, 16000, 24000, 32000, 44100, 48000].map((sample_rate): [string, Record<string, unknown>] => [
    `${sample_rate} Hz`,
    { prompt: "s", sample_rate },
  ]),
  ["lowest speed, volume, pitch", { prompt: "l", speed: 0.5, volume: 0.5, pitch: -12 }],
  ["highest speed, volume, pitch", { prompt: "h", speed: 2, volume: 2, pitch: 12 }],
  ["multilingual", { prompt: "m", multilingual: true }],
  ["take 999", { prompt: "t", take: 999 }],
];

const REFUSED: Array<[string, Record<string, unknown>, RegExp]> = [
  ["no prompt", {}, /prompt is required/],
  ["an empty prompt", { prompt: "" }, /prompt must contain more than white space/],
  ["white space only", { prompt: " \n\t　" }, /prompt must contain more than white space/],
  [
    "2,049 emoji",
    { prompt: "🎧".repeat(2049) },
    /prompt must be at most 2048 characters \(this one has 2049\)/,
  ],
  ["half of a surrogate pair", { prompt: "a\ud83c" }, /prompt must be well-formed/],
  ["a number as prompt", { prompt: 7 }, /prompt must be a string \(got 7\)/],
  [
    "another model",
    { prompt: "x", model: "audio-2.0" },
    /model must be one of audio-1.0 \(got "audio-2.0"\)/,
  ],
  [
    "an unknown voice",
    { prompt: "x", voice: "bob" },
    new RegExp(`voice must be one of ${VOICE_IDS.join(", ")} \\(got "bob"\\)`),
  ],
  [
    "four references",
    { prompt: "x", audio_references: [url(30), url(31), url(32), url(33)] },
    /at most 3 URLs/,
  ],
  [
    "three references with a voice",
    { prompt: "x", voice: "kian_en_zh", audio_references: [url(30), url(31), url(32)] },
    /audio_references must contain at most 2/,
  ],
  [
    "a long reference",
    { prompt: "x", audio_references: [url(2049)] },
    /audio_references\[0\] must be at most 2048/,
  ],
  ["an http reference", { prompt: "x", audio_references: ["http://example.com/a"] }, /must start with https/],
  ["an image with a voice", { prompt: "x", image_url: url(30), voice: "kian_en_zh" }, /voice must be absent/],
  [
    "an image with references",
    { prompt: "x", image_url: url(30), audio_references: [url(30)] },
    /audio_references must be empty/,
  ],
  ["a long image URL", { prompt: "x", image_url: url(2049) }, /image_url must be at most 2048/],
  ["an unknown format", { prompt: "x", output_format: "flac" }, /output_format must be one of mp3, wav/],
  ["an unknown rate", { prompt: "x", sample_rate: 22050 }, /sample_rate must be one of 8000.*got 22050/],
  ["speed too low", { prompt: "x", speed: 0.49 }, /speed must be a number from 0.5 to 2 \(got 0.49\)/],
  ["speed too high", { prompt: "x", speed: 2.01 }, /speed must be/],
  ["speed in words", { prompt: "x", speed: "one" }, /speed must be a number from 0.5 to 2 \(got "one"\)/],
  ["volume too low", { prompt: "x", volume: 0.4 }, /volume must be/],
  ["volume too high", { prompt: "x", volume: 3 }, /volume must be/],
  ["pitch too low", { prompt: "x", pitch: -13 }, /pitch must be a whole number from -12 to 12/],
  ["pitch too high", { prompt: "x", pitch: 13 }, /pitch must be/],
  ["half a pitch", { prompt: "x", pitch: 0.5 }, /pitch must be a whole number/],
  ["multilingual as text", { prompt: "x", multilingual: "yes" }, /multilingual must be true or false/],
  ["take 0", { prompt: "x", take: 0 }, /take must be a whole number from 1 to 999/],
  ["take 1000", { prompt: "x", take: 1000 }, /take must be/],
  [
    "a voice that is nearly one",
    { prompt: "x", voice: "sofia" },
    /voice must be the id or the name of a voice; nearest: sophie_en_zh \(got "sofia"\)/,
  ],
  ["null for what is required", { prompt: null }, /prompt must be a string \(got null\)/],
  ["a long wait", { prompt: "x", wait_seconds: 3601 }, /wait_seconds must be a number from 0 to 3600/],
  ["a negative wait", { prompt: "x", wait_seconds: -1 }, /wait_seconds must be/],
  [
    "an unknown argument",
    { prompt: "x", tempo: 2 },
    /unknown argument "tempo"; the known ones are prompt, voice/,
  ],
  ["a path as file name", { prompt: "x", file_name: "../x" }, /invalid_file_name/],
];

describe("arguments of generate_audio", () => {
  it.each(ACCEPTED)("accepts %s", async (_name, args) => {
    const before = service.count("create");
    const task = taskOf(await client.call("generate_audio", args));
    expect(task.status).toBe("succeeded");
    expect(service.count("create")).toBe(before + 1);
    const sent: unknown = JSON.parse(service.exchanges.findLast(({ kind }) => kind === "create")?.body ?? "");
    expect(sent).toMatchObject({ prompt: String(args["prompt"]).trim() });
  });

  it.each(REFUSED)("refuses %s, naming field and rule, and sends nothing", async (_name, args, words) => {
    const before = service.exchanges.length;
    const outcome = await client.call("generate_audio", args);
    const facts = errorOf(outcome);
    expect(["invalid_request", "invalid_file_name"]).toContain(facts.code);
    expect(facts).toMatchObject({ http_status: null, retryable: false });
    expect(resultTextOf(outcome)).toMatch(words);
    expect(resultTextOf(outcome)).toMatch(/\nWhat to do: /);
    expect(service.exchanges.length).toBe(before);
  });
});

describe("arguments of the other tools", () => {
  it.each([
    ["get_task", {}, /task_id is required/],
    ["get_task", { task_id: "../x" }, /task_id must be an id/],
    ["get_task", { task_id: "x", verbose: true }, /the known ones are task_id, wait_seconds/],
    ["download_audio", { task_id: "x", deliver: "mail" }, /deliver must be one of path, inline, both/],
    ["list_voices", { language: "fr" }, /language must be one of en, zh, ja, es, id, pt/],
    ["list_tasks", { limit: 0 }, /limit must be a whole number from 1 to 100/],
    ["list_tasks", { limit: 101 }, /limit must be/],
    ["list_tasks", { status: "anyhow" }, /status must be one of/],
  ])("%s refuses %j", async (name, args, words) => {
    const outcome = await client.call(name, args);
    expect(errorOf(outcome)).toMatchObject({ code: "invalid_request", http_status: null });
    expect(resultTextOf(outcome)).toMatch(words);
  });

  it("an unknown tool is a protocol error that names the known ones", async () => {
    await expect(client.call("make_audio", {})).rejects.toThrow(/generate_audio, get_task/);
  });
});

describe("what clients add or leave open", () => {
  it.each([
    ["Gemini CLI's own argument", { wait_for_previous: true }],
    [
      "null for what may be left out, as OpenAI's strict mode sends it",
      { voice: null, take: null, speed: null },
    ],
    ["the one model that there is", { model: "audio-1.0" }],
  ])("takes %s as the same request", async (_what, more) => {
    const plain = taskOf(await client.call("generate_audio", { prompt: "Taken as it is meant" }));
    const outcome = taskOf(await client.call("generate_audio", { prompt: "Taken as it is meant", ...more }));
    expect(outcome).toMatchObject({ task_id: plain.task_id, replayed: true });
  });
});
