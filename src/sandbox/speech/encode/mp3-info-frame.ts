/** Builds the Info frame, which opens an MP3 of constant bitrate and states its exact length. */
import type { SampleRate } from "../../../contract/audio-format.ts";

const HEADER_BYTES = 4;
/**
 * Length in bytes of a mono frame's side information. In the Info frame these bytes are 0, so that a decoder without
 * support for Info frames plays silence.
 */
const SIDE_INFO_BYTES = { mpeg1: 17, mpeg2: 9 };
const HAS_FRAMES_BYTES_TABLE = 0x07;
const SEEK_TABLE_ENTRIES = 100;

const isMpeg1 = (sampleRate: SampleRate): boolean => sampleRate >= 32000;

/** Returns the number of samples in one frame: 1,152 in MPEG-1, half of that in MPEG-2 and 2.5. */
export const getSamplesPerFrame = (sampleRate: SampleRate): number => (isMpeg1(sampleRate) ? 1152 : 576);

export interface InfoFrameFacts {
  readonly firstAudioFrameHeader: Uint8Array;
  /** Length of the Info frame. At least 137 bytes are needed; every bitrate in mp3.ts gives at least 192. */
  readonly frameBytes: number;
  readonly audioBytes: number;
  readonly frames: number;
  readonly sampleRate: SampleRate;
}

/**
 * Builds the Info frame, which precedes the audio frames. It states no delay and no padding, because the audio
 * fills its frames completely and players have nothing to trim.
 */
export function buildInfoFrame(facts: InfoFrameFacts): Uint8Array {
  const frame = new Uint8Array(facts.frameBytes);
  const view = new DataView(frame.buffer);
  frame.set(facts.firstAudioFrameHeader, 0);
  // Clear the padding bit of the copied header, because the Info frame has no padding byte.
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
