/** Measures how long the audio of a file is without decoding it, and whether it is shorter than the service stated. */
import type { OutputFormat } from "../contract/audio-format.ts";
import { readMp3 } from "./mp3/read-mp3.ts";
import { readSoundPackets } from "./ogg-opus/read-ogg-opus.ts";
import { DamagedPartError } from "./part-errors.ts";
import { mapParts, type PartFile } from "./part-file.ts";
import { computeFrameBytes, readWav } from "./raw/wav-file.ts";

const PCM_SAMPLE_BYTES = 2;
const OPUS_RATE_HZ = 48_000;

/**
 * How much shorter than stated whole audio may be, at least: encoders of compressed formats may leave out the last
 * frame.
 */
const MIN_TOLERANCE_SECONDS: Readonly<Record<OutputFormat, number>> = {
  wav: 0.001,
  pcm: 0.001,
  mp3: 0.1,
  ogg_opus: 0.1,
};

async function measureMp3(file: PartFile): Promise<number> {
  const { frameCount, header } = await readMp3(file);
  return (frameCount * header.samplesPerFrame) / header.sampleRateHz;
}

async function measureWav(file: PartFile): Promise<number> {
  const { sizeBytes, format } = await readWav(file);
  return sizeBytes / computeFrameBytes(format) / format.sampleRateHz;
}

/** Reads up to the first damaged page. */
async function measureOggOpus(file: PartFile): Promise<number> {
  let preSkip: number | null = null;
  let lastGranule = 0;
  try {
    const pages = readSoundPackets(file, (head) => {
      preSkip = head.preSkip;
    });
    for await (const { granule } of pages) lastGranule = granule ?? lastGranule;
  } catch (error) {
    if (!(error instanceof DamagedPartError) || preSkip === null) throw error;
  }
  return Math.max(0, lastGranule - (preSkip ?? 0)) / OPUS_RATE_HZ;
}

/** Measures the audio of a file in seconds, by format. Raw pcm counts as mono. */
const MEASURES: Readonly<Record<OutputFormat, (file: PartFile, sampleRateHz: number) => Promise<number>>> = {
  mp3: measureMp3,
  wav: measureWav,
  ogg_opus: measureOggOpus,
  pcm: async ({ sizeBytes }, sampleRateHz) => sizeBytes / PCM_SAMPLE_BYTES / sampleRateHz,
};

/** Whether audio is shorter than stated by more than the rounding of the stated number: 7.4 may stand for 7.35. */
function isShorterThanStated(format: OutputFormat, seconds: number, statedSeconds: number): boolean {
  const decimals = /\.(\d+)$/.exec(String(statedSeconds))?.[1]?.length ?? 0;
  const roundingSeconds = 0.5 * 10 ** -decimals;
  return seconds < statedSeconds - Math.max(MIN_TOLERANCE_SECONDS[format], roundingSeconds) - 1e-9;
}

/** Returns the length of audio that is shorter than the service stated; `null` if it is not, or cannot be measured. */
export async function measureIfShort(
  path: string,
  { format, sampleRateHz, statedSeconds }: StatedAudio,
): Promise<number | null> {
  if (statedSeconds === null) return null;
  try {
    const [seconds = statedSeconds] = await mapParts(format, [{ path }], undefined, (file) =>
      MEASURES[format](file, sampleRateHz),
    );
    return isShorterThanStated(format, seconds, statedSeconds) ? seconds : null;
  } catch (error) {
    if (error instanceof DamagedPartError) return null;
    throw error;
  }
}

/** What the service states of the audio of a task. */
export interface StatedAudio {
  readonly format: OutputFormat;
  readonly sampleRateHz: number;
  /** `null` if it states no length. */
  readonly statedSeconds: number | null;
}
