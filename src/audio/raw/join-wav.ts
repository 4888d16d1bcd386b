/** Joins wav files of one format. */
import type { JoinedAudio, JoinRequest } from "../join-request.ts";
import { assertSameProperties } from "../part-errors.ts";
import { PartFiles } from "../part-file.ts";
import { joinSamples } from "./join-samples.ts";
import { computeFrameBytes, readWav, WAVE_FLOAT, type WavFormat } from "./read-wav.ts";
import { buildWavHeaderAndTrailer, getSilentByte } from "./wav-header.ts";

/**
 * Usual loudspeaker masks: front centre for one channel, front left and right for two. A file without a mask uses these
 * loudspeakers too.
 */
const USUAL_MASKS: Readonly<Record<number, number>> = { 1: 0x4, 2: 0x3 };

/** Removes a usual loudspeaker mask, so that formats with and without such a mask compare as equal. */
function withoutUsualMask(format: WavFormat): WavFormat {
  const isUsual = format.channelMask === USUAL_MASKS[format.channels];
  return isUsual ? { ...format, channelMask: 0 } : format;
}

export async function joinWav(request: JoinRequest): Promise<JoinedAudio> {
  const files = new PartFiles(
    "wav",
    request.parts.map(({ path }) => path),
    request.signal,
  );
  const runs = await files.mapParts(async (file) => {
    const part = await readWav(file);
    return { ...part, format: withoutUsualMask(part.format) };
  });
  assertSameProperties(
    runs.map(({ format }) => ({
      encoding: format.encoding === WAVE_FLOAT ? "floating point" : "whole numbers",
      "sample rate": format.sampleRateHz,
      channels: format.channels,
      "bits a sample": format.bitsPerSample,
      "valid bits a sample": format.validBits,
      "loudspeaker mask": format.channelMask,
    })),
  );
  const [first] = runs;
  if (first === undefined) throw new RangeError("there is no part to join");
  const { format } = first;
  return joinSamples(request, files, runs, {
    sampleRateHz: format.sampleRateHz,
    frameBytes: computeFrameBytes(format),
    silence: getSilentByte(format),
    buildHeaderAndTrailer: (dataBytes) => buildWavHeaderAndTrailer(format, dataBytes, request),
  });
}
