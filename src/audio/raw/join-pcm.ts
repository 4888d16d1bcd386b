/** Joins pcm parts of 16-bit samples. pcm has no header, so the number of channels follows from size and duration. */
import type { JoinedAudio, JoinPart, JoinRequest } from "../join-request.ts";
import { requireSameProperties } from "../part-errors.ts";
import { mapParts, type PartFile } from "../part-file.ts";
import { joinSamples } from "./join-samples.ts";

const SAMPLE_BYTES = 2;

/**
 * Derives the number of channels of 16-bit samples, 1 or 2, from the size and the duration of a part.
 *
 * @throws DamagedPartError if the part has no sample, or if neither number matches its duration and sample rate
 */
export function computePcmChannels(
  file: PartFile,
  { durationSeconds, sampleRateHz }: Pick<JoinPart, "durationSeconds" | "sampleRateHz">,
): number {
  const { sizeBytes } = file;
  if (sizeBytes < SAMPLE_BYTES) throw file.damagedPartError("it holds no sound");
  const channels = Math.round(sizeBytes / (durationSeconds * sampleRateHz)) / SAMPLE_BYTES;
  if (channels === 1 || channels === 2) return channels;
  throw file.damagedPartError(
    `its ${sizeBytes} bytes are not a 16-bit sound of ${durationSeconds} s at ${sampleRateHz} Hz`,
  );
}

/**
 * Joins pcm parts of 16-bit samples. The file has neither a header nor tags. A frame is one sample of every channel. If
 * a part ends with an incomplete frame, leaves out that frame.
 *
 * @throws DamagedPartError if a part cannot be read, or if its size fits neither mono nor stereo sound of its stated
 *   duration and sample rate
 * @throws PartsDifferError if the sample rates or the numbers of channels differ
 * @throws the reason of the signal, and any error of `write`
 */
export async function joinPcm(request: JoinRequest): Promise<JoinedAudio> {
  const parts = await mapParts("pcm", request.parts, request.signal, async (file, part) => {
    const channels = computePcmChannels(file, part);
    // Drop a truncated last frame, because it would shift all samples of later parts.
    const sizeBytes = file.sizeBytes - (file.sizeBytes % (channels * SAMPLE_BYTES));
    return { ...part, channels, offset: 0, sizeBytes };
  });
  const { channels, sampleRateHz } = requireSameProperties(parts, (part) => ({
    "sample rate": part.sampleRateHz,
    channels: part.channels,
  }));
  const nothing = Buffer.alloc(0);
  return joinSamples(request, parts, {
    sampleRateHz,
    frameBytes: channels * SAMPLE_BYTES,
    silence: 0,
    buildHeaderAndTrailer: () => ({ header: nothing, trailer: nothing }),
  });
}
