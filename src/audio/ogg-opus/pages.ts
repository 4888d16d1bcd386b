/**
 * Reads the pages of an Ogg file with one stream (RFC 3533), checks them, and reassembles packets that span pages.
 */
import type { PartFile } from "../part-file.ts";

export const PAGE_HEADER_BYTES = 27;
export const MAX_SEGMENTS = 255;
export const SEGMENT_BYTES = 255;
/**
 * Maximum length of a packet. Opus allows at most 48 frames of 1,275 bytes, and a few bytes that state the lengths of
 * the frames.
 */
export const MAX_PACKET_BYTES = 61_440;
export const CONTINUES = 1;
export const BEGINS_STREAM = 2;
export const ENDS_STREAM = 4;
/** The stated position of a page on which no packet ends. */
export const NO_GRANULE = -1n;

export interface Page {
  readonly serial: number;
  /** Position in samples at which the last packet of this page ends; undefined if no packet ends on the page. */
  readonly granule: number | undefined;
  readonly endsStream: boolean;
  /** The packets that end on this page. The next page overwrites these buffers. */
  readonly packets: readonly Buffer[];
}

interface RawPage {
  readonly flags: number;
  readonly granule: bigint;
  readonly serial: number;
  readonly sequence: number;
  readonly lacing: Buffer;
  readonly payload: Buffer;
  readonly sizeBytes: number;
}

/** Reads the page at an offset; returns undefined if no page begins there, and `cut` if the file ends within it. */
async function parsePageAt(file: PartFile, offset: number): Promise<RawPage | "cut" | undefined> {
  const head = await file.readBytes(offset, PAGE_HEADER_BYTES + MAX_SEGMENTS);
  if (!"OggS".startsWith(head.toString("latin1", 0, 4))) return undefined;
  if (head.byteLength < PAGE_HEADER_BYTES) return "cut";
  const segments = head[PAGE_HEADER_BYTES - 1] ?? 0;
  const headerBytes = PAGE_HEADER_BYTES + segments;
  if (head.byteLength < headerBytes) return "cut";
  const payloadBytes = head.subarray(PAGE_HEADER_BYTES, headerBytes).reduce((sum, value) => sum + value, 0);
  const page = await file.readBytes(offset, headerBytes + payloadBytes);
  if (page.byteLength < headerBytes + payloadBytes) return "cut";
  if (page[4] !== 0) throw file.damagedPartError("it is of an unknown version of Ogg");
  if (computePageChecksum(page) !== page.readUInt32LE(CHECKSUM_OFFSET))
    throw file.damagedPartError("the checksum of a page is wrong");
  return {
    flags: page[5] ?? 0,
    granule: page.readBigInt64LE(6),
    serial: page.readUInt32LE(14),
    sequence: page.readUInt32LE(18),
    lacing: page.subarray(PAGE_HEADER_BYTES, headerBytes),
    payload: page.subarray(headerBytes),
    sizeBytes: headerBytes + payloadBytes,
  };
}

/** Collects the bytes of a packet that spans several pages. */
class OpenPacket {
  #fragments: Uint8Array[] = [];
  #bytes = 0;
  isOpen = false;

  /**
   * Adds the packet's bytes from one page. Keeps only the beginning of a packet that is too long for audio. Such a
   * packet may be a comment packet with large pictures.
   */
  add(fragment: Uint8Array): void {
    this.isOpen = true;
    this.#bytes += fragment.byteLength;
    if (this.#bytes <= MAX_PACKET_BYTES + SEGMENT_BYTES * MAX_SEGMENTS)
      this.#fragments.push(Buffer.from(fragment));
  }

  close(last: Uint8Array): Buffer {
    const wholePacket = Buffer.concat([...this.#fragments, last]);
    this.#fragments = [];
    this.#bytes = 0;
    this.isOpen = false;
    return wholePacket;
  }
}

function splitPackets(page: RawPage, open: OpenPacket): Buffer[] {
  const packets: Buffer[] = [];
  let start = 0;
  let end = 0;
  for (const value of page.lacing) {
    end += value;
    if (value === SEGMENT_BYTES) continue;
    const fragment = page.payload.subarray(start, end);
    packets.push(open.isOpen ? open.close(fragment) : fragment);
    start = end;
  }
  if (start < end) open.add(page.payload.subarray(start, end));
  return packets;
}

/** Checks a page against the pages before it. Returns the damage, or undefined if the page is valid. */
function findPageDamage(page: RawPage, first: RawPage, index: number, isOpen: boolean): string | undefined {
  const begins = (page.flags & BEGINS_STREAM) !== 0;
  if (page.serial !== first.serial || begins !== (index === 0)) return "it holds more than one stream";
  if (page.sequence !== (first.sequence + index) % 2 ** 32) return "a page is missing";
  if (((page.flags & CONTINUES) !== 0) !== isOpen) return "a packet lacks one of its pages";
  if (page.granule < NO_GRANULE || page.granule > BigInt(Number.MAX_SAFE_INTEGER)) {
    return "a page has an impossible position";
  }
  return undefined;
}

/**
 * Yields the pages of a part in order, up to the page that ends its stream or to the last whole page. A file that ends
 * early is not damaged: it is played up to there, and its length tells that it is short.
 *
 * @throws DamagedPartError if a page is damaged or missing, or if there is another stream
 */
export async function* readPages(file: PartFile): AsyncGenerator<Page> {
  const openPacket = new OpenPacket();
  let first: RawPage | undefined;
  let offset = 0;
  let hasEnded = false;
  for (let index = 0; offset < file.sizeBytes; index += 1) {
    const page = await parsePageAt(file, offset);
    // Ignore bytes after the stream that are not a page, because players ignore them too.
    if (page === undefined && hasEnded) return;
    if (page === "cut") return;
    if (page === undefined) throw file.damagedPartError("something in it is not an Ogg page");
    if (hasEnded) throw file.damagedPartError("it holds more than one stream");
    first ??= page;
    const damage = findPageDamage(page, first, index, openPacket.isOpen);
    if (damage !== undefined) throw file.damagedPartError(damage);
    hasEnded = (page.flags & ENDS_STREAM) !== 0;
    const granule = page.granule === NO_GRANULE ? undefined : Number(page.granule);
    yield { serial: page.serial, granule, endsStream: hasEnded, packets: splitPackets(page, openPacket) };
    offset += page.sizeBytes;
  }
}

const CRC_POLYNOMIAL = 0x04c11db7;
export const CHECKSUM_OFFSET = 22;
const CHECKSUM_BYTES = 4;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) {
    remainder = remainder & 0x80000000 ? (remainder << 1) ^ CRC_POLYNOMIAL : remainder << 1;
  }
  return remainder >>> 0;
});

/** Computes the checksum of a whole page, as if its checksum field were 0. */
export function computePageChecksum(page: Uint8Array): number {
  let crc = 0;
  // Use an index, because an iterator takes several times as long. The time matters, because every byte of a file is
  // processed twice.
  for (let index = 0; index < page.byteLength; index += 1) {
    const isOwn = index >= CHECKSUM_OFFSET && index < CHECKSUM_OFFSET + CHECKSUM_BYTES;
    const byte = isOwn ? 0 : (page[index] ?? 0);
    crc = (crc << 8) ^ (CRC_TABLE[(crc >>> 24) ^ byte] ?? 0);
  }
  return crc >>> 0;
}
