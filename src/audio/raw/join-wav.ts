/** Joins wav files of one format. */
import type { JoinedAudio, JoinRequest } from "../join-request.ts";
import { requireSameProperties } from "../part-errors.ts";
import { mapParts } from "../part-file.ts";
import { joinSamples } from "./join-samples.ts";
import {
  buildWavHeaderAndTrailer,
  computeFrameBytes,
  getSilentByte,
  readWav,
  WAVE_FLOAT,
  type WavFormat,
} from "./wav-file.ts";

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

/**
 * Joins wav parts into one wav file, or into an RF64 file if its length exceeds 32 bits. The file has tags, but no
 * chapters. A part with the usual loudspeaker mask counts as a part without a mask.
 *
 * @throws DamagedPartError if a part is not a wav file with uncompressed samples
 * @throws PartsDifferError if the encodings, sample rates, channels, bits or loudspeaker masks differ
 * @throws the reason of the signal, and any error of `write`
 */
export async function joinWav(request: JoinRequest): Promise<JoinedAudio> {
  const parts = await mapParts("wav", request.parts, request.signal, async (file, part) => {
    const { format, ...samples } = await readWav(file);
    return { ...part, ...samples, format: withoutUsualMask(format) };
  });
  const { format } = requireSameProperties(parts, ({ format }) => ({
    encoding: format.encoding === WAVE_FLOAT ? "floating point" : "whole numbers",
    "sample rate": format.sampleRateHz,
    channels: format.channels,
    "bits a sample": format.bitsPerSample,
    "valid bits a sample": format.validBits,
    "loudspeaker mask": format.channelMask,
  }));
  return joinSamples(request, parts, {
    sampleRateHz: format.sampleRateHz,
    frameBytes: computeFrameBytes(format),
    silence: getSilentByte(format),
    buildHeaderAndTrailer: (dataBytes) => buildWavHeaderAndTrailer(format, dataBytes, request),
  });
}
