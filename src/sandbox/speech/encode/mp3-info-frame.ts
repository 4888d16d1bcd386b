/** The Info frame that opens a constant-bitrate MP3 and states its exact length. */
import type { SampleRate } from "../../../contract/audio-format.ts";

const HEADER_BYTES = 4;
/** Side information of a mono frame, zero here: a decoder that does not know the tag plays silence. */
const SIDE_INFO_BYTES = { mpeg1: 17, mpeg2: 9 };
const HAS_FRAMES_BYTES_TABLE = 0x07;
const SEEK_TABLE_ENTRIES = 100;

const isMpeg1 = (sampleRate: SampleRate): boolean => sampleRate >= 32000;

/** Samples in one frame: 1,152 in MPEG-1, half of that in MPEG-2 and 2.5. */
export const samplesPerFrame = (sampleRate: SampleRate): number => (isMpeg1(sampleRate) ? 1152 : 576);

export interface InfoFrameFacts {
  readonly firstAudioFrameHeader: Uint8Array;
  /** Length of this frame; at least 144 bytes, which every mono bitrate from 32 kbit/s at 8 kHz gives. */
  readonly frameBytes: number;
  readonly audioBytes: number;
  readonly frames: number;
  readonly sampleRate: SampleRate;
}

/**
 * Builds the frame that precedes the audio. It states no delay or padding, because the audio is whole frames
 * from its first sample to its last, so there is nothing for a player to drop.
 */
export function infoFrame(facts: InfoFrameFacts): Uint8Array {
  const frame = new Uint8Array(facts.frameBytes);
  const view = new DataView(frame.buffer);
  frame.set(facts.firstAudioFrameHeader, 0);
  // This frame has the plain length: without the padding byte that the copied header may announce.
  view.setUint8(2, view.getUint8(2) & ~0x02);
  const tag = HEADER_BYTES + (isMpeg1(facts.sampleRate) ? SIDE_INFO_BYTES.mpeg1 : SIDE_INFO_BYTES.mpeg2);
  frame.set(new TextEncoder().encode("Info"), tag);
  view.setUint32(tag + 4, HAS_FRAMES_BYTES_TABLE);
  view.setUint32(tag + 8, facts.frames);
  view.setUint32(tag + 12, facts.frameBytes + facts.audioBytes);
  for (let entry = 0; entry < SEEK_TABLE_ENTRIES; entry++) {
    view.setUint8(tag + 16 + entry, Math.floor((entry * 256) / SEEK_TABLE_ENTRIES));
  }
  return frame;
}
