/** Cuts mp3 parts into segments of one stream, as players of HLS read it (RFC 8216, section 3.4, Packed Audio). */
import { mapParts } from "../part-file.ts";
import { canShareStream } from "./frame-header.ts";
import { buildTagFrame, wrapInTag } from "./id3.ts";
import { countSilentFramesAfter, countSilentFramesUntil } from "./join-mp3.ts";
import { readMp3, readSoundFrames } from "./read-mp3.ts";
import { Reservoir } from "./reservoir.ts";

/** Players state times as multiples of 1/90,000 s, with 33 bits. */
const TIMESTAMP_HERTZ = 90_000;
const TIMESTAMP_OWNER = "com.apple.streaming.transportStreamTimestamp\0";

export interface StreamSegment {
  readonly bytes: Uint8Array;
  readonly seconds: number;
}

export interface StreamPart {
  readonly path: string;
  /** The part before it in the stream; null for the first. */
  readonly previousPath: string | null;
  /** The pause between the two. */
  readonly pauseSeconds: number;
  /** The time of the part on a timeline; 0 without one. */
  readonly startSeconds: number;
  /** The length of the stream so far. */
  readonly streamSeconds: number;
  readonly maxSegmentSeconds: number;
}

/** Builds the tag with the time of a segment's first sample. Every segment begins with one. */
function buildTimestampTag(seconds: number): Buffer {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(Math.round(seconds * TIMESTAMP_HERTZ)) & 0x1ffffffffn);
  return wrapInTag(4, [buildTagFrame("PRIV", Buffer.concat([Buffer.from(TIMESTAMP_OWNER), time]))]);
}

/**
 * Cuts a part into segments, with the silence before it: together, they are the frames that the joined file has. Each is
 * built when it is asked for, because the silence of a timeline may last for hours.
 *
 * @returns no segments if the part has another rate or other channels than the one before it
 * @throws DamagedPartError if a part cannot be read as mp3
 */
export async function cutStreamSegments(
  part: StreamPart,
  signal: AbortSignal,
): Promise<Iterable<StreamSegment>> {
  const parts = [...(part.previousPath === null ? [] : [{ path: part.previousPath }]), part];
  const measured = await mapParts("mp3", parts, signal, readMp3);
  const own = measured.at(-1);
  const previous = measured.at(-2);
  if (own === undefined) throw new RangeError("there is no part to cut");
  if (previous !== undefined && !canShareStream(previous.header, own.header)) return [];
  const { samplesPerFrame, sampleRateHz } = own.header;
  const frameSeconds = samplesPerFrame / sampleRateHz;
  const streamFrames = Math.round(part.streamSeconds / frameSeconds);
  const pauseFrames = previous === undefined ? 0 : countSilentFramesAfter(previous, own, part.pauseSeconds);
  const untilStart = countSilentFramesUntil(own, streamFrames + pauseFrames, part.startSeconds);
  const frames = Array<Uint8Array>(pauseFrames + untilStart).fill(own.silentFrame);
  const reservoir = new Reservoir();
  await mapParts("mp3", [part], signal, async (file) => {
    for await (const batch of readSoundFrames(file)) {
      for (const frame of batch) {
        reservoir.silenceIfUndecodable(frame);
        frames.push(Buffer.from(frame.bytes));
      }
    }
  });
  const framesPerSegment = Math.floor(part.maxSegmentSeconds / frameSeconds);
  return (function* () {
    for (let first = 0; first < frames.length; first += framesPerSegment) {
      const some = frames.slice(first, first + framesPerSegment);
      const tag = buildTimestampTag((streamFrames + first) * frameSeconds);
      yield { bytes: Buffer.concat([tag, ...some]), seconds: some.length * frameSeconds };
    }
  })();
}
