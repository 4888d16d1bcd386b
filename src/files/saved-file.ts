/** What is known of one saved copy of an audio. */

export interface SavedFile {
  /** Absolute, with real path. */
  path: string;
  sizeBytes: number;
  sha256: string;
  savedAtMs: number;
  /** False for bytes that do not look like their format: kept as `.bin`, reported, never handed out as audio. */
  isSound: boolean;
}
