/** Every mp3 part sounds in the joined file exactly as it does alone, whatever its file contains. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { joined, type TestPart } from "./join-in-memory.ts";
import {
  decodeSamples,
  encodedNoise,
  heardByMpg123,
  largestDifference,
  outputOf,
  testWith,
} from "./sound.ts";

const MP3 = ["-f", "mp3", "-c:a", "libmp3lame"];

interface Encoding {
  readonly name: string;
  readonly rateHz: number;
  readonly channels: number;
  readonly encoder: readonly string[];
}

/** Parts of every MPEG version, with constant and variable bitrate, with and without LAME's header. */
const ENCODINGS: readonly Encoding[] = [
  {
    name: "MPEG-2, 64 kbit/s, mono",
    rateHz: 24000,
    channels: 1,
    encoder: ["-b:a", "64k", "-write_xing", "0"],
  },
  {
    name: "MPEG-2, 64 kbit/s, stereo, with LAME's tag",
    rateHz: 24000,
    channels: 2,
    encoder: ["-b:a", "64k"],
  },
  {
    name: "MPEG-1, average 128 kbit/s, stereo",
    rateHz: 44100,
    channels: 2,
    encoder: ["-b:a", "128k", "-abr", "1"],
  },
  { name: "MPEG-1, variable, mono", rateHz: 48000, channels: 1, encoder: ["-q:a", "2", "-write_xing", "0"] },
  { name: "MPEG-1, 320 kbit/s", rateHz: 32000, channels: 2, encoder: ["-b:a", "320k"] },
  { name: "MPEG-2, 32 kbit/s", rateHz: 16000, channels: 1, encoder: ["-b:a", "32k", "-write_xing", "0"] },
  { name: "MPEG-2.5, 8 kbit/s", rateHz: 8000, channels: 1, encoder: ["-b:a", "8k", "-write_xing", "0"] },
];

async function parts({ rateHz, channels, encoder }: Encoding): Promise<Buffer[]> {
  const seconds = [1.31, 0.87, 1.1];
  return Promise.all(
    seconds.map((length, seed) =>
      encodedNoise({ seconds: length, rateHz, channels, seed }, [...MP3, ...encoder]),
    ),
  );
}

/**
 * Joins parts. Returns the largest difference of each part between its samples in the joined file and its samples when
 * it is decoded by itself.
 */
async function differences(inputs: readonly TestPart[], rateHz: number, channels: number): Promise<number[]> {
  const file = await joined("mp3", inputs);
  const all = await decodeSamples(file.bytes, "mp3");
  expect(all.length).toBe(Math.round(file.durationSeconds * rateHz) * channels);
  return Promise.all(
    inputs.map(async ({ bytes }, index) => {
      const { startSeconds = 0, endSeconds = 0 } = file.parts[index] ?? {};
      const alone = await decodeSamples(bytes, "mp3");
      expect(alone.length).toBe(Math.round((endSeconds - startSeconds) * rateHz) * channels);
      return largestDifference(alone, all, Math.round(startSeconds * rateHz) * channels);
    }),
  );
}

/** Counts the frames with a wrong checksum. All frames must be like the fixture's: MPEG-2, 32 kbit/s, 16 kHz, mono. */
function wrongChecksums(file: Buffer): number {
  const frames = file.byteLength / 144;
  return Array.from({ length: frames }, (_, index) => file.subarray(index * 144, index * 144 + 144)).filter(
    (frame) => {
      if (((frame[1] ?? 0) & 1) === 1) return false;
      const covered = [...frame.subarray(2, 4), ...frame.subarray(6, 15)];
      const bits = covered.map((byte) => byte.toString(2).padStart(8, "0")).join("");
      let crc = 0xffff;
      for (const bit of bits) {
        const out = (crc >> 15) ^ Number(bit);
        crc = ((crc << 1) & 0xffff) ^ (out === 1 ? 0x8005 : 0);
      }
      return frame.readUInt16BE(4) !== crc;
    },
  ).length;
}

describeWithFfprobe("mp3 parts in a joined file", () => {
  test.each(ENCODINGS)("sound as each does alone: $name", async (encoding) => {
    const [one, two, three] = await parts(encoding);
    const inputs = [one, two, three].map((bytes) => ({ bytes: bytes ?? Buffer.of(), pauseAfterSeconds: 0 }));
    expect(await differences(inputs, encoding.rateHz, encoding.channels)).toEqual([0, 0, 0]);
  });

  test("have the requested pauses, exact to a frame", async () => {
    const encoding = ENCODINGS[1];
    if (encoding === undefined) throw new Error("there is no second encoding");
    const files = await parts(encoding);
    const { parts: spans, durationSeconds } = await joined(
      "mp3",
      files.map((bytes, index) => ({ bytes, pauseAfterSeconds: [0.6, 2, 1][index] ?? 0 })),
    );
    const [one, two, three] = spans;
    const frameSeconds = 576 / encoding.rateHz;
    const gaps = [
      (two?.startSeconds ?? 0) - (one?.endSeconds ?? 0),
      (three?.startSeconds ?? 0) - (two?.endSeconds ?? 0),
      durationSeconds - (three?.endSeconds ?? 0),
    ];
    for (const [index, seconds] of [0.6, 2, 1].entries()) {
      expect(Math.abs((gaps[index] ?? 0) - seconds)).toBeLessThanOrEqual(frameSeconds / 2 + 1e-9);
    }
  });

  test("may differ in bitrate", async () => {
    const noise = { seconds: 1, rateHz: 24000, channels: 1 };
    const rates = await Promise.all(
      ["32k", "64k", "160k"].map((rate) => encodedNoise(noise, [...MP3, "-b:a", rate, "-write_xing", "0"])),
    );
    const inputs = rates.map((bytes) => ({ bytes, pauseAfterSeconds: 0.5 }));
    expect(await differences(inputs, 24000, 1)).toEqual([0, 0, 0]);
  });

  test("may carry checksums", async () => {
    // Made by `lame -p -b 32 --resample 16` from half a second of noise.
    const bytes = readFileSync(join(import.meta.dirname, "fixtures", "checksums.mp3"));
    expect(await differences([{ bytes }, { bytes }], 16000, 1)).toEqual([0, 0]);
  });

  describe("cut from the middle of a stream", () => {
    test("begin with silence where their sound lies in missing frames", async () => {
      const noise = { seconds: 3, rateHz: 44100, channels: 2 };
      const whole = await encodedNoise(noise, [...MP3, "-b:a", "96k", "-abr", "1", "-write_xing", "0"]);
      const cut = whole.subarray(Math.floor(whole.byteLength / 2));
      const file = await joined("mp3", [{ bytes: whole }, { bytes: cut }]);
      const all = await decodeSamples(file.bytes, "mp3");
      const [, span] = file.parts;
      const start = Math.round((span?.startSeconds ?? 0) * 44100) * 2;
      const alone = await decodeSamples(cut, "mp3");
      // The data of a frame may begin up to 511 bytes before the frame, so at most the first four frames lack data
      // here. They affect the decoder for two more frames.
      const convergedOffset = 6 * 1152 * 2;
      expect(largestDifference(alone.subarray(convergedOffset), all, start + convergedOffset)).toBe(0);
      // The first frames must not be louder than the noise, which stays below full scale. If the decoder used bytes of
      // the other part for them, they would be far louder.
      const loudest = all
        .subarray(start, start + convergedOffset)
        .reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const usual = alone
        .subarray(convergedOffset)
        .reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      expect(loudest).toBeLessThanOrEqual(usual);
      expect(all.subarray(start, start + 1152).every((value) => value === 0)).toBe(true);
    });

    test("are repaired together with their checksums", async () => {
      const whole = readFileSync(join(import.meta.dirname, "fixtures", "checksums.mp3"));
      const cut = whole.subarray(Math.floor(whole.byteLength / 2));
      const file = await joined("mp3", [{ bytes: whole }, { bytes: cut }]);
      expect(wrongChecksums(whole)).toBe(0);
      expect(wrongChecksums(file.bytes)).toBe(0);
    });
  });

  test("contain chapters, title and author for players", async () => {
    const encoding = ENCODINGS[0];
    if (encoding === undefined) throw new Error("there is no encoding");
    const files = await parts(encoding);
    const file = await joined(
      "mp3",
      files.map((bytes) => ({ bytes, pauseAfterSeconds: 0.6 })),
      {
        title: "Märchen 童話 🎧",
        author: "Ana 李",
        album: "Buch",
        track: "3/12",
        chapters: [
          { title: "Eins & zwei", firstPart: 0 },
          { title: "三", firstPart: 2 },
        ],
      },
    );
    const reported: unknown = JSON.parse(
      await outputOf("ffprobe", ["-v", "error", "-show_chapters", "-show_format", "-of", "json"], file.bytes),
    );
    const thirdMs = Math.round((file.parts[2]?.startSeconds ?? 0) * 1000);
    const endMs = Math.round(file.durationSeconds * 1000);
    expect(reported).toMatchObject({
      chapters: [
        { start: 0, end: thirdMs, tags: { title: "Eins & zwei" } },
        { start: thirdMs, end: endMs, tags: { title: "三" } },
      ],
      format: { tags: { title: "Märchen 童話 🎧", artist: "Ana 李", album: "Buch", track: "3/12" } },
    });
    expect(file.chapters.map(({ startSeconds }) => startSeconds)).toEqual([0, file.parts[2]?.startSeconds]);
  });

  test("list six hundred chapters below one table of contents", async () => {
    const bytes = await encodedNoise({ seconds: 0.2, rateHz: 24000, channels: 1 }, [...MP3, "-b:a", "64k"]);
    const inputs = Array.from({ length: 600 }, () => ({ bytes }));
    const chapters = inputs.map((_, index) => ({ title: `Chapter ${index}`, firstPart: index }));
    const file = await joined("mp3", inputs, { chapters });
    const tables = file.bytes.toString("latin1").split("CTOC").length - 1;
    expect(tables).toBe(4);
    const reported: { chapters: unknown[] } = JSON.parse(
      await outputOf("ffprobe", ["-v", "error", "-show_chapters", "-of", "json"], file.bytes),
    );
    expect(reported.chapters).toHaveLength(600);
  });

  test.each(ENCODINGS)("give their file a true length and seek table: $name", async (encoding) => {
    const files = await parts(encoding);
    const file = await joined(
      "mp3",
      files.map((bytes) => ({ bytes, pauseAfterSeconds: 2 })),
    );
    const reported = await outputOf(
      "ffprobe",
      ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0"],
      file.bytes,
    );
    expect(Number(reported)).toBeCloseTo(file.durationSeconds, 5);
    const isConstant = !encoding.encoder.some((argument) => ["-abr", "-q:a"].includes(argument));
    const mark = file.bytes.indexOf(isConstant ? "Info" : "Xing");
    expect(mark).toBeGreaterThan(0);
    expect(mark).toBeLessThan(40);
    const table = [...file.bytes.subarray(mark + 16, mark + 116)];
    expect(table).toEqual([...table].sort((one, other) => one - other));
    expect(table[50]).toBeGreaterThan(70);
    expect(table[50]).toBeLessThan(190);
  });

  testWith(
    "mpg123",
    "sound as they do alone to mpg123, too, which rounds by one step of 16 bits",
    async () => {
      for (const encoding of ENCODINGS.filter(({ encoder }) => encoder.includes("-write_xing"))) {
        const files = await parts(encoding);
        const inputs = files.map((bytes) => ({ bytes, pauseAfterSeconds: 0 }));
        const file = await joined("mp3", inputs);
        const all = await heardByMpg123(file.bytes);
        for (const [index, bytes] of files.entries()) {
          const start =
            Math.round((file.parts[index]?.startSeconds ?? 0) * encoding.rateHz) * encoding.channels;
          expect(largestDifference(await heardByMpg123(bytes), all, start)).toBeLessThanOrEqual(1);
        }
      }
    },
  );

  testWith("mp3val", "leave nothing for mp3val to find", async () => {
    for (const encoding of ENCODINGS) {
      const files = await parts(encoding);
      const chapters = [{ title: "One", firstPart: 0 }];
      const { bytes } = await joined(
        "mp3",
        files.map((part) => ({ bytes: part, pauseAfterSeconds: 0.3 })),
        { chapters },
      );
      expect(await outputOf("mp3val", [], bytes)).not.toMatch(/WARNING|ERROR/);
    }
  });
});
