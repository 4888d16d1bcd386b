/** Joins mp3 parts frame by frame. */

import { BufferedWriter } from "../buffered-writer.ts";
import { computeChapterSpans, type JoinedAudio, type JoinRequest, type Span } from "../join-request.ts";
import { assertSameProperties } from "../part-errors.ts";
import { type PartFile, PartFiles } from "../part-file.ts";
import { buildId3Tag } from "./id3.ts";
import { buildInfoFrame, buildSilentFrame } from "./info-frame.ts";
import { type Mp3Part, readMp3, readSoundFrames } from "./read-mp3.ts";
import { Reservoir } from "./reservoir.ts";

/**
 * Minimum silence between parts: two granules (one MPEG-1 frame). After the last frame of a part, the decoder still
 * outputs the end of the part's sound, which its last window and its filter bank hold. This end is shorter than the
 * silence, so it does not mix with the sound of the next part.
 */
const FADING_SAMPLES = 2 * 576;

interface PlacedPart {
  readonly part: Mp3Part;
  /** Number of frames that precede this part in the joined file. */
  readonly firstFrame: number;
  readonly silentFrames: number;
  /** Number of bytes of audio that precede this part in the joined file. */
  readonly firstByte: number;
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
  parts: readonly Mp3Part[],
  request: JoinRequest,
): { placedParts: PlacedPart[]; frameCount: number; byteCount: number; framesBefore: number } {
  const [first] = parts;
  const framesBefore =
    first === undefined ? 0 : countSilentFramesUntil(first, 0, request.parts[0]?.startSeconds ?? 0);
  let frameCount = framesBefore;
  let byteCount = first === undefined ? 0 : framesBefore * buildSilentFrame(first.headerBytes).byteLength;
  const placedParts = parts.map((part, index): PlacedPart => {
    const pauseSeconds = request.parts[index]?.pauseAfterSeconds ?? 0;
    const next = parts[index + 1];
    const pauseFrameCount = countSilentFramesAfter(part, next, pauseSeconds);
    const framesThroughPause = frameCount + part.frameCount + pauseFrameCount;
    const start = request.parts[index + 1]?.startSeconds ?? 0;
    const silentFrames =
      pauseFrameCount + (next === undefined ? 0 : countSilentFramesUntil(next, framesThroughPause, start));
    const placed = { part, firstFrame: frameCount, firstByte: byteCount, silentFrames };
    frameCount += part.frameCount + silentFrames;
    byteCount += part.audioBytes + silentFrames * buildSilentFrame(part.headerBytes).byteLength;
    return placed;
  });
  return { placedParts, frameCount, byteCount, framesBefore };
}

function computeSpan({ part, firstFrame }: PlacedPart): Span {
  const { samplesPerFrame, sampleRateHz } = part.header;
  const { leadingSamples, trailingSamples } = part.edges;
  return {
    startSeconds: (firstFrame * samplesPerFrame + leadingSamples) / sampleRateHz,
    endSeconds: ((firstFrame + part.frameCount) * samplesPerFrame - trailingSamples) / sampleRateHz,
  };
}

/** Estimates how many bytes of audio lie before a frame of the joined file. */
function countBytesBefore(first: Mp3Part, placedParts: readonly PlacedPart[], frame: number): number {
  const placedPart = placedParts.findLast(({ firstFrame }) => firstFrame <= frame);
  if (placedPart === undefined) return frame * buildSilentFrame(first.headerBytes).byteLength;
  const { part, firstFrame, firstByte } = placedPart;
  const framesInPart = Math.min(frame - firstFrame, part.frameCount);
  const silent = frame - firstFrame - framesInPart;
  const ownBytes = part.framePositions.estimateBytesBefore(framesInPart, part.frameCount, part.audioBytes);
  return firstByte + ownBytes + silent * buildSilentFrame(part.headerBytes).byteLength;
}

async function copySound(file: PartFile, part: Mp3Part, output: BufferedWriter): Promise<void> {
  const reservoir = new Reservoir();
  let frameCount = 0;
  let audioBytes = 0;
  for await (const batch of readSoundFrames(file)) {
    for (const frame of batch) {
      reservoir.silenceIfUndecodable(frame);
      if (!output.tryBuffer(frame.bytes)) await output.put(frame.bytes);
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
  const files = new PartFiles(
    "mp3",
    request.parts.map(({ path }) => path),
    request.signal,
  );
  const parts = await files.mapParts(readMp3);
  assertSameProperties(
    parts.map(({ header }) => ({
      "MPEG version": header.version,
      "sample rate": header.sampleRateHz,
      channels: header.channels,
    })),
  );
  const [first] = parts;
  if (first === undefined) throw new RangeError("there is no part to join");
  const { placedParts, frameCount, byteCount, framesBefore } = placeParts(parts, request);
  const spans = placedParts.map(computeSpan);
  const durationSeconds = (frameCount * first.header.samplesPerFrame) / first.header.sampleRateHz;
  const chapters = computeChapterSpans(request.chapters, spans, durationSeconds);
  const information = buildInfoFrame({
    templateHeader: first.headerBytes,
    isConstant: parts.every(
      ({ isConstant, header }) => isConstant && header.bitrateIndex === first.header.bitrateIndex,
    ),
    frameCount,
    audioBytes: byteCount,
    bytesBefore: (hundredth) =>
      countBytesBefore(first, placedParts, Math.floor((hundredth * frameCount) / 100)),
  });

  const output = new BufferedWriter(request.write, request.signal);
  await output.put(buildId3Tag(request, chapters));
  await output.put(information);
  for (let count = 0; count < framesBefore; count += 1) await output.put(buildSilentFrame(first.headerBytes));
  await files.mapParts(async (file, index) => {
    const placed = placedParts[index];
    if (placed === undefined) throw file.damagedPartError("it was not measured before");
    await copySound(file, placed.part, output);
    const silence = buildSilentFrame(placed.part.headerBytes);
    for (let count = 0; count < placed.silentFrames; count += 1) await output.put(silence);
  });
  await output.flush();
  return { durationSeconds, sizeBytes: output.sizeBytes, parts: spans, chapters };
}
