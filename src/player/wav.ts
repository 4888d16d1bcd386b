/** Cuts wav and pcm files, and writes a wav header for each segment. */
import { concatBytes } from "./concat-bytes.ts";
import {
  type Cutter,
  DamagedFileError,
  OVERLAP_SECONDS,
  readChunkTag,
  toDataView,
} from "./segment-reader.ts";

/** Builds the `fmt ` chunk for 16-bit samples of one channel. */
export function buildPcmLayout(sampleRateHz: number): Uint8Array {
  const chunk = new Uint8Array(16);
  const view = toDataView(chunk);
  view.setUint16(0, 1, true);
  view.setUint16(2, 1, true);
  view.setUint32(4, sampleRateHz, true);
  view.setUint32(8, sampleRateHz * 2, true);
  view.setUint16(12, 2, true);
  view.setUint16(14, 16, true);
  return chunk;
}

/**
 * Builds a wav file.
 *
 * @param layout content of the `fmt ` chunk, which describes the samples
 */
export function buildWav(layout: Uint8Array, samples: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(20);
  head.set(new TextEncoder().encode("RIFF\0\0\0\0WAVEfmt "));
  toDataView(head).setUint32(4, 20 + layout.length + samples.length, true);
  toDataView(head).setUint32(16, layout.length, true);
  const data = new Uint8Array(8);
  data.set(new TextEncoder().encode("data"));
  toDataView(data).setUint32(4, samples.length, true);
  return concatBytes(head, layout, data, samples);
}

/**
 * Creates the cutter for uncompressed samples in a file.
 *
 * @param start offset of the samples in the file
 */
export function createSamplesCutter(layout: Uint8Array, start: number, end: number): Cutter {
  const view = toDataView(layout);
  const [bytesPerSecond, frameBytes] = [view.getUint32(8, true), view.getUint16(12, true)];
  // Refuse a file with more than 6 MB for each second of sound, because one segment would be too large.
  if (bytesPerSecond === 0 || bytesPerSecond > 6e6 || frameBytes === 0 || end <= start)
    throw new DamagedFileError();
  const roundToWholeFrames = (bytes: number): number => bytes - (bytes % frameBytes);
  return {
    startOffset: start,
    endOffset: end,
    durationSeconds: (end - start) / bytesPerSecond,
    segmentBytes: 1024 * 1024,
    bytesBefore: frameBytes,
    bytesAfter: roundToWholeFrames(bytesPerSecond * OVERLAP_SECONDS) + frameBytes,
    cut(bytes, offset, begin, finish) {
      // Round to whole frames, because the edges of a segment may lie inside a frame.
      const [first, last] = [roundToWholeFrames(begin - start), roundToWholeFrames(finish - start)];
      const samples = bytes.subarray(start + first - offset);
      return {
        startSeconds: first / bytesPerSecond,
        endSeconds: last / bytesPerSecond,
        leadInSeconds: 0,
        bytes: buildWav(layout, samples.subarray(0, roundToWholeFrames(samples.length))),
        mimeType: "audio/wav",
      };
    },
  };
}

/**
 * Creates the cutter of a wav file.
 *
 * @param head the beginning of the file
 */
export function createWavCutter(head: Uint8Array, sizeBytes: number): Cutter {
  const view = toDataView(head);
  if (readChunkTag(head, 8) !== "WAVE") throw new DamagedFileError();
  let layout: Uint8Array | undefined;
  for (let chunkOffset = 12; chunkOffset + 8 <= head.length; ) {
    const length = view.getUint32(chunkOffset + 4, true);
    if (readChunkTag(head, chunkOffset) === "fmt ")
      layout = head.slice(chunkOffset + 8, chunkOffset + 8 + Math.min(length, 40));
    if (readChunkTag(head, chunkOffset) === "data" && layout !== undefined && layout.length >= 16) {
      // A length of 0, or a length beyond the end of the file (as in RF64), means all bytes up to the end of the file.
      const end = chunkOffset + 8 + length;
      return createSamplesCutter(layout, chunkOffset + 8, length === 0 || end > sizeBytes ? sizeBytes : end);
    }
    chunkOffset += 8 + length + (length % 2);
  }
  throw new DamagedFileError();
}
