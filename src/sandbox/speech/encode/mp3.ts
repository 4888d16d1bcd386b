/**
 * Encodes MP3 at a constant bitrate. The audio fills whole frames and nothing is trimmed, so all players agree on the
 * length of the audio. Players play the encoder's delay as leading silence. Silence at the start of the samples is
 * therefore shortened by up to the length of the delay.
 */
import type { WasmMediaEncoder } from "wasm-media-encoders";
import type { SampleRate } from "../../../contract/audio-format.ts";
import { concatBytes } from "./concat-bytes.ts";

/** Bitrates in kbit/s by sample rate in Hz. Each makes frames that are long enough for the data of the Info frame. */
const BITRATES_KBPS = {
  8000: 32,
  16000: 64,
  24000: 64,
  32000: 96,
  44100: 128,
  48000: 128,
} as const satisfies Record<SampleRate, number>;

const isMpeg1 = (sampleRate: SampleRate): boolean => sampleRate >= 32000;

/** Returns the number of samples in one frame: 1,152 in MPEG-1, half of that in MPEG-2 and 2.5. */
const getSamplesPerFrame = (sampleRate: SampleRate): number => (isMpeg1(sampleRate) ? 1152 : 576);

/** Delay of encoder and decoder together, in samples. Players play the delay as leading silence: 0.14 s at 8 kHz. */
const DELAY_SAMPLES = 576 + 529;
/** LAME lowers its input by 5 %. Samples are divided by this factor first, so that all formats are equally loud. */
const ENCODER_GAIN = 0.95;
const ENCODE_BLOCK_SAMPLES = 1152 * 64;

/** Returns the length in bytes of a frame without a padding byte. */
const getFrameBytes = (sampleRate: SampleRate): number =>
  Math.floor(((getSamplesPerFrame(sampleRate) / 8) * BITRATES_KBPS[sampleRate] * 1000) / sampleRate);

/** Returns the first `frames` frames. Drops the rest: one or two frames that the encoder adds at the end. */
function takeFirstFrames(bytes: Uint8Array, frames: number, sampleRate: SampleRate): Uint8Array {
  let end = 0;
  for (let frame = 0; frame < frames; frame++) {
    const paddingBytes = ((bytes[end + 2] ?? 0) >> 1) & 1;
    end += getFrameBytes(sampleRate) + paddingBytes;
  }
  if (end > bytes.length) throw new Error("the MP3 encoder made fewer frames than its samples fill");
  return bytes.subarray(0, end);
}

/**
 * Counts the leading samples that are exactly 0, up to the length of the encoder's delay. These samples can be cut,
 * because players play the delay as silence in their place.
 */
function countReplaceableSilence(samples: Float32Array): number {
  const loud = samples.findIndex((sample) => sample !== 0);
  return Math.min(DELAY_SAMPLES, loud === -1 ? samples.length : loud);
}

/** One encoder per thread, because creating one takes longer than encoding a sentence. `configure` resets it. */
let sharedEncoder: Promise<WasmMediaEncoder<"audio/mpeg">> | undefined;

function loadMp3Encoder(): Promise<WasmMediaEncoder<"audio/mpeg">> {
  sharedEncoder ??= import("wasm-media-encoders").then(({ createMp3Encoder }) => createMp3Encoder());
  return sharedEncoder;
}

async function encodeFrames(samples: Float32Array, sampleRate: SampleRate): Promise<Uint8Array> {
  const encoder = await loadMp3Encoder();
  const bitrate = BITRATES_KBPS[sampleRate];
  encoder.configure({ channels: 1, sampleRate, outputSampleRate: sampleRate, bitrate });
  const parts: Uint8Array[] = [];
  // Copy each encoded block before the next call, because the encoder returns views of its own memory.
  for (let start = 0; start < samples.length; start += ENCODE_BLOCK_SAMPLES) {
    const block = samples
      .subarray(start, start + ENCODE_BLOCK_SAMPLES)
      .map((sample) => sample / ENCODER_GAIN);
    parts.push(encoder.encode([block]).slice());
  }
  parts.push(encoder.finalize().slice());
  return concatBytes(parts);
}

/**
 * Encodes samples as an MP3 file with an Info frame.
 *
 * @param samples mono, -1 to 1, at `sampleRate`
 * @returns the file, and the number of samples that players play: the delay, the sound and the rest of the last frame
 */
export async function encodeMp3(
  samples: Float32Array,
  sampleRate: SampleRate,
): Promise<{ bytes: Uint8Array; playedSamples: number }> {
  const keptSamples = samples.subarray(countReplaceableSilence(samples));
  const frames = Math.ceil((DELAY_SAMPLES + keptSamples.length) / getSamplesPerFrame(sampleRate));
  const audio = takeFirstFrames(await encodeFrames(keptSamples, sampleRate), frames, sampleRate);
  const info = buildInfoFrame(audio, frames, sampleRate);
  return { bytes: concatBytes([info, audio]), playedSamples: frames * getSamplesPerFrame(sampleRate) };
}

const HEADER_BYTES = 4;
/**
 * Length in bytes of a mono frame's side information. In the Info frame these bytes are 0, so that a decoder without
 * support for Info frames plays silence.
 */
const SIDE_INFO_BYTES = { mpeg1: 17, mpeg2: 9 };
const HAS_FRAMES_BYTES_TABLE = 0x07;
const SEEK_TABLE_ENTRIES = 100;

/**
 * Builds the Info frame, which precedes the audio frames. It states no delay and no padding, because the audio fills
 * its frames completely and players have nothing to trim. It needs 137 bytes; every bitrate gives at least 192.
 *
 * @param audio all audio frames, whose first header is copied
 * @param frames number of the audio frames
 */
function buildInfoFrame(audio: Uint8Array, frames: number, sampleRate: SampleRate): Buffer {
  const frame = Buffer.alloc(getFrameBytes(sampleRate));
  frame.set(audio.subarray(0, HEADER_BYTES), 0);
  // Clear the padding bit of the copied header, because the Info frame has no padding byte.
  frame[2] = (frame[2] ?? 0) & ~0x02;
  const tag = HEADER_BYTES + (isMpeg1(sampleRate) ? SIDE_INFO_BYTES.mpeg1 : SIDE_INFO_BYTES.mpeg2);
  frame.write("Info", tag);
  frame.writeUInt32BE(HAS_FRAMES_BYTES_TABLE, tag + 4);
  frame.writeUInt32BE(frames, tag + 8);
  frame.writeUInt32BE(frame.length + audio.length, tag + 12);
  for (let entry = 0; entry < SEEK_TABLE_ENTRIES; entry++) {
    frame[tag + 16 + entry] = Math.floor((entry * 256) / SEEK_TABLE_ENTRIES);
  }
  return frame;
}
