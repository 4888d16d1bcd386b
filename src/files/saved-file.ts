/** Owns what is known of one saved copy of an audio; knows neither how it was saved nor where that is remembered. */

/** One copy of the audio on one machine: `place` is machine and output folder, so that a store can be shared. */
export interface SavedFile {
  place: string;
  /** Absolute, with real path. */
  path: string;
  sizeBytes: number;
  sha256: string;
  savedAtMs: number;
  /** False for bytes that do not look like their format: kept as `.bin`, reported, never handed out as audio. */
  isSound: boolean;
}
