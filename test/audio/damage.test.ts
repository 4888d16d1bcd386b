/** A join with a damaged part fails with an error that names the part, or makes a file that plays. */
import { expect, test } from "vitest";
import { DamagedPartError, PartsDifferError } from "../../src/audio/part-errors.ts";
import type { OutputFormat } from "../../src/contract/audio-format.ts";
import { describeWithFfprobe, probeAudio } from "../support/ffprobe.ts";
import { joined } from "./join-in-memory.ts";
import { rewritten } from "./make-ogg.ts";
import { noise, wav } from "./make-wav.ts";
import { decodeSamples, encodedNoise, largestDifference } from "./sound.ts";

const SEEDS = 150;
const RATE = 24000;
/** Every twelfth joined file is also played. */
const PLAYED = 12;
/** Limit for the growth of memory. A join needs far less. A join that trusted a damaged length would need far more. */
const MAX_GROWTH_MIB = 150;

/** Returns a generator of pseudo-random numbers. The same seed gives the same numbers. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % Math.max(1, below);
  };
}

/** Damages the bytes one to four times, by flipped bits, cuts, holes, repeats or foreign bytes. */
function damaged(sound: Buffer, seed: number): Buffer {
  const below = numbers(seed);
  let bytes = Buffer.from(sound);
  for (let count = 1 + below(4); count > 0; count -= 1) {
    // Half of the damage is in headers, because they state the lengths.
    const at = below(below(2) === 0 ? Math.min(200, bytes.byteLength) : bytes.byteLength);
    const length = below(below(2) === 0 ? 8 : 3000);
    const [before, hit, after] = [
      bytes.subarray(0, at),
      bytes.subarray(at, at + length),
      bytes.subarray(at + length),
    ];
    const kinds = [
      () => Buffer.concat([before, hit.map((byte) => byte ^ (1 << below(8))), after]),
      () => Buffer.concat([before, Buffer.alloc(hit.byteLength, [0, 0xff, 0x7f][below(3)] ?? 0), after]),
      () => Buffer.concat([before, after]),
      () => before,
      () => Buffer.concat([before, hit, hit, after]),
      () => Buffer.concat([before, noise(length, `${seed}`), hit, after]),
    ];
    bytes = kinds[below(kinds.length)]?.() ?? bytes;
  }
  return bytes;
}

interface Subject {
  readonly name: string;
  readonly format: OutputFormat;
  readonly rateHz: number;
  readonly channels: number;
  readonly sound: () => Promise<Buffer>;
  readonly damage?: (sound: Buffer, seed: number) => Buffer;
}

const mono = { seconds: 1.2, rateHz: RATE, channels: 1 };
const opus = () => encodedNoise({ ...mono, rateHz: 48000 }, ["-f", "ogg", "-c:a", "libopus", "-b:a", "32k"]);

const SUBJECTS: readonly Subject[] = [
  {
    name: "mp3",
    format: "mp3",
    rateHz: RATE,
    channels: 1,
    sound: () => encodedNoise(mono, ["-f", "mp3", "-b:a", "64k"]),
  },
  {
    name: "mp3 of variable bitrate",
    format: "mp3",
    rateHz: 44100,
    channels: 2,
    sound: () => encodedNoise({ seconds: 1, rateHz: 44100, channels: 2 }, ["-f", "mp3", "-q:a", "4"]),
  },
  { name: "wav", format: "wav", rateHz: RATE, channels: 1, sound: async () => wav(noise(60_000)) },
  { name: "ogg_opus", format: "ogg_opus", rateHz: 48000, channels: 1, sound: opus },
  {
    // Damages the packets before the checksums are computed, because the checksums would reveal nearly all damage.
    name: "ogg_opus with damage under its checksums",
    format: "ogg_opus",
    rateHz: 48000,
    channels: 1,
    sound: opus,
    damage: (sound, seed) => {
      const below = numbers(seed);
      const hit = below(50);
      return rewritten(sound, {
        segmentsPerPage: 1 + below(255),
        packet: (packet, index) => (index === hit ? damaged(packet, seed) : packet),
        granule: (granule, page) => (below(40) === 0 ? granule * below(3) + page : granule),
        head: (head) => below(4) === 0 && head.writeUInt8(below(256), 8 + below(11)),
      });
    },
  },
];

describeWithFfprobe("damaged parts", () => {
  test.each(SUBJECTS)(
    "are reported or play: $name",
    { timeout: 120_000 },
    async ({ format, rateHz, channels, sound, damage }) => {
      const whole = await sound();
      const startKib = process.resourceUsage().maxRSS;
      const outcomes = { refused: 0, joined: 0 };
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const bytes = (damage ?? damaged)(whole, seed);
        const file = await joined(format, [
          { bytes: whole },
          { bytes },
          { bytes: whole, pauseAfterSeconds: 0.1 },
        ]).catch((error: unknown) => error);
        if (file instanceof Error) {
          const isReported = file instanceof DamagedPartError || file instanceof PartsDifferError;
          expect(isReported, `seed ${seed}: ${file.stack}`).toBe(true);
          if (file instanceof DamagedPartError) expect(file.partIndex, `seed ${seed}`).toBe(1);
          outcomes.refused += 1;
          continue;
        }
        outcomes.joined += 1;
        const { sizeBytes, durationSeconds, bytes: all, parts } = file as Awaited<ReturnType<typeof joined>>;
        expect(sizeBytes).toBe(all.byteLength);
        expect(sizeBytes).toBeLessThan(2 * whole.byteLength + bytes.byteLength + 30_000);
        const times = [
          ...parts.flatMap(({ startSeconds, endSeconds }) => [startSeconds, endSeconds]),
          durationSeconds,
        ];
        expect(
          times.every((time, index) => time >= (times[index - 1] ?? 0)),
          `seed ${seed}: ${times}`,
        ).toBe(true);
        if (outcomes.joined % PLAYED !== 0) continue;
        if (format === "mp3" || format === "ogg_opus") {
          // The sound of the part after a damaged one must not change.
          const start = Math.round((parts[2]?.startSeconds ?? 0) * rateHz) * channels;
          const alone = await decodeSamples(whole, format);
          expect(largestDifference(alone, await decodeSamples(all, format), start), `seed ${seed}`).toBe(0);
        }
        const probed = await probeAudio(all, { format, sampleRateHz: rateHz });
        expect(probed.durationSeconds, `seed ${seed}`).toBeCloseTo(durationSeconds, 1);
      }
      // Both outcomes must occur, otherwise the damage is too weak or too strong.
      expect(outcomes.refused).toBeGreaterThan(0);
      expect(outcomes.joined).toBeGreaterThan(0);
      expect((process.resourceUsage().maxRSS - startKib) / 1024).toBeLessThan(MAX_GROWTH_MIB);
    },
  );
});
