/** Iterates over the frames of an mp3 file and skips all other bytes. */
import { type PartFile, WINDOW_BYTES } from "../part-file.ts";
import {
  canShareStream,
  type FrameHeader,
  HEADER_BYTES,
  isFreeFormat,
  MAX_FRAME_BYTES,
  parseFrameHeaderAt,
} from "./frame-header.ts";
import { type ByteRange, findAudioRange } from "./tags.ts";

export interface Frame {
  readonly header: FrameHeader;
  /** The whole frame. The next batch overwrites this buffer. */
  readonly bytes: Buffer;
  /** True if the frame does not directly follow another frame. The decoder then has no data of earlier frames. */
  readonly followsGap: boolean;
}

/** Finds the frames in successive windows of a part, and keeps the state from one window to the next. */
class FrameScanner {
  /** The header of the first frame. The headers of all other frames must match it. */
  #firstHeader: FrameHeader | undefined;
  /** True if the next frame is expected exactly where the previous frame ended. */
  #isInStep = false;
  skippedBytes = 0;
  frameBytes = 0;
  readonly #file: PartFile;

  constructor(file: PartFile) {
    this.#file = file;
  }

  /**
   * Finds the frames of a window.
   *
   * @param isLast whether the sound ends with this window
   * @returns the frames, and how many bytes of the window were consumed
   */
  scanWindow(window: Buffer, isLast: boolean): { readonly frames: Frame[]; readonly doneBytes: number } {
    const frames: Frame[] = [];
    let offset = 0;
    // The window must contain the whole frame and the next header, because the next header confirms the frame.
    const needed = isLast ? HEADER_BYTES : MAX_FRAME_BYTES + HEADER_BYTES;
    while (offset + needed <= window.byteLength) {
      const header = parseFrameHeaderAt(window, offset);
      const end = offset + (header?.frameBytes ?? 0);
      if (header === null || !this.#isTrusted(header, window, end)) {
        offset += this.#skip(window, offset);
        continue;
      }
      // Omit a truncated last frame.
      if (end > window.byteLength) break;
      this.#firstHeader ??= header;
      frames.push({ header, bytes: window.subarray(offset, end), followsGap: !this.#isInStep });
      this.#isInStep = true;
      this.frameBytes += header.frameBytes;
      offset = end;
    }
    return { frames, doneBytes: isLast ? window.byteLength : offset };
  }

  /** Skips at least one byte, up to the next byte that may begin a header. */
  #skip(window: Uint8Array, offset: number): number {
    this.#isInStep = false;
    const next = window.indexOf(0xff, offset + 1);
    const skipped = (next === -1 ? window.byteLength : next) - offset;
    this.skippedBytes += skipped;
    return skipped;
  }

  #isTrusted(header: FrameHeader, window: Uint8Array, end: number): boolean {
    const isLike = this.#firstHeader === undefined || canShareStream(header, this.#firstHeader);
    if (this.#isInStep && isLike) return true;
    const next = parseFrameHeaderAt(window, end);
    const isFollowed = end === window.byteLength || (next !== null && canShareStream(header, next));
    if (isFollowed && !isLike) throw this.#file.damagedPartError("its rate or channels change midway");
    return isFollowed;
  }
}

/**
 * Yields the frames of a part in order, one batch per window. Skips tags and all other bytes outside frames, and omits
 * a truncated last frame.
 *
 * @throws DamagedPartError if there is no frame, if a frame has free format, if rate or channels change, or if most
 *   bytes between the tags lie outside frames
 */
export async function* readFrames(file: PartFile): AsyncGenerator<readonly Frame[]> {
  const range: ByteRange = await findAudioRange(file);
  if (isFreeFormat(await file.readBytes(range.start, HEADER_BYTES)))
    throw file.damagedPartError("it is of free format");
  const scanner = new FrameScanner(file);
  for (let offset = range.start; offset < range.end; ) {
    const window = await file.readBytes(offset, Math.min(WINDOW_BYTES, range.end - offset));
    const { frames, doneBytes } = scanner.scanWindow(window, offset + window.byteLength === range.end);
    if (frames.length > 0) yield frames;
    offset += doneBytes;
  }
  if (scanner.frameBytes === 0) throw file.damagedPartError("there is no frame in it");
  if (scanner.skippedBytes > scanner.frameBytes)
    throw file.damagedPartError("most of it is neither frame nor tag");
}
