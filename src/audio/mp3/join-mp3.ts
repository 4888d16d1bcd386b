/** Joins mp3 parts frame by frame. */
import { BufferedWriter } from "../buffered-writer.ts";
import {
  computeChapterSpans,
  type JoinedAudio,
  type JoinPart,
  type JoinRequest,
  type Span,
} from "../join-request.ts";
import { requireSameProperties } from "../part-errors.ts";
import { mapParts, type PartFile } from "../part-file.ts";
import { buildId3Tag } from "./id3.ts";
import { buildInfoFrame } from "./info-frame.ts";
import { type Mp3Part, readMp3, readSoundFrames } from "./read-mp3.ts";
import { Reservoir } from "./reservoir.ts";

/**
 * Minimum silence between parts: two granules (one MPEG-1 frame). After the last frame of a part, the decoder still
 * outputs the end of the part's sound, which its last window and its filter bank hold. This end is shorter than the
 * silence, so it does not mix with the sound of the next part.
 */
const FADING_SAMPLES = 2 * 576;

type MeasuredPart = JoinPart & Mp3Part;

interface PlacedPart extends MeasuredPart {
  /** Number of frames that precede this part in the joined file. */
  readonly firstFrame: number;
  /** Number of bytes of audio that precede this part in the joined file. */
  readonly firstByte: number;
  /** Number of silent frames after this part. */
  readonly silentFrames: number;
}

/** Counts the silent frames to insert so that a part's sound begins at a given time. */
export function countSilentFramesUntil(part: Mp3Part, firstFrame: number, startSeconds: number): number {
  const { samplesPerFrame, sampleRateHz } = part.header;
  const start = (startSeconds * sampleRateHz - part.edges.leadingSamples) / samplesPerFrame;
  return Math.max(0, Math.round(start) - firstFrame);
}

export function countSilentFramesAfter(
  part: Mp3Part,
  next: Mp3Part | undefined,
  pauseSeconds: number,
): number {
  const { samplesPerFrame, sampleRateHz } = part.header;
  const present = part.edges.trailingSamples + (next?.edges.leadingSamples ?? 0);
  const frameCount = Math.round((pauseSeconds * sampleRateHz - present) / samplesPerFrame);
  return Math.max(frameCount, next === undefined ? 0 : FADING_SAMPLES / samplesPerFrame);
}

function placeParts(
  parts: readonly MeasuredPart[],
  first: MeasuredPart,
): { placedParts: PlacedPart[]; frameCount: number; audioBytes: number; framesBefore: number } {
  const framesBefore = countSilentFramesUntil(first, 0, first.startSeconds ?? 0);
  let frameCount = framesBefore;
  let audioBytes = framesBefore * first.silentFrame.byteLength;
  const placedParts = parts.map((part, index): PlacedPart => {
    const next = parts[index + 1];
    const pauseFrames = countSilentFramesAfter(part, next, part.pauseAfterSeconds);
    const framesThroughPause = frameCount + part.frameCount + pauseFrames;
    const silentFrames =
      pauseFrames +
      (next === undefined ? 0 : countSilentFramesUntil(next, framesThroughPause, next.startSeconds ?? 0));
    const placed = { ...part, firstFrame: frameCount, firstByte: audioBytes, silentFrames };
    frameCount += part.frameCount + silentFrames;
    audioBytes += part.audioBytes + silentFrames * part.silentFrame.byteLength;
    return placed;
  });
  return { placedParts, frameCount, audioBytes, framesBefore };
}

function computeSpan({ header, edges, firstFrame, frameCount }: PlacedPart): Span {
  const { samplesPerFrame, sampleRateHz } = header;
  return {
    startSeconds: (firstFrame * samplesPerFrame + edges.leadingSamples) / sampleRateHz,
    endSeconds: ((firstFrame + frameCount) * samplesPerFrame - edges.trailingSamples) / sampleRateHz,
  };
}

/** Estimates how many bytes of audio lie before a frame of the joined file. */
function countBytesBefore(first: Mp3Part, placedParts: readonly PlacedPart[], frame: number): number {
  const part = placedParts.findLast(({ firstFrame }) => firstFrame <= frame);
  if (part === undefined) return frame * first.silentFrame.byteLength;
  const framesInPart = Math.min(frame - part.firstFrame, part.frameCount);
  const silentFrames = frame - part.firstFrame - framesInPart;
  const ownBytes = part.framePositions.estimateBytesBefore(framesInPart, part.frameCount, part.audioBytes);
  return part.firstByte + ownBytes + silentFrames * part.silentFrame.byteLength;
}

async function putSilence(output: BufferedWriter, { silentFrame }: Mp3Part, count: number): Promise<void> {
  for (let frame = 0; frame < count; frame += 1) await output.put(silentFrame);
}

async function copySound(file: PartFile, part: Mp3Part, output: BufferedWriter): Promise<void> {
  const reservoir = new Reservoir();
  let frameCount = 0;
  let audioBytes = 0;
  for await (const batch of readSoundFrames(file)) {
    for (const frame of batch) {
      reservoir.silenceIfUndecodable(frame);
      await output.put(frame.bytes);
      audioBytes += frame.bytes.byteLength;
    }
    frameCount += batch.length;
  }
  // Fail if the file changed after the first pass, because the lengths from that pass are already written.
  if (frameCount !== part.frameCount || audioBytes !== part.audioBytes)
    throw file.damagedPartError("it changed while it was read");
}

/**
 * Joins mp3 parts into one mp3 file without re-encoding them. An ID3 tag and an information frame come first. Checks
 * all parts before it writes the first byte. Rounds pauses to whole frames, and inserts at least 1,152 silent samples
 * between two parts.
 *
 * @throws DamagedPartError if a part cannot be read as mp3, or changes during the join
 * @throws PartsDifferError if the MPEG versions, sample rates or numbers of channels differ
 * @throws the reason of the signal, and any error of `write`
 */
export async function joinMp3(request: JoinRequest): Promise<JoinedAudio> {
  const { signal } = request;
  const parts = await mapParts("mp3", request.parts, signal, async (file, part) => ({
    ...part,
    ...(await readMp3(file)),
  }));
  const first = requireSameProperties(parts, ({ header }) => ({
    "MPEG version": header.version,
    "sample rate": header.sampleRateHz,
    channels: header.channels,
  }));
  const { placedParts, frameCount, audioBytes, framesBefore } = placeParts(parts, first);
  const spans = placedParts.map(computeSpan);
  const durationSeconds = (frameCount * first.header.samplesPerFrame) / first.header.sampleRateHz;
  const chapters = computeChapterSpans(request.chapters, spans, durationSeconds);
  const information = buildInfoFrame({
    silentFrame: first.silentFrame,
    isConstant: parts.every(
      ({ isConstant, header }) => isConstant && header.bitrateIndex === first.header.bitrateIndex,
    ),
    frameCount,
    audioBytes,
    bytesBefore: (hundredth) =>
      countBytesBefore(first, placedParts, Math.floor((hundredth * frameCount) / 100)),
  });

  const output = new BufferedWriter(request.write, signal);
  await output.put(buildId3Tag(request, chapters));
  await output.put(information);
  await putSilence(output, first, framesBefore);
  await mapParts("mp3", placedParts, signal, async (file, part) => {
    await copySound(file, part, output);
    await putSilence(output, part, part.silentFrames);
  });
  await output.flush();
  return { durationSeconds, sizeBytes: output.sizeBytes, parts: spans, chapters };
}
