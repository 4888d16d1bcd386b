/** Estimates the loudness of an mp3 part from the side information of its frames, without decoding sound. */
import { type Loudness, SILENT_DB } from "../loudness.ts";
import type { PartFile } from "../part-file.ts";
import type { Frame } from "./frames.ts";
import type { InfoFrame } from "./info-frame.ts";
import { readSoundFrames } from "./read-mp3.ts";
import { type GranuleChannel, parseGranules } from "./side-information.ts";

const GRANULE_SAMPLES = 576;
/** Decibels per step of the gain: four steps double the amplitude. */
const DB_PER_STEP = 20 * Math.log10(2 ** 0.25);
/** The gain at which the standard's formula multiplies values by 1. */
const FULL_SCALE_GAIN = 210;
/** Delay between a granule's position in the file and its sound. The window and the filter bank cause this delay. */
const DELAY_SAMPLES = 529;

function computeLevelDb({ part23Length, bigValues, gain }: GranuleChannel): number {
  if (bigValues === 0 || part23Length === 0) return SILENT_DB;
  // At the same gain, a granule with more large values has more energy.
  return (gain - FULL_SCALE_GAIN + 4 * Math.log2(1 + bigValues)) * DB_PER_STEP;
}

/** Returns one level for each granule: the level of its louder channel. */
function measureFrameLevels(frame: Frame): number[] {
  const levels = parseGranules(frame).map(computeLevelDb);
  if (frame.header.channels === 1) return levels;
  return levels.flatMap((level, index) =>
    index % 2 === 0 ? [Math.max(level, levels[index + 1] ?? level)] : [],
  );
}

/** Measures the level of each granule. A granule lasts 24 ms at 24 kHz. */
export async function measureMp3Loudness(file: PartFile): Promise<Loudness> {
  const levelsDb: number[] = [];
  let sampleRateHz = 1;
  let information: InfoFrame | undefined;
  const sound = readSoundFrames(file, (frame) => {
    information = frame;
  });
  for await (const batch of sound) {
    for (const frame of batch) {
      sampleRateHz = frame.header.sampleRateHz;
      levelsDb.push(...measureFrameLevels(frame));
    }
  }
  const leadingSamples = information?.encoderPadding?.leadingSamples ?? 0;
  return {
    levelsDb,
    stepSeconds: GRANULE_SAMPLES / sampleRateHz,
    offsetSeconds: (DELAY_SAMPLES - leadingSamples) / sampleRateHz,
    // The window of a granule reaches half a granule into each of its neighbours.
    blurSeconds: GRANULE_SAMPLES / sampleRateHz,
  };
}
