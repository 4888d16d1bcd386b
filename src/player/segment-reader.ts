/** Divides a sound into segments that a browser can decode separately. */
import type { PieceLoader } from "./pieces.ts";

export interface Segment {
  /** Start of the segment, in seconds of the whole sound. */
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** Seconds of sound before `startSeconds`. The decoder needs this sound, but it must not be heard. */
  readonly leadInSeconds: number;
  readonly isLast: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mimeType: string;
}

/** A sound of any length, which is read in segments. */
export interface SegmentReader {
  readonly durationSeconds: number;
  /** True while parts of the sound are being made, so that times may move. */
  readonly isGrowing?: boolean;
  /** Whether the segment that contains a moment can be read at once; it can if the method is absent. */
  isThere?(seconds: number): boolean;
  /**
   * Reads the segment that contains a moment. Waits until it is made.
   *
   * @returns null if it is not coming any more, and none after it
   * @throws HostError, DamagedFileError
   */
  readAt(seconds: number): Promise<Segment | null>;
  /** Reads the segment that follows another one, in a sound whose times may move; otherwise like `readAt`. */
  readAfter?(segment: Segment): Promise<Segment | null>;
  /** Goes on without a segment that cannot be decoded. If the method is absent, such a segment is an error. */
  passOver?(segment: Segment, reason: string): void;
}

/** Reads a sound that is there as a whole. */
export interface CompleteSound extends SegmentReader {
  readAt(seconds: number): Promise<Segment>;
}

/** Thrown if bytes do not match the format of their file. */
export class DamagedFileError extends Error {
  constructor() {
    super("The file cannot be read as sound.");
  }
}

/**
 * Maximum size and duration of a file that plays as a whole. Decoding 6 MB of mp3 at once takes 240 MB of memory or
 * more.
 */
export const MAX_WHOLE_BYTES = 2 * 1024 * 1024;
export const MAX_WHOLE_SECONDS = 300;

/** Overlap of a segment with the next segment, so that the next segment can start before this segment ends. */
export const OVERLAP_SECONDS = 0.3;

/** Returns a view of the same memory, even if the bytes are only a part of a larger buffer. */
export const toDataView = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads the four letters at an offset. */
export const readChunkTag = (bytes: Uint8Array, offset: number): string =>
  String.fromCharCode(...bytes.subarray(offset, offset + 4));

export type CutSegment = Omit<Segment, "isLast">;

/** Cuts segments from a file of one format. */
export interface Cutter {
  /** Offset in the file at which the sound begins. */
  readonly startOffset: number;
  readonly endOffset: number;
  /** Duration of the sound, or null if the file does not state it. */
  readonly durationSeconds: number | null;
  /** Number of bytes of a segment in the file. Segments are small, because decoded sound takes much memory. */
  readonly segmentBytes: number;
  /** Number of bytes before a segment that are needed to decode it. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /**
   * Cuts out a segment: all frames that begin at file positions from `begin` up to, but not including, `end`.
   *
   * @param bytes the bytes of the file from `offset` on, at least as many as the segment needs
   * @param startSeconds start time of the segment in seconds, known from the previous segment or estimated
   */
  cut(
    bytes: Uint8Array<ArrayBuffer>,
    offset: number,
    begin: number,
    end: number,
    startSeconds: number,
  ): CutSegment;
}

/**
 * Divides a file into segments of equal size. The start time of a segment is estimated until the previous segment has
 * been read.
 */
export function createSegmentReader(
  pieces: PieceLoader,
  cutter: Cutter,
  statedSeconds: number | null,
): CompleteSound {
  const size = cutter.endOffset - cutter.startOffset;
  const { segmentBytes } = cutter;
  // If no duration is stated, assume 64 kbit/s, the usual bitrate of speech.
  const seconds = cutter.durationSeconds ?? statedSeconds ?? size / 8000;
  const startSecondsByIndex = new Map<number, number>([[0, 0]]);
  const count = Math.max(1, Math.ceil(size / segmentBytes));
  const estimateStartSeconds = (index: number): number => ((index * segmentBytes) / size) * seconds;
  const getStartSeconds = (index: number): number =>
    startSecondsByIndex.get(index) ?? estimateStartSeconds(index);

  const load = async (index: number): Promise<Segment> => {
    const begin = cutter.startOffset + index * segmentBytes;
    const end = index === count - 1 ? cutter.endOffset : begin + segmentBytes;
    const readOffset = Math.max(cutter.startOffset, begin - cutter.bytesBefore);
    const bytes = await pieces.read(
      readOffset,
      Math.min(cutter.endOffset, end + cutter.bytesAfter) - readOffset,
    );
    const cut = cutter.cut(bytes, readOffset, begin, end, getStartSeconds(index));
    const segment = { ...cut, isLast: index === count - 1 };
    startSecondsByIndex.set(index, segment.startSeconds);
    startSecondsByIndex.set(index + 1, segment.endSeconds);
    return segment;
  };

  return {
    durationSeconds: seconds,
    async readAt(moment) {
      let index = Math.min(count - 1, Math.max(0, Math.floor((moment / seconds) * count)));
      while (index > 0 && getStartSeconds(index) > moment) index -= 1;
      while (index < count - 1 && getStartSeconds(index + 1) <= moment) index += 1;
      const segment = await load(index);
      // If the segment's start time was an estimate, `moment` may lie in the next segment.
      return moment >= segment.endSeconds && index < count - 1 ? await load(index + 1) : segment;
    },
  };
}
