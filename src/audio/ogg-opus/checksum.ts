/** Computes the checksum of Ogg pages: CRC-32, most significant bit first, initial value 0, no inversion (RFC 3533). */

const CRC_POLYNOMIAL = 0x04c11db7;
const CHECKSUM_OFFSET = 22;
const CHECKSUM_BYTES = 4;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) {
    remainder = remainder & 0x80000000 ? (remainder << 1) ^ CRC_POLYNOMIAL : remainder << 1;
  }
  return remainder >>> 0;
});

function extendChecksum(start: number, bytes: Uint8Array, from: number, to: number): number {
  let crc = start;
  // Use an index, because an iterator takes several times as long. The time matters, because every byte of a file is
  // processed twice.
  for (let index = from; index < to; index += 1) {
    crc = (crc << 8) ^ (CRC_TABLE[((crc >>> 24) ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  }
  return crc;
}

/** Computes the checksum of a whole page, as if its checksum field were 0. */
export function computePageChecksum(page: Uint8Array): number {
  const before = extendChecksum(0, page, 0, CHECKSUM_OFFSET);
  const zeroed = extendChecksum(before, new Uint8Array(CHECKSUM_BYTES), 0, CHECKSUM_BYTES);
  return extendChecksum(zeroed, page, CHECKSUM_OFFSET + CHECKSUM_BYTES, page.byteLength) >>> 0;
}

/** Writes a page's checksum into it. */
export function writeChecksum(page: Uint8Array): void {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  view.setUint32(CHECKSUM_OFFSET, computePageChecksum(page), true);
}
