/** Builds wav files, with or without sound. Writes their bytes without `src/audio`. */
import { createHash } from "node:crypto";

export interface Fmt {
  readonly encoding: number;
  readonly channels: number;
  readonly sampleRateHz: number;
  readonly bitsPerSample: number;
  readonly blockBytes: number;
  readonly isExtensible: boolean;
}

/** Returns pseudo-random bytes, which are always the same. */
export function noise(length: number, seed = ""): Buffer {
  const blocks: Buffer[] = [];
  for (let count = 0; count * 64 < length; count += 1) {
    blocks.push(createHash("sha512").update(`${seed}${length}:${count}`).digest());
  }
  return Buffer.concat(blocks).subarray(0, length);
}

/**
 * Builds a RIFF chunk.
 *
 * @param statedBytes the length that the chunk states, which some tests make wrong
 */
export function chunk(id: string, payload: Uint8Array, statedBytes = payload.byteLength): Buffer {
  const header = Buffer.alloc(8);
  header.write(id, 0, "latin1");
  header.writeUInt32LE(statedBytes, 4);
  return Buffer.concat([header, payload, Buffer.alloc(payload.byteLength % 2)]);
}

export function fmtChunk(changes: Partial<Fmt> = {}): Buffer {
  const {
    encoding = 1,
    channels = 1,
    sampleRateHz = 24000,
    bitsPerSample = 16,
    isExtensible = false,
  } = changes;
  const blockBytes = changes.blockBytes ?? (channels * bitsPerSample) / 8;
  const payload = Buffer.alloc(isExtensible ? 40 : 16);
  payload.writeUInt16LE(isExtensible ? 0xfffe : encoding, 0);
  payload.writeUInt16LE(channels, 2);
  payload.writeUInt32LE(sampleRateHz, 4);
  payload.writeUInt32LE(sampleRateHz * blockBytes, 8);
  payload.writeUInt16LE(blockBytes, 12);
  payload.writeUInt16LE(bitsPerSample, 14);
  if (isExtensible) {
    payload.writeUInt16LE(22, 16);
    payload.writeUInt16LE(bitsPerSample, 18);
    payload.writeUInt32LE(2 ** channels - 1, 20);
    // A single channel is assigned to the front centre loudspeaker, which is bit 2 of the channel mask.
    if (channels === 1) payload.writeUInt32LE(4, 20);
    payload.writeUInt16LE(encoding, 24);
    Buffer.from("000000001000800000aa00389b71", "hex").copy(payload, 26);
  }
  return chunk("fmt ", payload);
}

export function riff(...chunks: readonly Buffer[]): Buffer {
  return chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), ...chunks]));
}

export const wav = (samples: Uint8Array, changes: Partial<Fmt> = {}): Buffer =>
  riff(fmtChunk(changes), chunk("data", samples));
