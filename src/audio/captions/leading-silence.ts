/**
 * Measures the silence before each part's first sound, so that a timeline can position the sound itself instead of the
 * file's beginning.
 */
import type { OutputFormat } from "../../contract/audio-format.ts";
import type { JoinPart } from "../join-request.ts";
import { PartFiles } from "../part-file.ts";
import { LOUDNESS_METERS } from "./captions.ts";
import { measureLeadingSilence } from "./silences.ts";

/**
 * Maximum silence to report. A part that is quiet for longer probably begins with an intended pause or a soft sound.
 * The timeline starts each part earlier by the reported silence. If the whole silence were reported, the soft sound
 * would be heard too early.
 */
const MAX_LEADING_SECONDS = 0.5;

/**
 * Measures how long each part is silent before its first sound.
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
  const files = new PartFiles(
    format,
    parts.map(({ path }) => path),
    signal,
  );
  return await files.mapParts(async (file, index) => {
    const part = parts[index];
    return part === undefined
      ? 0
      : Math.min(MAX_LEADING_SECONDS, measureLeadingSilence(await measureLoudness(file, part)));
  });
}
