/** Encodes samples: chooses the encoder for an output format, and the sample rate that the encoder needs. */
import type { OutputFormat, SampleRate } from "../../../contract/audio-format.ts";
import { encodeMp3 } from "./mp3.ts";
import { chooseOpusRateHz, encodeOpus } from "./opus.ts";
import { encodeWav, toPcm16Bytes } from "./wav.ts";

/** An encoded file, and its exact playing time in seconds. */
export interface EncodedAudio {
  readonly bytes: Uint8Array;
  readonly audioSeconds: number;
}

/** Returns the input rate in Hz that {@link encode} needs. `sampleRate` is the rate that the request states. */
export function chooseEncoderRateHz(format: OutputFormat, sampleRate: SampleRate): number {
  return format === "ogg_opus" ? chooseOpusRateHz(sampleRate) : sampleRate;
}

/**
 * Encodes samples in the requested format.
 *
 * @param samples mono, -1 to 1, at the rate that {@link chooseEncoderRateHz} returns
 */
export async function encode(
  samples: Float32Array,
  format: OutputFormat,
  sampleRate: SampleRate,
): Promise<EncodedAudio> {
  const audioSeconds = samples.length / chooseEncoderRateHz(format, sampleRate);
  switch (format) {
    case "mp3": {
      const { bytes, playedSamples } = await encodeMp3(samples, sampleRate);
      return { bytes, audioSeconds: playedSamples / sampleRate };
    }
    case "wav":
      return { bytes: encodeWav(samples, sampleRate), audioSeconds };
    case "pcm":
      return { bytes: toPcm16Bytes(samples), audioSeconds };
    case "ogg_opus":
      return { bytes: await encodeOpus(samples, sampleRate), audioSeconds };
  }
}
