/** Joins pcm parts of 16-bit samples. pcm has no header, so the number of channels follows from size and duration. */
import type { JoinedAudio, JoinPart, JoinRequest } from "../join-request.ts";
import { assertSameProperties } from "../part-errors.ts";
import { type PartFile, PartFiles } from "../part-file.ts";
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

function measure(file: PartFile, part: JoinPart): { channels: number; sizeBytes: number } {
  if (file.sizeBytes < SAMPLE_BYTES) throw file.damagedPartError("it holds no sound");
  const channels = countPcmChannels(file.sizeBytes, part);
  if (channels === undefined) {
    throw file.damagedPartError(
      `its ${file.sizeBytes} bytes are not a 16-bit sound of ${part.durationSeconds} s at ${part.sampleRateHz} Hz`,
    );
  }
  return { channels, sizeBytes: file.sizeBytes };
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
  const { parts } = request;
  const files = new PartFiles(
    "pcm",
    parts.map(({ path }) => path),
    request.signal,
  );
  const measured = await files.mapParts(async (file, index) => {
    const part = parts[index];
    if (part === undefined) throw file.damagedPartError("nothing is known of it");
    return { ...measure(file, part), sampleRateHz: part.sampleRateHz };
  });
  assertSameProperties(
    measured.map(({ channels, sampleRateHz }) => ({ "sample rate": sampleRateHz, channels })),
  );
  const { channels, sampleRateHz } = measured[0] ?? { channels: 1, sampleRateHz: 1 };
  const frameBytes = channels * SAMPLE_BYTES;
  // Drop a truncated last frame, because it would shift all samples of later parts.
  const runs = measured.map(({ sizeBytes }) => ({
    offset: 0,
    sizeBytes: sizeBytes - (sizeBytes % frameBytes),
  }));
  const nothing = new Uint8Array(0);
  return joinSamples(request, files, runs, {
    sampleRateHz,
    frameBytes,
    silence: 0,
    buildHeaderAndTrailer: () => ({ header: nothing, trailer: nothing }),
  });
}
