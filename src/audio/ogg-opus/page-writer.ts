/** Writes one stream of Ogg pages. */
import type { BufferedWriter } from "../buffered-writer.ts";
import { MAX_SEGMENTS, PAGE_HEADER_BYTES, writeChecksum } from "./pages.ts";

const SEGMENT_BYTES = 255;
const MAX_PAGE_BYTES = PAGE_HEADER_BYTES + MAX_SEGMENTS + MAX_SEGMENTS * SEGMENT_BYTES;
/**
 * Duration after which a page ends: one second at 48 kHz. A player that seeks to a time reads about one page, so short
 * pages make seeking fast.
 */
const PAGE_SAMPLES = 48_000;
const NO_GRANULE = 0xffff_ffff_ffff_ffffn;
const CONTINUES = 1;
const BEGINS_STREAM = 2;
const ENDS_STREAM = 4;

interface PageToWrite {
  readonly flags: number;
  /** Position at which the last packet of the page ends; undefined if no packet ends on the page. */
  readonly granule: number | undefined;
  readonly lacing: Uint8Array;
  readonly payload: Uint8Array;
}

/**
 * Packs the packets of one stream into Ogg pages. A page of audio ends when it lasts at least one second or has no room
 * for the next packet. {@link PageWriter.end} must be called last, because it writes the last page.
 */
export class PageWriter {
  readonly #output: BufferedWriter;
  readonly #serial: number;
  readonly #page = new Uint8Array(MAX_PAGE_BYTES);
  #sequence = 0;
  /** The segment table of the next page. Each packet adds its entries here, and its bytes to the payload. */
  readonly #lacing = new Uint8Array(MAX_SEGMENTS);
  readonly #payload = new Uint8Array(MAX_SEGMENTS * SEGMENT_BYTES);
  #segments = 0;
  #bytes = 0;
  #pageSamples = 0;
  #samples = 0;

  constructor(output: BufferedWriter, serial: number) {
    this.#output = output;
    this.#serial = serial;
  }

  /** Writes a header packet on pages of its own, as many as it needs. */
  async writeHeader(packet: Uint8Array): Promise<void> {
    const segments = Math.floor(packet.byteLength / SEGMENT_BYTES) + 1;
    for (let first = 0; first < segments; first += MAX_SEGMENTS) {
      const count = Math.min(MAX_SEGMENTS, segments - first);
      const isEnd = first + count === segments;
      const payload = packet.subarray(first * SEGMENT_BYTES, (first + count) * SEGMENT_BYTES);
      const lacing = new Uint8Array(count).fill(SEGMENT_BYTES);
      if (isEnd) lacing[count - 1] = packet.byteLength % SEGMENT_BYTES;
      const flags = (this.#sequence === 0 ? BEGINS_STREAM : 0) | (first === 0 ? 0 : CONTINUES);
      await this.#write({ flags, granule: isEnd ? 0 : undefined, lacing, payload });
    }
  }

  /**
   * Writes an audio packet.
   *
   * @param samples duration of the packet in samples at 48 kHz
   */
  async writePacket(bytes: Uint8Array, samples: number): Promise<void> {
    const full = Math.floor(bytes.byteLength / SEGMENT_BYTES);
    if (this.#segments + full + 1 > MAX_SEGMENTS || this.#pageSamples >= PAGE_SAMPLES) {
      await this.#writeAudio(0, this.#samples);
    }
    this.#lacing.fill(SEGMENT_BYTES, this.#segments, this.#segments + full);
    this.#lacing[this.#segments + full] = bytes.byteLength % SEGMENT_BYTES;
    this.#segments += full + 1;
    this.#payload.set(bytes, this.#bytes);
    this.#bytes += bytes.byteLength;
    this.#pageSamples += samples;
    this.#samples += samples;
  }

  /** Ends the stream. Players do not play samples after the position `granule`. */
  async end(granule: number): Promise<void> {
    await this.#writeAudio(ENDS_STREAM, granule);
  }

  async #writeAudio(flags: number, granule: number): Promise<void> {
    const lacing = this.#lacing.subarray(0, this.#segments);
    const payload = this.#payload.subarray(0, this.#bytes);
    await this.#write({ flags, granule, lacing, payload });
    this.#segments = 0;
    this.#bytes = 0;
    this.#pageSamples = 0;
  }

  async #write({ flags, granule, lacing, payload }: PageToWrite): Promise<void> {
    const headerBytes = PAGE_HEADER_BYTES + lacing.byteLength;
    const page = this.#page.subarray(0, headerBytes + payload.byteLength);
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    page.set(new TextEncoder().encode("OggS"), 0);
    page[4] = 0;
    page[5] = flags;
    view.setBigUint64(6, granule === undefined ? NO_GRANULE : BigInt(granule), true);
    view.setUint32(14, this.#serial, true);
    view.setUint32(18, this.#sequence, true);
    page[PAGE_HEADER_BYTES - 1] = lacing.byteLength;
    page.set(lacing, PAGE_HEADER_BYTES);
    page.set(payload, headerBytes);
    writeChecksum(page);
    this.#sequence += 1;
    await this.#output.put(page);
  }
}
