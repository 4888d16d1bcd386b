/** Arguments that are accepted in several forms: other spellings of a value, names for ids, words in any order. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PART_BYTES } from "../narration/narrator.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openClientAll, openFoldersAll, openServiceAll } from "../support/e2e-setup.ts";
import { type EndedCommand, runCommand } from "../support/run-command.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf, taskOf } from "../support/tool-result.ts";

const service = openServiceAll({ audioBytes: PART_BYTES, audioSeconds: 4 });
const testFolders = openFoldersAll();
const client = openClientAll(() => startToolClient(testFolders.env(service, FAST)));

const lastSent = (): unknown =>
  JSON.parse(service.exchanges.findLast(({ kind }) => kind === "create")?.body ?? "");

describe("generate_audio", () => {
  it("accepts numbers and booleans as strings, names of voices, and empty strings for omitted arguments", async () => {
    const args = {
      prompt: "All of it in other spellings",
      voice: "Monkey King",
      speed: "1.5",
      pitch: "-2",
      sample_rate: "48000",
      output_format: "WAV",
      multilingual: "True",
      take: "2",
      wait_seconds: "20",
      replace: "false",
      file_name: "",
      image_url: "",
      audio_references: '["https://example.com/a.mp3"]',
    };
    const outcome = await client.call("generate_audio", args);
    expect(taskOf(outcome)).toMatchObject({ status: "succeeded", take: 2, audio_references: 1 });
    expect(resultTextOf(outcome)).toContain("voice: monkey_king_zh, with 1 audio reference, take 2)");
    expect(lastSent()).toEqual({
      prompt: args.prompt,
      model: "audio-1.0",
      voice: "monkey_king_zh",
      speed: 1.5,
      volume: 1,
      pitch: -2,
      sample_rate: 48_000,
      output_format: "wav",
      multilingual: true,
      audio_references: ["https://example.com/a.mp3"],
    });
  });

  it.each([
    [{ speed: "0x1" }, /speed must be a number .*got "0x1"/],
    [{ take: "1e1" }, /take must be a whole number .*got "1e1"/],
  ])("refuses %j, which contains no accepted value", async (args, words) => {
    const before = service.exchanges.length;
    const outcome = await client.call("generate_audio", { prompt: "Refused", ...args });
    expect(errorOf(outcome).code).toBe("invalid_request");
    expect(resultTextOf(outcome)).toMatch(words);
    expect(service.exchanges.length).toBe(before);
  });

  it("names the nearest voice instead of the whole list", async () => {
    const outcome = await client.call("generate_audio", { prompt: "x", voice: "sofia" });
    expect(resultTextOf(outcome)).not.toContain("felix_zh");
  });

  it("accepts wait_seconds as a string", async () => {
    service.processingMs = 1500;
    const outcome = await client.call("generate_audio", { prompt: "Not waited for", wait_seconds: "0" });
    service.processingMs = 0;
    expect(taskOf(outcome).status).not.toBe("succeeded");
  });
});

describe("narrate", () => {
  const text = `${"ANNA: Good morning. ".repeat(3)}\n\nBEN: Good evening.`;

  it("accepts a limit as a string, speakers with names of voices, and null for omitted arguments", async () => {
    const outcome = await client.call("narrate", {
      text,
      file: null,
      narration_id: "",
      max_credits: "500",
      output_format: "pcm",
      voices: '["ANNA: Sophie", "BEN: Felix"]',
      skip_failed: "false",
      retakes: [],
    });
    expect(outcome.structuredContent).toMatchObject({ status: "finished", credits: { max: 500 } });
    const sent = service.exchanges.filter(({ kind }) => kind === "create").map(({ body }) => body);
    expect(sent.join("\n")).toMatch(/(?=[\s\S]*"sophie_en_zh")[\s\S]*"felix_zh"/);
  });

  it("names the nearest voice for a speaker instead of the whole list", async () => {
    const said = resultTextOf(await client.call("narrate", { text, voices: ["ANNA: sofia"] }));
    expect(said).toMatch(/"ANNA: sofia": must be the id or the name of a voice; nearest: sophie_en_zh/);
    expect(said).not.toContain("felix_zh");
  });

  it("is found by words of the requested file name, in any order", async () => {
    service.processingMs = 60_000;
    const args = { text: "A text about something else.", file_name: "Lighthouse story", max_credits: 300 };
    await client.call("narrate", { ...args, output_format: "pcm", wait_seconds: 0 });
    const outcome = await client.call("list_tasks", { query: "story, “lighthouse”" });
    service.processingMs = 0;
    expect(outcome.structuredContent).toMatchObject({ count: 1, tasks: [{ status: "running" }] });
  });
});

describe("lists", () => {
  it("accept the status words of their rows as filters", async () => {
    await client.call("generate_audio", { prompt: "A finished task" });
    await client.call("narrate", { text: "A plan that nobody has agreed to." });
    const found = async (status: string): Promise<string> =>
      resultTextOf(await client.call("list_tasks", { status }));
    expect(await found("finished")).toMatch(/A finished task/);
    expect(await found("Succeeded")).toMatch(/A finished task/);
    expect(await found("planned")).toMatch(/^\d+ requests?, .*\n.*narration, planned/);
    expect(await found("planned")).not.toMatch(/A finished task/);
    expect(await found("stopped")).toMatch(/^No such requests/);
  });

  it.each([
    [{ language: "English" }, "sophie_en_zh"],
    [{ language: "spanish" }, "tracy_es_zh"],
    [{ query: "Spanish mixed" }, "sandy_es_mixed_en_zh"],
    [{ query: "zh sophie" }, "sophie_en_zh"],
    [{ language: "es-MX" }, "tracy_es_zh"],
    [{ query: "es-MX" }, "tracy_es_zh"],
    [{ language: "pt-BR" }, "mindy_en_es_id_pt_zh"],
    [{ query: "Brazilian Portuguese" }, "mindy_en_es_id_pt_zh"],
    [{ language: "Mandarin" }, "felix_zh"],
    [{ query: "mandarin voice" }, "felix_zh"],
    [{ query: "español" }, "tracy_es_zh"],
    [{ query: "voices in Spanish" }, "tracy_es_zh"],
    [{ language: "zh-Hans" }, "celeste_zh"],
    [{ language: "en_GB" }, "stokie_en"],
  ])("list_voices finds %j", async (args, id) => {
    expect(resultTextOf(await client.call("list_voices", args))).toContain(id);
  });

  it.each([{ query: "es" }, { language: "español" }])(
    "list_voices %j names voices of that language alone, with one sentence in it",
    async (args) => {
      const said = resultTextOf(await client.call("list_voices", args));
      expect(said).toMatch(
        /the sentence in sample_sentences; each is paid once\.\nSample in es: [^\n]+\n(?!Sample)/,
      );
      expect(said).not.toMatch(/esther|sophie/);
    },
  );

  it.each([{ language: "Deutsch" }, { query: "français" }])("list_voices %j has no voice", async (args) => {
    expect(resultTextOf(await client.call("list_voices", args))).toMatch(/no voice/i);
  });

  it.each([
    ["poem about the sea", /None has all of these words; these have some\..*\n.*Over the sea/],
    ["the file about the over grey sea", /^1 request, newest first/],
    ["CAFÉ’S grey sea", /^1 request, newest first/],
    ["elephants on Mars", /^No such requests/],
  ])("list_tasks finds %j", async (query, words) => {
    await client.call("generate_audio", { prompt: "Over the sea, at the café's grey end." });
    expect(resultTextOf(await client.call("list_tasks", { query }))).toMatch(words);
  });

  it("list_tasks rounds seconds to milliseconds", async () => {
    service.audioSeconds = 0.834_081_632_653;
    await client.call("generate_audio", { prompt: "An odd length." });
    service.audioSeconds = 4;
    expect(resultTextOf(await client.call("list_tasks", { limit: 1 }))).toMatch(/ 0\.834 s,/);
  });

  it.each([
    ["done", /A finished task/],
    ["Completed", /A finished task/],
  ])("list_tasks reads the status %j", async (status, words) => {
    expect(resultTextOf(await client.call("list_tasks", { status, limit: 100 }))).toMatch(words);
  });
});

describe("on the command line", () => {
  const run = async (...args: string[]): Promise<EndedCommand> => {
    const path = join(testFolders.root, "text.txt");
    writeFileSync(path, "A text of a file.");
    return await runCommand(["narrate", path, ...args], testFolders.env(service, FAST));
  };

  it.each(["0x10", "1e3", "Infinity", "ten"])("--max-credits %s is refused", async (credits) => {
    const { code, stderr } = await run("--max-credits", credits);
    expect(stderr).toMatch(
      /^audio-generation-mcp: --max-credits must be a whole number from 1 to 10,000,000/m,
    );
    expect(code).toBe(2);
  });

  it.each(["0x10", "1e3"])("sandbox --port %s is refused", async (port) => {
    const { code, stderr } = await runCommand(["sandbox", "--port", port], {});
    expect(stderr).toMatch(/--port must be/);
    expect(code).toBe(2);
  });

  it("a voice may be given by name, and the error for an unknown one names the nearest", async () => {
    expect((await run("--voice", "Sophie")).code).toBe(0);
    const { code, stderr } = await run("--voice", "sofia");
    expect(stderr).toMatch(/--voice must be the id or the name of a voice; nearest: sophie_en_zh/);
    expect(code).toBe(2);
  });
});
