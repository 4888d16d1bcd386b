/** Owns how long each phase of a request may take; knows no socket. */

/** All in milliseconds; none of them is scaled by `AUDIO_TIME_SCALE`, which is about the service's limits. */
export interface Deadlines {
  /** For a connection, TLS and proxy included. */
  readonly connectMs: number;
  /** For a whole create, from call to parsed answer. */
  readonly createMs: number;
  /** For a whole query, and for a HEAD of the content. */
  readonly queryMs: number;
  /** From asking for the content to its headers. */
  readonly contentHeadersMs: number;
  /** Without a byte of a body. The total of a download is its caller's to bound. */
  readonly idleBodyMs: number;
}

export const DEADLINES: Deadlines = {
  connectMs: 10_000,
  createMs: 60_000,
  queryMs: 30_000,
  contentHeadersMs: 30_000,
  idleBodyMs: 30_000,
};
