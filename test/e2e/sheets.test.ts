/**
 * Narrates forty lines of a game through the built bin and the sandbox with its limits: a plan, one confirmation, and
 * forty files with the names that the sheet gives.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { narrationOf } from "../narration/narrator.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { noiseSpeech } from "../support/noise-speech.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf } from "../support/tool-result.ts";

/** In the server and in the sandbox, limit windows take 0.6 s instead of 60 s. */
const SCALE = 0.01;

const LONG_TIMEOUT_MS = 120_000;

const LINES = Array.from({ length: 40 }, (_, index) => ({
  text: `Line ${index + 1}, said ${index % 2 === 0 ? "by the guard at the gate" : "by the cook"}.`,
  file: `line_${`${index + 1}`.padStart(2, "0")}`,
  voice: index % 2 === 0 ? "opal_en_zh" : "sophie_en_zh",
  speed: index % 4 === 0 ? 0.5 : 1,
}));
const sheetOf = (lines: typeof LINES): string =>
  [
    "file;text;voice;speed;notes",
    ...lines.map(({ text, file, voice, speed }) => `${file};${text};${voice};${speed};x`),
  ].join("\r\n");

describe("forty lines of a game", () => {
  const sandbox = openSandboxAll({ speech: noiseSpeech, processingSeconds: 0, timeScale: SCALE });
  const testFolders = openFoldersAll();
  const textsDir = (): string => join(testFolders.root, "texts");
  beforeAll(() => {
    mkdirSync(textsDir());
    writeFileSync(join(textsDir(), "lines.csv"), sheetOf(LINES));
  });
  const client = openClientAll(() =>
    startToolClient(
      testFolders.env(sandbox, { AUDIO_TIME_SCALE: String(SCALE), AUDIO_INPUT_DIR: textsDir() }),
    ),
  );

  const narrate = async (args: Record<string, unknown>) => await client.call("narrate", args);

  it("are planned free of charge: files, credits, length, voices", async () => {
    const outcome = await narrate({ file: "lines.csv", output_format: "wav" });
    expect(narrationOf(outcome)).toMatchObject({
      status: "planned",
      parts: { total: 40 },
      credits: { estimate: 400 },
    });
    const plan = resultTextOf(outcome);
    expect(plan).toMatch(/A plan of 40 parts: about 2 min of audio for about 400 credits/);
    expect(plan).toContain("40 files, one for each row, without captions, named by the column file.");
    expect(plan).toContain("Columns are separated by semicolons.");
    expect(plan).toMatch(
      /Spoken by sophie_en_zh \d+ %, opal_en_zh \d+ %\.|Spoken by opal_en_zh \d+ %, sophie_en_zh \d+ %\./,
    );
    expect(plan).toContain('Columns that are not used: "notes".');
  });

  it(
    "are forty files after one confirmation, and a repeat costs nothing",
    async () => {
      const args = { file: "lines.csv", output_format: "wav", max_credits: 6000, wait_seconds: 100 };
      const outcome = await narrate(args);
      const done = narrationOf(outcome);
      expect(done).toMatchObject({ status: "finished", parts: { saved: 40 }, credits: { charged: 400 } });
      expect(done.files.map(({ path }) => basename(path))).toEqual(LINES.map(({ file }) => `${file}.wav`));
      const [first] = done.files;
      const folder = dirname(first?.path ?? "");
      expect(resultTextOf(outcome)).toContain(
        `Saved 40 files in ${folder}: line_01.wav, line_02.wav, line_03.wav and 37 more (`,
      );
      expect(Buffer.byteLength(resultTextOf(outcome).replaceAll(folder, ""))).toBeLessThanOrEqual(650);
      expect(
        Buffer.byteLength(JSON.stringify({ ...done, files: [] }).replaceAll(folder, "")),
      ).toBeLessThanOrEqual(650);
      expect(Buffer.byteLength(JSON.stringify(done.files))).toBeLessThanOrEqual(40 * 150);
      const again = narrationOf(await narrate(args));
      expect(again.credits.charged).toBe(400);
      expect(again.message).toContain("nothing for this call");
    },
    LONG_TIMEOUT_MS,
  );

  it("are ten paths and a number in the list of tasks", async () => {
    const outcome = await client.call("list_tasks", {});
    expect(resultTextOf(outcome)).toMatch(/line_10\.wav and 30 more/);
    expect(resultTextOf(outcome)).not.toContain("line_11.wav");
    expect(outcome.structuredContent).toMatchObject({ tasks: [{ more_files: 30 }] });
  });
});
