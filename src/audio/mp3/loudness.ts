/** Tells how loud an mp3 part is from what its frames say of themselves: no sound is decoded. */
import { type Loudness, SILENT_DB } from "../captions/loudness.ts";
import type { PartFile } from "../part-file.ts";
import type { Frame } from "./frames.ts";
import type { Information } from "./info-frame.ts";
import { soundOf } from "./read-mp3.ts";

const GRANULE_SAMPLES = 576;
/** Four steps of the gain double the amplitude. */
const DB_PER_STEP = 20 * Math.log10(2 ** 0.25);
/** The gain at which a value of 1 is a step of 16 bits: 210 stands for full scale in the standard's formula. */
const FULL_SCALE_GAIN = 210;
/** A granule sounds this much later than its place in the file: the middle of its window, and the filter bank. */
const DELAY_SAMPLES = 529;

const LENGTH_BITS = 12;
const BIG_VALUES_BITS = 9;
const GAIN_BITS = 8;

/** Where the granules' fields begin, and how many bits each takes, by version and channels. */
function layoutOf({ header }: Frame): {
  readonly firstBit: number;
  readonly bitsEach: number;
  readonly granules: number;
} {
  const { version, channels, samples } = header;
  const granules = samples / GRANULE_SAMPLES;
  const firstBit = version === "1" ? (channels === 1 ? 18 : 20) : channels === 1 ? 9 : 10;
  return { firstBit, bitsEach: version === "1" ? 59 : 63, granules };
}

function bitsAt(bytes: Uint8Array, bit: number, count: number): number {
  let value = 0;
  for (let index = bit; index < bit + count; index += 1) {
    value = value * 2 + (((bytes[index >> 3] ?? 0) >> (7 - (index & 7))) & 1);
  }
  return value;
}

/** One channel of one granule. */
function levelDb(bytes: Uint8Array, bit: number): number {
  const bigValues = bitsAt(bytes, bit + LENGTH_BITS, BIG_VALUES_BITS);
  if (bigValues === 0 || bitsAt(bytes, bit, LENGTH_BITS) === 0) return SILENT_DB;
  const gain = bitsAt(bytes, bit + LENGTH_BITS + BIG_VALUES_BITS, GAIN_BITS);
  // More values that are large, more energy at the same gain.
  return (gain - FULL_SCALE_GAIN + 4 * Math.log2(1 + bigValues)) * DB_PER_STEP;
}

function* levelsOf(frame: Frame): Generator<number> {
  const { firstBit, bitsEach, granules } = layoutOf(frame);
  const { channels, sideOffset } = frame.header;
  for (let granule = 0; granule < granules; granule += 1) {
    const levels = Array.from({ length: channels }, (_, channel) =>
      levelDb(frame.bytes, sideOffset * 8 + firstBit + (granule * channels + channel) * bitsEach),
    );
    yield Math.max(...levels);
  }
}

/** One value for each granule: 24 ms at 24 kHz. */
export async function mp3Loudness(file: PartFile): Promise<Loudness> {
  const levelsDb: number[] = [];
  let sampleRateHz = 1;
  let information: Information | undefined;
  const sound = soundOf(file, (told) => {
    information = told;
  });
  for await (const batch of sound) {
    for (const frame of batch) {
      sampleRateHz = frame.header.sampleRateHz;
      levelsDb.push(...levelsOf(frame));
    }
  }
  const leadingSamples = information?.edges?.leadingSamples ?? 0;
  return {
    levelsDb,
    stepSeconds: GRANULE_SAMPLES / sampleRateHz,
    offsetSeconds: (DELAY_SAMPLES - leadingSamples) / sampleRateHz,
    // The window of a granule reaches half a granule into each of its neighbours.
    blurSeconds: GRANULE_SAMPLES / sampleRateHz,
  };
}
