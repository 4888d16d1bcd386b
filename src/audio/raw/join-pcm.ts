/** Joins pcm parts of 16-bit samples. pcm has no header, so the number of channels follows from size and duration. */
import type { JoinedAudio, JoinPart, JoinRequest } from "../join-request.ts";
import { requireSameProperties } from "../part-errors.ts";
import { mapParts } from "../part-file.ts";
import { joinSamples } from "./join-samples.ts";

const SAMPLE_BYTES = 2;
const MAX_CHANNELS = 2;

/**
 * Derives the number of channels of 16-bit samples from their size and duration.
 *
 * @param sizeBytes size of the whole part
 * @returns 1 or 2, or undefined if neither matches the part's duration and sample rate
 */
export function countPcmChannels(
  sizeBytes: number,
  part: Pick<JoinPart, "durationSeconds" | "sampleRateHz">,
): number | undefined {
  const frames = part.durationSeconds * part.sampleRateHz;
  if (!(frames > 0 && Number.isFinite(frames))) return undefined;
  const frameBytes = Math.round(sizeBytes / frames);
  const channels = frameBytes / SAMPLE_BYTES;
  return Number.isInteger(channels) && channels >= 1 && channels <= MAX_CHANNELS ? channels : undefined;
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
    const { sizeBytes } = file;
    if (sizeBytes < SAMPLE_BYTES) throw file.damagedPartError("it holds no sound");
    const channels = countPcmChannels(sizeBytes, part);
    if (channels === undefined) {
      throw file.damagedPartError(
        `its ${sizeBytes} bytes are not a 16-bit sound of ${part.durationSeconds} s at ${part.sampleRateHz} Hz`,
      );
    }
    // Drop a truncated last frame, because it would shift all samples of later parts.
    return { ...part, channels, offset: 0, sizeBytes: sizeBytes - (sizeBytes % (channels * SAMPLE_BYTES)) };
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
