/** Writes pages of the Ogg container (RFC 3533) for one logical stream. */

const CRC_POLYNOMIAL = 0x04c11db7;
const HEADER_BYTES = 27;
const CHECKSUM_OFFSET = 22;
const SEGMENT_BYTES = 255;
/** Number of segment table entries for which a page has room. */
export const MAX_SEGMENTS = 255;

export const FIRST_PAGE = 2;
export const MIDDLE_PAGE = 0;
export const LAST_PAGE = 4;

/** Lookup table of Ogg's CRC-32: most significant bit first, no reflection, initial value 0, no final inversion. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte << 24;
  for (let bit = 0; bit < 8; bit++) {
    remainder = remainder & 0x80000000 ? (remainder << 1) ^ CRC_POLYNOMIAL : remainder << 1;
  }
  return remainder >>> 0;
});

function computeChecksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = (crc << 8) ^ (crcTable[(crc >>> 24) ^ byte] ?? 0);
  return crc >>> 0;
}

/** Returns a packet's segment table entries: 255 for each full segment, then the length of the rest, which may be 0. */
function buildLacing(packet: Uint8Array): number[] {
  const full = Math.floor(packet.length / SEGMENT_BYTES);
  return [...Array<number>(full).fill(SEGMENT_BYTES), packet.length % SEGMENT_BYTES];
}

/** Counts the segment table entries that a packet needs. */
export const countSegments = (packet: Uint8Array): number => buildLacing(packet).length;

export interface OggPage {
  readonly kind: typeof FIRST_PAGE | typeof MIDDLE_PAGE | typeof LAST_PAGE;
  /** The position at which the last packet of this page ends, in samples at the codec's rate. */
  readonly granulePosition: number;
  readonly serial: number;
  readonly sequence: number;
  /** Complete packets, whose segments must fit in one page. */
  readonly packets: readonly Uint8Array[];
}

/** Builds the bytes of a page, with its checksum. Throws a RangeError if the packets need more than 255 segments. */
export function buildOggPage(page: OggPage): Buffer {
  const segments = page.packets.flatMap(buildLacing);
  if (segments.length > MAX_SEGMENTS) throw new RangeError("too many segments for one Ogg page");
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("OggS");
  header[5] = page.kind;
  header.writeBigUInt64LE(BigInt(page.granulePosition), 6);
  header.writeUInt32LE(page.serial, 14);
  header.writeUInt32LE(page.sequence, 18);
  header[26] = segments.length;
  const bytes = Buffer.concat([header, Buffer.from(segments), ...page.packets]);
  bytes.writeUInt32LE(computeChecksum(bytes), CHECKSUM_OFFSET);
  return bytes;
}
