/** Captions fit on their lines, and each begins when its sentence is spoken. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { buildChaptersJson, makeCaptions, type SpokenSentence } from "../../src/audio/captions/captions.ts";
import type { OutputFormat } from "../../src/contract/audio-format.ts";
import { createSpeechEngine } from "../../src/sandbox/speech/speech.ts";
import { speechRequest } from "../sandbox/speech/speech-request.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { scratchFolder } from "../support/scratch.ts";
import { noise, wav } from "./make-wav.ts";

const RATE = 24000;

/** Returns pcm samples of noise if `isLoud`, otherwise of silence. */
const stretch = (seconds: number, isLoud: boolean): Buffer => {
  const bytes = Math.round(seconds * RATE) * 2;
  return isLoud ? noise(bytes, `${seconds}`) : Buffer.alloc(bytes);
};

/**
 * Durations in seconds of a sentence's stretches of sound and of the pause after the sentence. A comma separates two
 * stretches.
 */
interface Said {
  readonly stretches: readonly number[];
  readonly pauseAfter: number;
}

const SAID: readonly Said[] = [
  { stretches: [1.1, 0.7], pauseAfter: 0.4 },
  { stretches: [0.5], pauseAfter: 0.3 },
  { stretches: [2.2, 1.4, 0.9], pauseAfter: 0.45 },
  { stretches: [0.8], pauseAfter: 0.35 },
  { stretches: [1.9, 2.6], pauseAfter: 0.1 },
];
const COMMA_SECONDS = 0.14;

/** Returns the sound of all sentences of `SAID`, the time at which each begins, and their lengths in seconds. */
function spoken(): { pcm: Buffer; starts: number[]; lengths: number[] } {
  const blocks = [stretch(0.1, false)];
  const starts: number[] = [];
  let seconds = 0.1;
  const lengths = SAID.map(({ stretches, pauseAfter }) => {
    starts.push(seconds);
    const pauses = stretches.map((_, index) => (index === stretches.length - 1 ? pauseAfter : COMMA_SECONDS));
    blocks.push(
      ...stretches.flatMap((length, index) => [stretch(length, true), stretch(pauses[index] ?? 0, false)]),
    );
    const length = [...stretches, ...pauses].reduce((sum, part) => sum + part, 0);
    seconds += length;
    return length;
  });
  return { pcm: Buffer.concat(blocks), starts, lengths };
}

/**
 * Returns sentences with inexact weights, as if the weights were estimated from text: alternately a fifth too large and
 * a fifth too small.
 */
const guessed = (lengths: readonly number[]): SpokenSentence[] =>
  lengths.map((length, index) => ({
    text: `Sentence ${index}.`,
    weight: length * (index % 2 === 0 ? 1.2 : 0.8),
  }));

interface CueTime {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function cuesIn(vtt: string): CueTime[] {
  const seconds = (time: string): number =>
    time.split(":").reduce((sum, field) => sum * 60 + Number(field), 0);
  return vtt
    .split("\n\n")
    .slice(2)
    .map((block) => {
      const [name = "", times = "", ...lines] = block.trimEnd().split("\n");
      const [start = "", end = ""] = times.split(" --> ");
      return { name, start: seconds(start), end: seconds(end), text: lines.join("\n") };
    });
}

async function captionsOf(
  format: OutputFormat,
  bytes: Uint8Array,
  sentences: readonly SpokenSentence[],
  durationSeconds: number,
): Promise<string> {
  const path = join(scratchFolder(), "part");
  writeFileSync(path, bytes);
  const span = { startSeconds: 100, endSeconds: 100 + durationSeconds };
  const { vtt } = await makeCaptions({
    format,
    parts: [{ path, durationSeconds, sampleRateHz: RATE, span, sentences }],
  });
  return vtt;
}

/** Returns by how many seconds, on average, the captions after the first begin too early or too late. */
const meanError = (cues: readonly CueTime[], starts: readonly number[]): number =>
  cues.slice(1).reduce((sum, { start }, index) => sum + Math.abs(start - 100 - (starts[index + 1] ?? 0)), 0) /
  (cues.length - 1);

describe("captions", () => {
  test.each(["wav", "pcm"] as const)("of %s begin where their sentences do", async (format) => {
    const { pcm, starts, lengths } = spoken();
    const seconds = pcm.byteLength / 2 / RATE;
    const bytes = format === "wav" ? wav(pcm) : pcm;
    const cues = cuesIn(await captionsOf(format, bytes, guessed(lengths), seconds));
    expect(cues.map(({ name }) => name)).toEqual(["1", "2", "3", "4", "5"]);
    expect(meanError(cues, starts)).toBeLessThan(0.02);
    expect(cues[0]?.start).toBe(100);
    expect(cues.at(-1)?.end).toBeCloseTo(100 + seconds, 3);
    // The loudness of Opus cannot be measured. Its captions are timed by the weights alone, which is far less exact.
    const estimatedCues = cuesIn(await captionsOf("ogg_opus", bytes, guessed(lengths), seconds));
    expect(estimatedCues.map(({ name }) => name)).toEqual(["1", "2~", "3~", "4~", "5~"]);
    expect(meanError(estimatedCues, starts)).toBeGreaterThan(0.1);
  });

  test("show each sentence once, in lines that fit, without markup of their own", async () => {
    const long = `It was late when the train arrived, and nobody stood on the platform except an old man with a dog,
      who looked up & said <nothing> --> at all for a very long while, because there was nothing left to say.`;
    const chinese =
      "火车到站的时候已经很晚了，站台上除了一个牵着狗的老人以外，没有任何人在等待，风从北方吹来，带着雪的气味。";
    const word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(3);
    const sentences = [long, chinese, word, "   "].map((text) => ({ text, weight: 1 }));
    const vtt = await captionsOf("ogg_opus", Buffer.of(0), sentences, 30);
    const cues = cuesIn(vtt);
    const columns = (line: string): number =>
      [...line].reduce((sum, character) => sum + (/[\u3000-\u9fff\uff00-\uff60]/.test(character) ? 2 : 1), 0);
    for (const { text } of cues) {
      const lines = text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&").split("\n");
      expect(lines.length).toBeLessThanOrEqual(2);
      for (const line of lines) expect(columns(line)).toBeLessThanOrEqual(42);
      expect(lines.some((line) => /^[，。]/.test(line))).toBe(false);
    }
    const shown = cues
      .map(({ text }) => text)
      .join("\n")
      .replace(/\s+/g, "");
    const expected = [long, chinese, word].join("").replace(/\s+/g, "");
    expect(shown).toBe(expected.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
    const times = cues.flatMap(({ start, end }) => [start, end]);
    expect(times).toEqual([...times].sort((one, other) => one - other));
  });

  test("are an empty list for parts without words", async () => {
    expect(await captionsOf("pcm", Buffer.alloc(4800), [], 0.1)).toMatch(/^WEBVTT\n\nNOTE\n[^-]+$/);
  });
});

describeWithFfprobe("captions of mp3", () => {
  const engine = createSpeechEngine();
  afterAll(() => engine.close());

  test("begin where their sentences do, without a decoder", async () => {
    const { pcm, starts, lengths } = spoken();
    const raw = ["-f", "s16le", "-ar", `${RATE}`, "-ac", "1", "-i", "-"];
    const mp3 = execFileSync("ffmpeg", ["-v", "error", ...raw, "-f", "mp3", "-b:a", "64k", "-"], {
      input: pcm,
    });
    const seconds = pcm.byteLength / 2 / RATE;
    const cues = cuesIn(await captionsOf("mp3", mp3, guessed(lengths), seconds));
    expect(cues.map(({ name }) => name)).toEqual(["1", "2", "3", "4", "5"]);
    expect(meanError(cues, starts)).toBeLessThan(0.04);
  });

  test("follow speech", async () => {
    const texts = [
      "It was late when the train arrived.",
      "Nobody stood on the platform, except an old man with a dog.",
      "He looked up, nodded, and said nothing.",
      "What could she say?",
      "The wind had turned to the north, and with it came the smell of snow.",
    ];
    const say = (prompt: string) =>
      engine.speak(speechRequest({ prompt, output_format: "mp3", sample_rate: 24000 }));
    const { bytes, audioSeconds } = await say(texts.join(" "));
    const sentences = texts.map((text) => ({ text, weight: text.length }));
    const cues = cuesIn(await captionsOf("mp3", bytes, sentences, audioSeconds));
    // Each cue is about as long as the audio of its sentence spoken alone. Only the silence at both ends may differ.
    const alone = await Promise.all(texts.map(async (text) => (await say(text)).audioSeconds));
    cues.forEach(({ start, end }, index) => {
      expect(Math.abs(end - start - (alone[index] ?? 0))).toBeLessThan(0.25);
    });
    expect(cues.map(({ name }) => name)).toEqual(["1", "2", "3", "4", "5"]);
  });
});

test("chapters for players that read them from a separate file", () => {
  const chapters = [
    { title: "Eins", startSeconds: 0, endSeconds: 12.34567 },
    { title: "Zwei", startSeconds: 12.34567, endSeconds: 20 },
  ];
  expect(JSON.parse(buildChaptersJson("Buch", chapters))).toEqual({
    version: "1.2.0",
    title: "Buch",
    chapters: [
      { startTime: 0, endTime: 12.346, title: "Eins" },
      { startTime: 12.346, endTime: 20, title: "Zwei" },
    ],
  });
  expect(JSON.parse(buildChaptersJson(undefined, []))).toEqual({ version: "1.2.0", chapters: [] });
});
