/** Owns giving a chunk's memory back at once, instead of when the collector comes by; knows no download. */

/**
 * Frees a chunk that nobody needs any more. Sockets hand out 64 KiB at a time, and the collector, which sees only
 * the small wrappers, would let tens of MiB of them pile up. A chunk that shares its memory with others is left.
 */
export function releaseBytes(chunk: Uint8Array): void {
  const { buffer } = chunk;
  const isWhole = buffer instanceof ArrayBuffer && chunk.byteLength === buffer.byteLength;
  if (isWhole && !buffer.detached) buffer.transfer(0);
}
