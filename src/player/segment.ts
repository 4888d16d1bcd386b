/** A segment: a stretch of the sound that a browser can decode alone. */
import type { Pieces } from "./pieces.ts";

export interface Segment {
  /** Start, in seconds of the whole sound. */
  readonly from: number;
  readonly to: number;
  /** Seconds of sound before `from`, which the decoder needs and which must not be heard. */
  readonly lead: number;
  /** Whether this is the last segment. */
  readonly isLast: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mimeType: string;
}

/** A sound of any length, as segments. */
export interface Source {
  readonly seconds: number;
  /** Reads the segment that contains a moment. @throws HostError, DamagedError */
  at(seconds: number): Promise<Segment>;
}

/** The bytes do not match the file's format. */
export class DamagedError extends Error {
  constructor() {
    super("The file cannot be read as sound.");
  }
}

/** Larger or longer files are played in segments, because decoding 6 MB of mp3 at once costs a browser 240 MB and more. */
export const MAX_WHOLE_BYTES = 2 * 1024 * 1024;
export const MAX_WHOLE_SECONDS = 300;

/** Overlap with the next segment, so that it can start before this one ends. */
export const TAIL_SECONDS = 0.3;

export const concat = (...parts: Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads the four letters at an offset. */
export const tag = (bytes: Uint8Array, at: number): string =>
  String.fromCharCode(...bytes.subarray(at, at + 4));

export type Cut = Omit<Segment, "isLast">;

/** How one format is cut. */
export interface Cutter {
  /** Offset in the file at which the sound begins. */
  readonly start: number;
  readonly end: number;
  /** `null`: the file does not state it. */
  readonly seconds: number | null;
  /** Bytes of about a minute of speech, because decoded sound takes memory in proportion to its length. */
  readonly segmentBytes: number;
  /** Bytes that decoding needs before a segment. */
  readonly before: number;
  readonly after: number;
  /**
   * @param bytes of the file from `offset` on; the segment has the frames that begin in [`begin`, `end`) of the file
   * @param from when it begins, known from the segment before it or estimated
   */
  cut(bytes: Uint8Array<ArrayBuffer>, offset: number, begin: number, end: number, from: number): Cut;
}

/** Divides a file into segments of equal size. The start of a segment is exact once the one before was read, and estimated until then. */
export function segmented(pieces: Pieces, cutter: Cutter, secondsTold: number | null): Source {
  const size = cutter.end - cutter.start;
  const { segmentBytes } = cutter;
  // Falls back to the usual bitrate of speech, 64 kbit/s.
  const seconds = cutter.seconds ?? secondsTold ?? size / 8000;
  const starts = new Map<number, number>([[0, 0]]);
  const count = Math.max(1, Math.ceil(size / segmentBytes));
  const reckoned = (index: number): number => ((index * segmentBytes) / size) * seconds;
  const startOf = (index: number): number => starts.get(index) ?? reckoned(index);

  const load = async (index: number): Promise<Segment> => {
    const begin = cutter.start + index * segmentBytes;
    const end = index === count - 1 ? cutter.end : begin + segmentBytes;
    const first = Math.max(cutter.start, begin - cutter.before);
    const bytes = await pieces.read(first, Math.min(cutter.end, end + cutter.after) - first);
    const cut = cutter.cut(bytes, first, begin, end, startOf(index));
    const segment = { ...cut, isLast: index === count - 1 };
    starts.set(index, segment.from);
    starts.set(index + 1, segment.to);
    return segment;
  };

  return {
    seconds,
    async at(moment) {
      let index = Math.min(count - 1, Math.max(0, Math.floor((moment / seconds) * count)));
      while (index > 0 && startOf(index) > moment) index -= 1;
      while (index < count - 1 && startOf(index + 1) <= moment) index += 1;
      const segment = await load(index);
      // The estimate may have been slightly wrong.
      return moment >= segment.to && index < count - 1 ? await load(index + 1) : segment;
    },
  };
}
