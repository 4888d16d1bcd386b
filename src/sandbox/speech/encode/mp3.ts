/**
 * Encodes MP3 of constant bitrate with a length that all players agree on: whole frames, with the encoder's delay in
 * place of leading silence.
 */
import type { WasmMediaEncoder } from "wasm-media-encoders";
import type { SampleRate } from "../../../contract/audio-format.ts";
import { joinBytes } from "./join-bytes.ts";
import { infoFrame, samplesPerFrame } from "./mp3-info-frame.ts";

/** Constant bitrates in kbit/s, each giving a frame roomy enough for the info tag. */
const BITRATES_KBPS = {
  8000: 32,
  16000: 64,
  24000: 64,
  32000: 96,
  44100: 128,
  48000: 128,
} as const satisfies Record<SampleRate, number>;

/** Delay of encoder and decoder together, in samples: 0.14 s at 8 kHz, heard as silence. */
const DELAY_SAMPLES = 576 + 529;
/** LAME turns every input down by 5 %; undone so that all formats are equally loud. */
const ENCODER_GAIN = 0.95;
const ENCODE_BLOCK_SAMPLES = 1152 * 64;

/** Bytes of the frame that begins at `offset`: the average, plus one where the padding bit says so. */
function frameBytesAt(bytes: Uint8Array, offset: number, sampleRate: SampleRate): number {
  const paddingBytes = ((bytes[offset + 2] ?? 0) >> 1) & 1;
  const average = ((samplesPerFrame(sampleRate) / 8) * BITRATES_KBPS[sampleRate] * 1000) / sampleRate;
  return Math.floor(average) + paddingBytes;
}

/** The leading `frames` frames; the encoder flushes one or two beyond what the samples need. */
function firstFrames(bytes: Uint8Array, frames: number, sampleRate: SampleRate): Uint8Array {
  let end = 0;
  for (let frame = 0; frame < frames; frame++) end += frameBytesAt(bytes, end, sampleRate);
  if (end > bytes.length) throw new Error("the MP3 encoder made fewer frames than its samples fill");
  return bytes.subarray(0, end);
}

/** Counts the samples of exact silence at the start, at most the length of the delay. */
function replaceableSilence(samples: Float32Array): number {
  const loud = samples.findIndex((sample) => sample !== 0);
  return Math.min(DELAY_SAMPLES, loud === -1 ? samples.length : loud);
}

/** One encoder for each thread. `configure` resets it, and creating one takes longer than encoding a sentence. */
let sharedEncoder: Promise<WasmMediaEncoder<"audio/mpeg">> | undefined;

function mp3Encoder(): Promise<WasmMediaEncoder<"audio/mpeg">> {
  sharedEncoder ??= import("wasm-media-encoders").then(({ createMp3Encoder }) => createMp3Encoder());
  return sharedEncoder;
}

async function encodeFrames(samples: Float32Array, sampleRate: SampleRate): Promise<Uint8Array> {
  const encoder = await mp3Encoder();
  const bitrate = BITRATES_KBPS[sampleRate];
  encoder.configure({ channels: 1, sampleRate, outputSampleRate: sampleRate, bitrate });
  const parts: Uint8Array[] = [];
  // The encoder returns views of its own memory, so each block is copied before the next call.
  for (let start = 0; start < samples.length; start += ENCODE_BLOCK_SAMPLES) {
    const block = samples
      .subarray(start, start + ENCODE_BLOCK_SAMPLES)
      .map((sample) => sample / ENCODER_GAIN);
    parts.push(encoder.encode([block]).slice());
  }
  parts.push(encoder.finalize().slice());
  return joinBytes(parts);
}

/**
 * @param samples mono, -1 to 1, at `sampleRate`
 * @returns the file, and how many samples it plays: at most the delay and one frame more than it was given
 */
export async function encodeMp3(
  samples: Float32Array,
  sampleRate: SampleRate,
): Promise<{ bytes: Uint8Array; playedSamples: number }> {
  const kept = samples.subarray(replaceableSilence(samples));
  const frames = Math.ceil((DELAY_SAMPLES + kept.length) / samplesPerFrame(sampleRate));
  const audio = firstFrames(await encodeFrames(kept, sampleRate), frames, sampleRate);
  const info = infoFrame({
    firstAudioFrameHeader: audio.subarray(0, 4),
    frameBytes: frameBytesAt(Uint8Array.of(), 0, sampleRate),
    audioBytes: audio.length,
    frames,
    sampleRate,
  });
  return { bytes: joinBytes([info, audio]), playedSamples: frames * samplesPerFrame(sampleRate) };
}
