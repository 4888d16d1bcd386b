/** The facts of a saved copy of audio, and of a file that is to be replaced. */

export interface SavedFile {
  /** Absolute real path. */
  path: string;
  sizeBytes: number;
  sha256: string;
  savedAtMs: number;
  /**
   * False for bytes that do not match their format. Such bytes are kept as `.bin`, reported, and never delivered as
   * audio.
   */
  matchesFormat: boolean;
}

/** A file that this server saved, and that a person wants to replace. */
export interface FileToReplace {
  /** Only a file with exactly these bytes is replaced. */
  sizeBytes: number;
  sha256: string;
  /** Its file name, with extension. */
  name: string;
  /** The free name to which the file is moved while it is being replaced. */
  movedTo: string;
}
