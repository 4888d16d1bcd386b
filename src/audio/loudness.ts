/** Defines the loudness of a part over time, as far as it can be measured without a decoder. */

export interface Loudness {
  /**
   * One value for each step, in decibels. The reference level is arbitrary. {@link SILENT_DB} or less means no sound.
   */
  readonly levelsDb: readonly number[];
  readonly stepSeconds: number;
  /** Start of the first step, relative to the beginning of the part's sound. */
  readonly offsetSeconds: number;
  /**
   * The duration by which every measured silence is too short, because a step that is only partly silent counts as
   * sound.
   */
  readonly blurSeconds: number;
}

/** The level of silence: below the smallest amplitude of 16-bit samples. */
export const SILENT_DB = -100;
