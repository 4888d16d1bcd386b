/** Joins uncompressed samples with silence between them. wav and pcm differ only in header and trailer. */

import { BufferedWriter } from "../buffered-writer.ts";
import { computeChapterSpans, type JoinedAudio, type JoinRequest } from "../join-request.ts";
import { type PartFile, type PartFiles, WINDOW_BYTES } from "../part-file.ts";

/** The position of a part's samples in its file. */
export interface SampleSpan {
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

async function copySpan(file: PartFile, span: SampleSpan, output: BufferedWriter): Promise<void> {
  for (let writtenBytes = 0; writtenBytes < span.sizeBytes; ) {
    const bytes = await file.readBytes(
      span.offset + writtenBytes,
      Math.min(WINDOW_BYTES, span.sizeBytes - writtenBytes),
    );
    if (bytes.byteLength === 0) throw file.damagedPartError("it became shorter while it was read");
    await output.put(bytes);
    writtenBytes += bytes.byteLength;
  }
}

/** Makes the second pass over the parts: writes the joined file. */
export async function joinSamples(
  request: JoinRequest,
  files: PartFiles,
  sampleSpans: readonly SampleSpan[],
  layout: SampleLayout,
): Promise<JoinedAudio> {
  const { sampleRateHz, frameBytes } = layout;
  const framesUntil = (part: number, passed: number): number =>
    Math.max(0, Math.round((request.parts[part]?.startSeconds ?? 0) * sampleRateHz) - passed);
  const framesBefore = framesUntil(0, 0);
  let frames = framesBefore;
  const positioned = sampleSpans.map(({ sizeBytes }, part) => {
    const startSeconds = frames / sampleRateHz;
    frames += sizeBytes / frameBytes;
    const endSeconds = frames / sampleRateHz;
    const paused = Math.round((request.parts[part]?.pauseAfterSeconds ?? 0) * sampleRateHz);
    const pauseFrames = paused + framesUntil(part + 1, frames + paused);
    frames += pauseFrames;
    return { span: { startSeconds, endSeconds }, pauseBytes: pauseFrames * frameBytes };
  });
  const output = new BufferedWriter(request.write, request.signal);
  const { header, trailer } = layout.buildHeaderAndTrailer(frames * frameBytes);
  await output.put(header);
  await output.fill(layout.silence, framesBefore * frameBytes);
  await files.mapParts(async (file, part) => {
    const [sampleSpan, position] = [sampleSpans[part], positioned[part]];
    if (sampleSpan === undefined || position === undefined)
      throw file.damagedPartError("it was not measured before");
    await copySpan(file, sampleSpan, output);
    await output.fill(layout.silence, position.pauseBytes);
  });
  await output.put(trailer);
  await output.flush();
  const spans = positioned.map(({ span }) => span);
  const durationSeconds = frames / sampleRateHz;
  const chapters = computeChapterSpans(request.chapters, spans, durationSeconds);
  return { durationSeconds, sizeBytes: output.sizeBytes, parts: spans, chapters };
}
