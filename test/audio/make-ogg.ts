/** Builds Ogg Opus files, with or without sound. Reads and writes pages without `src/audio`. */

const HEADER_BYTES = 27;

function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  return crc >>> 0;
}

/** Splits a file into its pages. */
export function oggPages(file: Buffer): Buffer[] {
  const pages: Buffer[] = [];
  for (let at = 0; at < file.byteLength; ) {
    const segments = file[at + HEADER_BYTES - 1] ?? 0;
    const lacing = file.subarray(at + HEADER_BYTES, at + HEADER_BYTES + segments);
    const end = at + HEADER_BYTES + segments + lacing.reduce((sum, value) => sum + value, 0);
    pages.push(file.subarray(at, end));
    at = end;
  }
  return pages;
}

interface Packet {
  readonly bytes: Buffer;
  /** The granule position of the page on which the packet ends. */
  readonly granule: number;
}

function packetsOf(file: Buffer): Packet[] {
  const packets: Packet[] = [];
  let open: Buffer[] = [];
  for (const page of oggPages(file)) {
    const segments = page[HEADER_BYTES - 1] ?? 0;
    let at = HEADER_BYTES + segments;
    for (const value of page.subarray(HEADER_BYTES, HEADER_BYTES + segments)) {
      open.push(page.subarray(at, at + value));
      at += value;
      if (value === 255) continue;
      packets.push({ bytes: Buffer.concat(open), granule: Number(page.readBigInt64LE(6)) });
      open = [];
    }
  }
  return packets;
}

const FRAME_SAMPLES = [480, 960, 1920, 2880, 480, 960, 1920, 2880, 480, 960, 1920, 2880, 480, 960, 480, 960];
const CELT_FRAME_SAMPLES = [120, 240, 480, 960];

function samplesOf(packet: Buffer): number {
  const config = (packet[0] ?? 0) >> 3;
  const frames = [1, 2, 2, (packet[1] ?? 0) & 63][(packet[0] ?? 0) & 3] ?? 0;
  return frames * (FRAME_SAMPLES[config] ?? CELT_FRAME_SAMPLES[config % 4] ?? 0);
}

export interface PageChanges {
  /** Writes packets to pages of this size. Packets that do not fit continue on the next page. */
  readonly segmentsPerPage: number;
  readonly granuleOffset?: number;
  readonly firstSequence?: number;
  readonly serial?: number;
  /** Length in bytes of the only comment. */
  readonly comments?: number;
  /** Changes the identification header. */
  readonly head?: (head: Buffer) => unknown;
  /** Changes the audio packet with the given index. The first audio packet has the index 0. */
  readonly packet?: (packet: Buffer, index: number) => Buffer;
  /** Changes the granule position of an audio page, counted from 0. */
  readonly granule?: (granule: number, page: number) => number;
}

/** Writes the packets of a file to new pages, with the given page size and changes. */
export function rewritten(file: Buffer, options: PageChanges): Buffer {
  const { segmentsPerPage, granuleOffset = 0, firstSequence = 0, serial = 77, comments = 0 } = options;
  const [head, , ...sound] = packetsOf(file);
  if (head === undefined) throw new Error("there is no header");
  const lastGranule = sound.at(-1)?.granule ?? 0;
  const identification = Buffer.from(head.bytes);
  options.head?.(identification);
  const vendor = Buffer.from("OpusTags\x01\0\0\0v\x01\0\0\0");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(comments);
  const tags = Buffer.concat([vendor, length, Buffer.alloc(comments, "x")]);

  const pages: Buffer[] = [];
  const write = (lacing: number[], payload: Buffer, granule: bigint, flags: number): void => {
    const page = Buffer.concat([Buffer.alloc(HEADER_BYTES), Buffer.from(lacing), payload]);
    page.write("OggS");
    page[5] = flags | (pages.length === 0 ? 2 : 0);
    page.writeBigInt64LE(granule, 6);
    page.writeUInt32LE(serial, 14);
    page.writeUInt32LE(firstSequence + pages.length, 18);
    page[HEADER_BYTES - 1] = lacing.length;
    page.writeUInt32LE(checksum(page), 22);
    pages.push(page);
  };
  /** Writes packets to pages. `granules` has one granule position for each packet. */
  const lay = (packets: readonly Buffer[], granules: readonly number[], matchesFormat: boolean): void => {
    const segments = packets.flatMap((bytes, index) => {
      const full = Math.floor(bytes.byteLength / 255);
      return Array.from({ length: full + 1 }, (_, at) => ({
        bytes: bytes.subarray(at * 255, at * 255 + 255),
        ends: at === full ? index : undefined,
        isLater: at > 0,
      }));
    });
    const size = matchesFormat ? segmentsPerPage : 255;
    for (let at = 0, count = 0; at < segments.length; at += size, count += 1) {
      const pageSegments = segments.slice(at, at + size);
      const ended = pageSegments.findLast(({ ends }) => ends !== undefined)?.ends;
      const position = ended === undefined ? undefined : (granules[ended] ?? 0);
      const reported =
        position === undefined ? -1 : matchesFormat ? (options.granule?.(position, count) ?? position) : 0;
      const isLast = matchesFormat && at + size >= segments.length;
      write(
        pageSegments.map(({ bytes, ends }) => (ends === undefined ? 255 : bytes.byteLength)),
        Buffer.concat(pageSegments.map(({ bytes }) => bytes)),
        BigInt(reported),
        (pageSegments[0]?.isLater ? 1 : 0) | (isLast ? 4 : 0),
      );
    }
  };
  lay([identification], [0], false);
  lay([tags], [0], false);
  let position = granuleOffset;
  const packets = sound.map(({ bytes }, index) => options.packet?.(bytes, index) ?? bytes);
  const granules = packets.map((bytes) => {
    position += samplesOf(bytes);
    return position;
  });
  granules[granules.length - 1] = granuleOffset + lastGranule;
  lay(packets, granules, true);
  return Buffer.concat(pages);
}
