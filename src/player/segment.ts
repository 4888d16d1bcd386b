/** A segment: a stretch of the sound that a browser can decode alone. */
import type { Pieces } from "./pieces.ts";

export interface Segment {
  /** In seconds of the whole sound. */
  readonly from: number;
  readonly to: number;
  /** Seconds of sound in front of `from`, which the decoder needs and nobody is to hear. */
  readonly lead: number;
  /** Nothing follows. */
  readonly isLast: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mimeType: string;
}

/** A sound of any length, as segments. */
export interface Source {
  readonly seconds: number;
  /** The segment that holds a moment. @throws HostError, DamagedError */
  at(seconds: number): Promise<Segment>;
}

/** The bytes are not what their name says. */
export class DamagedError extends Error {
  constructor() {
    super("The file cannot be read as sound.");
  }
}

/** Larger or longer files are played in segments, because decoding 6 MB of mp3 at once costs a browser 240 MB and more. */
export const MAX_WHOLE_BYTES = 2 * 1024 * 1024;
export const MAX_WHOLE_SECONDS = 300;

/** A little of what follows, so that the next segment may begin before this one has run out. */
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

/** The four letters at a place. */
export const tag = (bytes: Uint8Array, at: number): string =>
  String.fromCharCode(...bytes.subarray(at, at + 4));

export type Cut = Omit<Segment, "isLast">;

/** How one format is cut. */
export interface Cutter {
  /** Where sound begins and ends in the file. */
  readonly start: number;
  readonly end: number;
  /** `null`: the file does not state it. */
  readonly seconds: number | null;
  /** About a minute of speech in each segment, because decoded sound takes memory by its length. */
  readonly segmentBytes: number;
  /** Bytes needed in front of a segment, and behind it. */
  readonly before: number;
  readonly after: number;
  /**
   * @param bytes of the file from `offset` on; the segment is what begins in [`begin`, `end`) of the file
   * @param from when it begins, where that is known from the segment before it, else reckoned
   */
  cut(bytes: Uint8Array<ArrayBuffer>, offset: number, begin: number, end: number, from: number): Cut;
}

/** Segments on a grid of bytes; when each begins is known once those in front of it were played, and reckoned before. */
export function segmented(pieces: Pieces, cutter: Cutter, secondsTold: number | null): Source {
  const size = cutter.end - cutter.start;
  const { segmentBytes } = cutter;
  // At last by what speech usually takes: 64 kbit/s.
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
