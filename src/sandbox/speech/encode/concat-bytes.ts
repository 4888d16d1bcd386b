/** Concatenates byte arrays. */

/** Returns an array with memory of its own, because the pooled memory of a small Buffer cannot go to another thread. */
export const concatBytes = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
