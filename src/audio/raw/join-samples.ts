/** Joins uncompressed samples with silence between them. wav and pcm differ only in header and trailer. */
import { BufferedWriter } from "../buffered-writer.ts";
import { computeChapterSpans, type JoinedAudio, type JoinPart, type JoinRequest } from "../join-request.ts";
import { mapParts, type PartFile, WINDOW_BYTES } from "../part-file.ts";

/** A part, and the position of its samples in its file. */
interface SampledPart extends JoinPart {
  readonly offset: number;
  /** Length of the samples: whole frames, more than 0. */
  readonly sizeBytes: number;
}

export interface SampleLayout {
  readonly sampleRateHz: number;
  /** Length of a frame, which has one sample of every channel. */
  readonly frameBytes: number;
  /** The byte value of silence. */
  readonly silence: number;
  /** Builds the header and trailer for a given length of the samples. */
  readonly buildHeaderAndTrailer: (dataBytes: number) => {
    readonly header: Uint8Array;
    readonly trailer: Uint8Array;
  };
}

async function copySamples(
  file: PartFile,
  { offset, sizeBytes }: SampledPart,
  output: BufferedWriter,
): Promise<void> {
  for (let writtenBytes = 0; writtenBytes < sizeBytes; ) {
    const bytes = await file.readBytes(
      offset + writtenBytes,
      Math.min(WINDOW_BYTES, sizeBytes - writtenBytes),
    );
    if (bytes.byteLength === 0) throw file.damagedPartError("it became shorter while it was read");
    await output.put(bytes);
    writtenBytes += bytes.byteLength;
  }
}

/** Makes the second pass over the parts: writes the joined file. */
export async function joinSamples(
  request: JoinRequest,
  parts: readonly SampledPart[],
  { sampleRateHz, frameBytes, silence, buildHeaderAndTrailer }: SampleLayout,
): Promise<JoinedAudio> {
  const countFramesUntil = (part: JoinPart | undefined, passed: number): number =>
    Math.max(0, Math.round((part?.startSeconds ?? 0) * sampleRateHz) - passed);
  const framesBefore = countFramesUntil(parts[0], 0);
  let frames = framesBefore;
  const placedParts = parts.map((part, index) => {
    const startSeconds = frames / sampleRateHz;
    frames += part.sizeBytes / frameBytes;
    const endSeconds = frames / sampleRateHz;
    const paused = Math.round(part.pauseAfterSeconds * sampleRateHz);
    const pauseFrames = paused + countFramesUntil(parts[index + 1], frames + paused);
    frames += pauseFrames;
    return { ...part, span: { startSeconds, endSeconds }, pauseBytes: pauseFrames * frameBytes };
  });
  const output = new BufferedWriter(request.write, request.signal);
  const { header, trailer } = buildHeaderAndTrailer(frames * frameBytes);
  await output.put(header);
  await output.fill(silence, framesBefore * frameBytes);
  await mapParts(request.format, placedParts, request.signal, async (file, part) => {
    await copySamples(file, part, output);
    await output.fill(silence, part.pauseBytes);
  });
  await output.put(trailer);
  await output.flush();
  const spans = placedParts.map(({ span }) => span);
  const durationSeconds = frames / sampleRateHz;
  const chapters = computeChapterSpans(request.chapters, spans, durationSeconds);
  return { durationSeconds, sizeBytes: output.sizeBytes, parts: spans, chapters };
}
