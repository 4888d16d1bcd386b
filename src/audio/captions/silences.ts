/** Finds the silences inside a part. */
import type { Loudness } from "../loudness.ts";

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

/** Returns how long a part is silent before its first sound, in seconds. */
export function measureLeadingSilence({
  levelsDb,
  stepSeconds,
  offsetSeconds,
  blurSeconds,
}: Loudness): number {
  const sorted = [...levelsDb].sort((one, other) => one - other);
  const thresholdDb = computePercentile(sorted, LOUD_PERCENTILE) - SOFT_DB;
  const first = levelsDb.findIndex((level) => level >= thresholdDb);
  return first < 1 ? 0 : Math.max(0, first * stepSeconds + offsetSeconds + blurSeconds / 2);
}

/**
 * Finds the silences between sounds, in order. Omits a silence at the beginning or end of the part, because such a
 * silence separates no sentences.
 */
export function findSilences({ levelsDb, stepSeconds, offsetSeconds, blurSeconds }: Loudness): Silence[] {
  const sorted = [...levelsDb].sort((one, other) => one - other);
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
