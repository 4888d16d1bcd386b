/** Loudness of a part over time, as far as it can be read without a decoder. */
import type { OutputFormat } from "../../contract/audio-format.ts";
import type { PartFile } from "../part-file.ts";

export interface Loudness {
  /** One value a step, in decibels of any reference; {@link SILENT_DB} or below is no sound at all. */
  readonly levelsDb: readonly number[];
  readonly stepSeconds: number;
  /** Where the first step begins, counted from the beginning of the part's sound. */
  readonly offsetSeconds: number;
  /** How much shorter silences look than they are, because a step also has the sound beside it. */
  readonly blurSeconds: number;
}

/** Less than the smallest step of 16 bits. */
export const SILENT_DB = -100;

/** Finds out how loud a part is; the formats that can are those that have one of these. */
export type Listen = (
  file: PartFile,
  part: { durationSeconds: number; sampleRateHz: number },
) => Promise<Loudness>;

export type Listeners = Readonly<Partial<Record<OutputFormat, Listen>>>;
