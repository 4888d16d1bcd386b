/** Joins bytes. */
export const concatBytes = (...parts: Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let writtenBytes = 0;
  for (const part of parts) {
    joined.set(part, writtenBytes);
    writtenBytes += part.length;
  }
  return joined;
};
