/** Writes one stream of Ogg pages. */
import type { BufferedWriter } from "../buffered-writer.ts";
import {
  BEGINS_STREAM,
  CHECKSUM_OFFSET,
  CONTINUES,
  computePageChecksum,
  ENDS_STREAM,
  MAX_SEGMENTS,
  NO_GRANULE,
  PAGE_HEADER_BYTES,
  SEGMENT_BYTES,
} from "./pages.ts";

/**
 * Duration after which a page ends: one second at 48 kHz. A player that seeks to a time reads about one page, so short
 * pages make seeking fast.
 */
const PAGE_SAMPLES = 48_000;

interface PageToWrite {
  readonly flags: number;
  /** Position at which the last packet of the page ends; undefined if no packet ends on the page. */
  readonly granule: number | undefined;
  readonly lacing: readonly number[];
  readonly payload: readonly Uint8Array[];
}

/** Returns a packet's segment table entries: 255 for each full segment, then the length of the rest, which may be 0. */
function buildLacing({ byteLength }: Uint8Array): number[] {
  const full = Array<number>(Math.floor(byteLength / SEGMENT_BYTES)).fill(SEGMENT_BYTES);
  return [...full, byteLength % SEGMENT_BYTES];
}

/**
 * Packs the packets of one stream into Ogg pages. A page of audio ends when it lasts at least one second or has no room
 * for the next packet. {@link PageWriter.end} must be called last, because it writes the last page.
 */
export class PageWriter {
  readonly #output: BufferedWriter;
  readonly #serial: number;
  #sequence = 0;
  /** The segment table and the packets of the next page. */
  #lacing: number[] = [];
  #payload: Uint8Array[] = [];
  #pageSamples = 0;
  #samples = 0;

  constructor(output: BufferedWriter, serial: number) {
    this.#output = output;
    this.#serial = serial;
  }

  /** Writes a header packet on pages of its own, as many as it needs. */
  async writeHeader(packet: Uint8Array): Promise<void> {
    const all = buildLacing(packet);
    for (let first = 0; first < all.length; first += MAX_SEGMENTS) {
      const lacing = all.slice(first, first + MAX_SEGMENTS);
      const isEnd = first + lacing.length === all.length;
      const payload = [packet.subarray(first * SEGMENT_BYTES, (first + MAX_SEGMENTS) * SEGMENT_BYTES)];
      const flags = (this.#sequence === 0 ? BEGINS_STREAM : 0) | (first === 0 ? 0 : CONTINUES);
      await this.#write({ flags, granule: isEnd ? 0 : undefined, lacing, payload });
    }
  }

  /**
   * Writes an audio packet. The caller may reuse the buffer once the promise is fulfilled.
   *
   * @param samples duration of the packet in samples at 48 kHz
   */
  async writePacket(bytes: Uint8Array, samples: number): Promise<void> {
    const lacing = buildLacing(bytes);
    if (this.#lacing.length + lacing.length > MAX_SEGMENTS || this.#pageSamples >= PAGE_SAMPLES) {
      await this.#writeAudio(0, this.#samples);
    }
    this.#lacing.push(...lacing);
    this.#payload.push(Buffer.from(bytes));
    this.#pageSamples += samples;
    this.#samples += samples;
  }

  /** Ends the stream. Players do not play samples after the position `granule`. */
  async end(granule: number): Promise<void> {
    await this.#writeAudio(ENDS_STREAM, granule);
  }

  async #writeAudio(flags: number, granule: number): Promise<void> {
    await this.#write({ flags, granule, lacing: this.#lacing, payload: this.#payload });
    this.#lacing = [];
    this.#payload = [];
    this.#pageSamples = 0;
  }

  async #write({ flags, granule, lacing, payload }: PageToWrite): Promise<void> {
    const header = Buffer.alloc(PAGE_HEADER_BYTES);
    header.write("OggS");
    header[5] = flags;
    header.writeBigInt64LE(granule === undefined ? NO_GRANULE : BigInt(granule), 6);
    header.writeUInt32LE(this.#serial, 14);
    header.writeUInt32LE(this.#sequence, 18);
    header[PAGE_HEADER_BYTES - 1] = lacing.length;
    const page = Buffer.concat([header, Buffer.from(lacing), ...payload]);
    page.writeUInt32LE(computePageChecksum(page), CHECKSUM_OFFSET);
    this.#sequence += 1;
    await this.#output.put(page);
  }
}
