/** Makes the first pass over an mp3 part: finds its format, its length and the byte positions of its frames. */
import type { PartFile } from "../part-file.ts";
import type { FrameHeader } from "./frame-header.ts";
import { type Frame, readFrames } from "./frames.ts";
import { buildSilentFrame, type EncoderPadding, type InfoFrame, parseInfoFrame } from "./info-frame.ts";

export interface Mp3Part {
  readonly header: FrameHeader;
  /** A silent frame of the same format as the part's first frame. */
  readonly silentFrame: Uint8Array;
  /** True if all frames of the part have the same bitrate. */
  readonly isConstant: boolean;
  /** Number of frames of sound, at least one. */
  readonly frameCount: number;
  readonly audioBytes: number;
  readonly framePositions: FramePositions;
  /** The silence that the encoder added; always shorter than the whole sound. */
  readonly edges: EncoderPadding;
}

/**
 * Yields a part's frames in batches. Omits the information frame, which has no sound.
 *
 * @param onInformation receives the fields of the information frame
 */
export async function* readSoundFrames(
  file: PartFile,
  onInformation: (information: InfoFrame) => void = () => {},
): AsyncGenerator<readonly Frame[]> {
  let isFirst = true;
  for await (const batch of readFrames(file)) {
    const [first] = batch;
    const information = isFirst && first !== undefined ? parseInfoFrame(first) : undefined;
    isFirst = false;
    if (information !== undefined) onInformation(information);
    yield information === undefined ? batch : batch.slice(1);
  }
}

/**
 * Returns the leading and trailing silence that the information frame states. If the part does not have the stated
 * number of frames, its end may be missing, so the trailing silence counts as 0. If the two silences together fill the
 * whole part, both count as 0.
 */
function deriveEdgeSilence(
  information: InfoFrame | undefined,
  frames: number,
  samples: number,
): EncoderPadding {
  const none = { leadingSamples: 0, trailingSamples: 0 };
  const statedEdges = information?.encoderPadding ?? none;
  const isWhole = information?.frameCount === undefined || information.frameCount === frames;
  const edges = isWhole ? statedEdges : { ...statedEdges, trailingSamples: 0 };
  return edges.leadingSamples + edges.trailingSamples < samples ? edges : none;
}

/**
 * Reads a whole mp3 part, and returns its format, its length and the positions of its frames. Does not decode the
 * sound.
 *
 * @throws DamagedPartError if the part has no frame with sound, has frames of free format, changes its sample rate or
 *   channels, or consists mostly of bytes outside frames
 */
export async function readMp3(file: PartFile): Promise<Mp3Part> {
  let information: InfoFrame | undefined;
  let first: Pick<Mp3Part, "header" | "silentFrame"> | undefined;
  let isConstant = true;
  let frames = 0;
  let audioBytes = 0;
  const framePositions = new FramePositions();
  const sound = readSoundFrames(file, (frame) => {
    information = frame;
  });
  for await (const batch of sound) {
    for (const frame of batch) {
      const { header } = frame;
      first ??= { header, silentFrame: buildSilentFrame(frame) };
      isConstant &&= header.bitrateIndex === first.header.bitrateIndex;
      framePositions.record(frames, audioBytes);
      frames += 1;
      audioBytes += header.frameBytes;
    }
  }
  if (first === undefined) throw file.damagedPartError("it holds no sound");
  const edges = deriveEdgeSilence(information, frames, frames * first.header.samplesPerFrame);
  return { ...first, isConstant, frameCount: frames, audioBytes, framePositions, edges };
}

const MAX_ENTRIES = 128;

/**
 * Keeps the byte positions of at most 128 evenly spaced frames of a part, and estimates the other positions from them.
 * The position of a frame is the total size of all earlier frames.
 */
export class FramePositions {
  /** Byte position of every `#stride`th frame. */
  #positionsBytes: number[] = [];
  #stride = 1;

  /** Records the position of a frame. Must be called for each frame, in order. */
  record(frame: number, positionBytes: number): void {
    if (frame % this.#stride !== 0) return;
    this.#positionsBytes.push(positionBytes);
    if (this.#positionsBytes.length < MAX_ENTRIES) return;
    this.#positionsBytes = this.#positionsBytes.filter((_, index) => index % 2 === 0);
    this.#stride *= 2;
  }

  /** Estimates how many bytes precede a frame, given the total number of frames and bytes. */
  estimateBytesBefore(frame: number, frames: number, bytes: number): number {
    const index = Math.min(Math.floor(frame / this.#stride), this.#positionsBytes.length - 1);
    const from = index * this.#stride;
    const isLast = index === this.#positionsBytes.length - 1;
    const to = isLast ? frames : from + this.#stride;
    const fromBytes = this.#positionsBytes[index] ?? 0;
    const toBytes = isLast ? bytes : (this.#positionsBytes[index + 1] ?? bytes);
    return fromBytes + ((toBytes - fromBytes) * (frame - from)) / Math.max(1, to - from);
  }
}
