/** Finds the silences inside a part, and before its first sound. */
import type { OutputFormat } from "../../contract/audio-format.ts";
import type { JoinPart } from "../join-request.ts";
import type { Loudness } from "../loudness.ts";
import { measureMp3Loudness } from "../mp3/mp3-loudness.ts";
import { mapParts, type PartFile } from "../part-file.ts";
import { measurePcmLoudness, measureWavLoudness } from "../raw/sample-loudness.ts";

type SizedPart = Pick<JoinPart, "durationSeconds" | "sampleRateHz">;

/**
 * The functions that measure loudness, by format. There is none for Opus, because the silences of Opus could only be
 * guessed from the sizes of packets. An estimate from the lengths of the sentences is more exact.
 */
const LOUDNESS_METERS: Readonly<
  Partial<Record<OutputFormat, (file: PartFile, part: SizedPart) => Promise<Loudness>>>
> = {
  mp3: measureMp3Loudness,
  wav: measureWavLoudness,
  pcm: measurePcmLoudness,
};

/** A silence. Its times are relative to the beginning of the part's sound. */
export interface Silence {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Position of the threshold for silence between the quietest level (0) and the loudest level (1). */
const THRESHOLD_SHARE = 0.35;
/**
 * Maximum difference between the loudest and the quietest level, in decibels. If the difference is larger, for example
 * because of digital silence, the threshold is computed from this maximum.
 */
const RANGE_DB = 60;
const QUIET_PERCENTILE = 0.05;
const LOUD_PERCENTILE = 0.95;
/**
 * Minimum length of a silence; the 1e-6 allows for rounding errors. Shorter silences occur inside words, for example
 * before a "p".
 */
const MIN_SILENCE_SECONDS = 0.08 - 1e-6;

function computePercentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/**
 * A leading silence is more than this many decibels below the part's loud sound. The difference is large, so that a
 * soft beginning of the voice does not count as silence.
 */
const SOFT_DB = 40;

/**
 * Maximum leading silence to report. A part that is quiet for longer probably begins with an intended pause or a soft
 * sound. The timeline starts each part earlier by the reported silence. If the whole silence were reported, the soft
 * sound would be heard too early.
 */
const MAX_LEADING_SECONDS = 0.5;

const sortLevels = ({ levelsDb }: Loudness): number[] => [...levelsDb].sort((one, other) => one - other);

/**
 * Measures how long each part is silent before its first sound, so that a timeline can position the sound itself
 * instead of the file's beginning.
 *
 * @returns the silence of each part in seconds; 0 for Opus, whose loudness cannot be measured
 * @throws DamagedPartError if a part cannot be read
 * @throws the reason of the signal, if the signal is aborted
 */
export async function findLeadingSilences(
  format: OutputFormat,
  parts: readonly JoinPart[],
  signal: AbortSignal,
): Promise<number[]> {
  const measureLoudness = LOUDNESS_METERS[format];
  if (measureLoudness === undefined) return parts.map(() => 0);
  return await mapParts(format, parts, signal, async (file, part) => {
    const loudness = await measureLoudness(file, part);
    const thresholdDb = computePercentile(sortLevels(loudness), LOUD_PERCENTILE) - SOFT_DB;
    const first = loudness.levelsDb.findIndex((level) => level >= thresholdDb);
    if (first < 1) return 0;
    const seconds = first * loudness.stepSeconds + loudness.offsetSeconds + loudness.blurSeconds / 2;
    return Math.min(MAX_LEADING_SECONDS, Math.max(0, seconds));
  });
}

/**
 * Finds the silences between sounds, in order; none for Opus. Omits a silence at the beginning or end of the part,
 * because such a silence separates no sentences.
 */
export async function findSilences(
  format: OutputFormat,
  file: PartFile,
  part: SizedPart,
): Promise<Silence[]> {
  const loudness = await LOUDNESS_METERS[format]?.(file, part);
  if (loudness === undefined) return [];
  const { levelsDb, stepSeconds, offsetSeconds, blurSeconds } = loudness;
  const sorted = sortLevels(loudness);
  const loudDb = computePercentile(sorted, LOUD_PERCENTILE);
  const quietDb = Math.max(computePercentile(sorted, QUIET_PERCENTILE), loudDb - RANGE_DB);
  const thresholdDb = quietDb + THRESHOLD_SHARE * (loudDb - quietDb);
  const silences: Silence[] = [];
  let startStep: number | undefined;
  let hasSounded = false;
  for (const [step, level] of levelsDb.entries()) {
    if (level < thresholdDb) {
      startStep ??= step;
      continue;
    }
    if (startStep !== undefined && hasSounded) {
      const startSeconds = startStep * stepSeconds + offsetSeconds - blurSeconds / 2;
      const endSeconds = step * stepSeconds + offsetSeconds + blurSeconds / 2;
      if (endSeconds - startSeconds >= MIN_SILENCE_SECONDS) silences.push({ startSeconds, endSeconds });
    }
    startStep = undefined;
    hasSounded = true;
  }
  return silences;
}
