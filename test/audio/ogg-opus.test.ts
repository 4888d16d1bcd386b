/** Every Opus part sounds in the joined file exactly as it does alone, whatever its modes and pages. */
import { expect, test } from "vitest";
import { DamagedPartError, PartsDifferError } from "../../src/audio/part-errors.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { joined, type TestPart } from "./join-in-memory.ts";
import { oggPages, type PageChanges, rewritten } from "./make-ogg.ts";
import { decodeSamples, encodedNoise, largestDifference, outputOf, testWith } from "./sound.ts";

const RATE = 48000;

interface Kind {
  readonly channels: number;
  readonly encoder: readonly string[];
}

const opus = (...more: readonly string[]): readonly string[] => ["-f", "ogg", "-c:a", "libopus", ...more];

/** Every mode and frame length that encoders produce. */
const KINDS = {
  celt: { channels: 1, encoder: opus("-b:a", "64k", "-application", "audio") },
  "celt in stereo": { channels: 2, encoder: opus("-b:a", "128k", "-application", "audio") },
  "celt of 2.5 ms": { channels: 1, encoder: opus("-b:a", "96k", "-frame_duration", "2.5") },
  silk: { channels: 1, encoder: opus("-b:a", "10k", "-application", "voip") },
  "silk of 60 ms in stereo": {
    channels: 2,
    encoder: opus("-b:a", "14k", "-application", "voip", "-frame_duration", "60"),
  },
  hybrid: { channels: 1, encoder: opus("-b:a", "24k", "-application", "voip") },
  "packets of 120 ms": {
    channels: 1,
    encoder: opus("-b:a", "12k", "-application", "voip", "-frame_duration", "120"),
  },
} satisfies Record<string, Kind>;

const partOf = ({ channels, encoder }: Kind, seed = 1): Promise<Buffer> =>
  encodedNoise({ seconds: 1.31, rateHz: RATE, channels, seed }, encoder);

/**
 * Joins parts with the same number of channels. Returns the largest difference of each part between its samples in the
 * joined file and its samples when it is decoded by itself.
 */
async function differences(inputs: readonly TestPart[], channels: number): Promise<number[]> {
  const file = await joined("ogg_opus", inputs);
  const all = await decodeSamples(file.bytes, "ogg_opus");
  expect(all.length).toBe(Math.round(file.durationSeconds * RATE) * channels);
  return Promise.all(
    inputs.map(async ({ bytes }, index) => {
      const { startSeconds = 0, endSeconds = 0 } = file.parts[index] ?? {};
      const alone = await decodeSamples(bytes, "ogg_opus");
      expect(alone.length).toBe(Math.round((endSeconds - startSeconds) * RATE) * channels);
      return largestDifference(alone, all, Math.round(startSeconds * RATE) * channels);
    }),
  );
}

const paused = (files: readonly Buffer[]): TestPart[] =>
  files.map((bytes, index) => ({ bytes, pauseAfterSeconds: index % 2 === 0 ? 0 : 0.6 }));

describeWithFfprobe("Opus parts in a joined file", () => {
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];

  test("sound as each does alone: every kind beside every other", async () => {
    const mono = kinds.filter((name) => KINDS[name].channels === 1);
    const files = await Promise.all(mono.map((name) => partOf(KINDS[name])));
    // In this order, every file is beside every other one.
    const inputs = files.flatMap((one, index) => files.slice(index + 1).flatMap((other) => [one, other]));
    expect(await differences(paused(inputs), 1)).toEqual(inputs.map(() => 0));
  });

  test("play on both channels when others are in stereo", async () => {
    const [one, two] = await Promise.all([partOf(KINDS.silk), partOf(KINDS["celt in stereo"])]);
    const file = await joined("ogg_opus", paused([two, one, two]));
    const all = await decodeSamples(file.bytes, "ogg_opus");
    const alone = await decodeSamples(one, "ogg_opus");
    const start = Math.round((file.parts[1]?.startSeconds ?? 0) * RATE) * 2;
    const sides = [0, 1].map((side) => alone.map((_, index) => all[start + 2 * index + side] ?? 0));
    expect(sides).toEqual([alone, alone]);
    const last = Math.round((file.parts[2]?.startSeconds ?? 0) * RATE) * 2;
    expect(largestDifference(await decodeSamples(two, "ogg_opus"), all, last)).toBe(0);
  });

  test("have the requested pauses, within 20 ms", async () => {
    const files = await Promise.all([KINDS.celt, KINDS.silk, KINDS.hybrid].map((kind) => partOf(kind)));
    const pauses = [0.6, 2, 1];
    const inputs = files.map((bytes, index) => ({ bytes, pauseAfterSeconds: pauses[index] ?? 0 }));
    const { parts, durationSeconds } = await joined("ogg_opus", inputs);
    const ends = [...parts.slice(1).map(({ startSeconds }) => startSeconds), durationSeconds];
    for (const [index, { endSeconds }] of parts.entries()) {
      expect(Math.abs((ends[index] ?? 0) - endSeconds - (pauses[index] ?? 0))).toBeLessThanOrEqual(
        0.01 + 1e-9,
      );
    }
  });

  test("contain chapters, title and author for players, over several pages where they are long", async () => {
    const bytes = await partOf(KINDS.silk);
    const inputs = Array.from({ length: 40 }, () => ({ bytes, pauseAfterSeconds: 2 }));
    const title = "Märchen 童話 🎧";
    const chapters = inputs.map((_, index) => ({ title: `${index} ${"é".repeat(900)}`, firstPart: index }));
    const file = await joined("ogg_opus", inputs, {
      title,
      author: "Ana 李",
      album: "Buch",
      track: "3/12",
      chapters,
    });
    const reported: { chapters: unknown[]; streams: unknown } = JSON.parse(
      await outputOf(
        "ffprobe",
        ["-v", "error", "-show_chapters", "-show_streams", "-of", "json"],
        file.bytes,
      ),
    );
    expect(reported.streams).toMatchObject([
      { tags: { TITLE: title, ARTIST: "Ana 李", ALBUM: "Buch", track: "3/12" } },
    ]);
    expect(reported.chapters).toHaveLength(40);
    expect(reported.chapters[7]).toMatchObject({
      start: Math.round((file.parts[7]?.startSeconds ?? 0) * 1000),
      tags: { title: `7 ${"é".repeat(900)}` },
    });
    // The third page continues the comments that begin on the second page.
    expect(oggPages(file.bytes)[2]?.[5]).toBe(1);
  });

  testWith("opusinfo", "leave nothing for opusinfo to find", async () => {
    const files = await Promise.all(Object.values(KINDS).map((kind) => partOf(kind)));
    const { bytes } = await joined("ogg_opus", paused(files), {
      title: "One",
      chapters: [{ title: "A", firstPart: 3 }],
    });
    expect(await outputOf("opusinfo", ["-q"], bytes)).not.toMatch(/WARNING|ERROR|negative|hole/i);
    expect(await outputOf("ffprobe", ["-v", "warning"], bytes)).toBe("");
  });

  test("may lie in pages of any size, continued, and begin late", async () => {
    const whole = await partOf(KINDS.celt);
    const small = rewritten(whole, { segmentsPerPage: 1 });
    const rewrittenFile = rewritten(whole, { segmentsPerPage: 7 });
    // A file that was cut from a longer stream: its granule positions and page numbers do not begin at 0.
    const late = rewritten(whole, { segmentsPerPage: 40, granuleOffset: 960_000, firstSequence: 17 });
    const longComments = rewritten(whole, { segmentsPerPage: 255, comments: 300_000 });
    const parts = [small, rewrittenFile, late, longComments];
    expect(await differences(paused([whole, ...parts]), 1)).toEqual([0, 0, 0, 0, 0]);
  });

  test("that are too short for a page sound as each does alone", async () => {
    const short = await encodedNoise({ seconds: 0.03, rateHz: RATE, channels: 1 }, KINDS.celt.encoder);
    expect(oggPages(short)).toHaveLength(3);
    expect(await differences(paused([short, short, short]), 1)).toEqual([0, 0, 0]);
  });

  test("that differ in gain, or are mixed down by players, are reported", async () => {
    const [mono, stereo] = await Promise.all([partOf(KINDS.celt), partOf(KINDS["celt in stereo"])]);
    const louder = rewritten(mono, { segmentsPerPage: 50, head: (head) => head.writeInt16LE(256, 16) });
    await expect(joined("ogg_opus", paused([mono, louder, mono]))).rejects.toMatchObject({
      differences: [{ partIndex: 1, property: "output gain", value: "256", commonValue: "0" }],
    });
    const mixedDown = rewritten(stereo, { segmentsPerPage: 50, head: (head) => head.writeUInt8(1, 9) });
    const joining = joined("ogg_opus", paused([stereo, mixedDown, mono]));
    await expect(joining).rejects.toThrow(PartsDifferError);
    await expect(joining).rejects.toMatchObject({ differences: [{ partIndex: 1 }] });
    expect(await differences(paused([mixedDown, mono]), 1)).toEqual([0, 0]);
  });

  test("that are damaged are reported", async () => {
    const whole = await partOf(KINDS.hybrid);
    const pages = oggPages(whole);
    const changed = (change: Omit<PageChanges, "segmentsPerPage">): Buffer =>
      rewritten(whole, { segmentsPerPage: 50, ...change });
    const flipped = Buffer.from(whole);
    flipped[whole.byteLength - 100] = (flipped[whole.byteLength - 100] ?? 0) ^ 1;
    const broken: Record<string, Uint8Array> = {
      "no bytes": Buffer.alloc(0),
      "another format": Buffer.from("RIFF0000WAVE"),
      "headers alone": Buffer.concat(pages.slice(0, 2)),
      "a flipped bit": flipped,
      "a page that is missing": Buffer.concat([...pages.slice(0, 2), ...pages.slice(3)]),
      "another stream behind": Buffer.concat([whole, whole]),
      "another stream between": Buffer.concat([...pages.slice(0, 1), ...oggPages(changed({ serial: 99 }))]),
      "a file for five loudspeakers": changed({ head: (head) => head.writeUInt8(1, 18) }),
      "an unknown version": changed({ head: (head) => head.writeUInt8(16, 8) }),
      "no channels": changed({ head: (head) => head.writeUInt8(0, 9) }),
      "an empty packet": changed({ packet: (packet, index) => (index === 9 ? Buffer.alloc(0) : packet) }),
      "a packet of no frames": changed({
        packet: (packet, index) => (index === 9 ? Buffer.of(3, 0) : packet),
      }),
      "a packet of 200 ms": changed({
        packet: (packet, index) => (index === 9 ? Buffer.of(0xfb, 10) : packet),
      }),
      "two frames in an odd packet": changed({
        packet: (packet, index) => (index === 9 ? Buffer.of(1, 2, 3, 4) : packet),
      }),
      "a packet longer than any": changed({
        packet: (packet, index) => (index === 9 ? Buffer.alloc(200_000, 3) : packet),
      }),
      "positions that run backwards": changed({
        granule: (granule, page) => (page === 0 ? granule * 3 : granule),
      }),
      "a first position before its beginning": changed({
        granule: (granule, page) => (page === 0 ? 5 : granule),
      }),
    };
    const found: Record<string, unknown> = {};
    for (const [name, bytes] of Object.entries(broken)) {
      found[name] = await joined("ogg_opus", paused([whole, Buffer.from(bytes)])).catch(
        (error: unknown) => error,
      );
    }
    for (const [name, error] of Object.entries(found)) {
      expect(error, name).toBeInstanceOf(DamagedPartError);
      expect(error, name).toMatchObject({ partIndex: 1 });
    }
  });

  test("that end early play up to their last whole page", async () => {
    const whole = await encodedNoise({ seconds: 1, rateHz: RATE, channels: 1 }, KINDS.celt.encoder);
    const seconds = async (bytes: Buffer): Promise<number> =>
      (await joined("ogg_opus", paused([bytes, bytes]))).durationSeconds;
    const pages = oggPages(rewritten(whole, { segmentsPerPage: 10 }));
    const lastAt = Buffer.concat(pages.slice(0, -1)).length;
    const early = await seconds(Buffer.concat(pages.slice(0, -1)));
    for (const bytes of [1, 3, 5, 27, 30, 100])
      expect(await seconds(Buffer.concat(pages).subarray(0, lastAt + bytes)), `${bytes}`).toBe(early);
    expect(early).toBeLessThan(await seconds(Buffer.concat(pages)));
  });

  test("may be followed by bytes that are not a page", async () => {
    const whole = await partOf(KINDS.celt);
    const followed = Buffer.concat([whole, Buffer.from(`TAG${"\0".repeat(125)}`)]);
    expect(await differences(paused([followed, whole]), 1)).toEqual([0, 0]);
  });
});
