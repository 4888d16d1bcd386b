/** The facts of one saved copy of an audio, and of a copy that gives its name to another. */

export interface SavedFile {
  /** Absolute, with real path. */
  path: string;
  sizeBytes: number;
  sha256: string;
  savedAtMs: number;
  /** False for bytes that do not look like their format: kept as `.bin`, reported, never handed out as audio. */
  matchesFormat: boolean;
}

/** A file that this server saved, whose name another audio is to have, because the person wants that. */
export interface Replaced {
  /** Only a file with exactly these bytes gives way. */
  sizeBytes: number;
  sha256: string;
  /** The name that is to be given up, a plain one with its extension. */
  name: string;
  /** A plain name, free when it was chosen, that it has until the other audio is in its place. */
  movedTo: string;
}
