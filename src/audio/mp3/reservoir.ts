/**
 * Silences frames that no decoder could play. A frame may store data in the unused bytes of earlier frames (the bit
 * reservoir). At the beginning of a part and after a gap, the earlier frames are missing. In the joined file, the bytes
 * before the frame belong to other sound. A decoder would interpret those bytes as the data of the frame, and play
 * noise far above full scale. Such a frame is therefore made silent. When the part is played alone, the frame is silent
 * too. Frames with damaged fields are also made silent, because decoders drop damaged frames, and all later sound would
 * then play too early.
 */
import { HEADER_BYTES } from "./frame-header.ts";
import type { Frame } from "./frames.ts";
import { parseGranules, parseMainDataBegin } from "./side-information.ts";

/**
 * Maximum number of bytes that a frame can point back. The field for this number has 9 bits in MPEG-1, and 8 bits in
 * MPEG-2 and 2.5.
 */
const MAX_BACK_BYTES = { mpeg1: 511, mpeg2: 255 };
const CRC_POLYNOMIAL = 0x8005;

/** Computes a frame's checksum. The checksum covers the last two bytes of the header, and the side information. */
function computeChecksum(bytes: Uint8Array, sideOffset: number, sideBytes: number): number {
  let crc = 0xffff;
  const covered = [...bytes.subarray(2, HEADER_BYTES), ...bytes.subarray(sideOffset, sideOffset + sideBytes)];
  for (const byte of covered) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ CRC_POLYNOMIAL : crc << 1;
    crc &= 0xffff;
  }
  return crc;
}

function silenceFrame({ header, bytes }: Frame): void {
  const { sideOffset, sideBytes, hasCrc } = header;
  bytes.fill(0, sideOffset, sideOffset + sideBytes);
  if (!hasCrc) return;
  const crc = computeChecksum(bytes, sideOffset, sideBytes);
  bytes[HEADER_BYTES] = crc >> 8;
  bytes[HEADER_BYTES + 1] = crc & 0xff;
}

/** Tracks how many bytes of earlier frames the decoder has. Each part needs an instance of its own. */
export class Reservoir {
  #bytesSeen = 0;

  /** Silences a frame in place if no decoder could play it. Must be called for each frame, in order. */
  silenceIfUndecodable(frame: Frame): void {
    const { header } = frame;
    if (frame.followsGap) this.#bytesSeen = 0;
    const isUndecodable =
      parseMainDataBegin(frame) > this.#bytesSeen || parseGranules(frame).some(({ isBroken }) => isBroken);
    if (isUndecodable) silenceFrame(frame);
    const ownBytes = header.frameBytes - header.sideOffset - header.sideBytes;
    const max = header.version === "1" ? MAX_BACK_BYTES.mpeg1 : MAX_BACK_BYTES.mpeg2;
    this.#bytesSeen = Math.min(this.#bytesSeen + ownBytes, max);
  }
}
