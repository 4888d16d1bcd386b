/** Makes the first pass over an Opus part: finds its format, its length and the samples that are not played. */
import type { PartFile } from "../part-file.ts";
import { isTags, type OpusHead, parseHead } from "./head.ts";
import { type OpusPacket, parsePacket } from "./packet.ts";
import { MAX_PACKET_BYTES, readPages } from "./pages.ts";

export interface OpusPart {
  readonly head: OpusHead;
  readonly serial: number;
  readonly packetCount: number;
  /** Number of samples of all packets together, at 48 kHz. */
  readonly samples: number;
  /** Number of samples at the end that are not played. */
  readonly trimSamples: number;
  readonly beginsWithCelt: boolean;
  readonly endsWithCelt: boolean;
  readonly hasStereoPackets: boolean;
}

export interface AudioPacket extends OpusPacket {
  /** Content of the packet. The next page overwrites this buffer. */
  readonly bytes: Buffer;
}

interface AudioPage {
  readonly packets: readonly AudioPacket[];
  readonly granule: number | undefined;
  readonly endsStream: boolean;
}

/**
 * Yields the sound of a part, page by page.
 *
 * @param onHead receives the header's fields, before the first page of sound is yielded
 */
export async function* readSoundPackets(
  file: PartFile,
  onHead: (head: OpusHead, serial: number) => void = () => {},
): AsyncGenerator<AudioPage> {
  let headersRead = 0;
  for await (const { packets, granule, endsStream, serial } of readPages(file)) {
    if (headersRead === 2) {
      yield { packets: packets.map((bytes) => toAudioPacket(bytes, file)), granule, endsStream };
      continue;
    }
    // RFC 7845 allows no other packet on the page on which a header packet ends.
    if (packets.length > 1) throw file.damagedPartError("its headers share a page with other packets");
    const [packet] = packets;
    if (packet === undefined) continue;
    headersRead += 1;
    if (headersRead === 2 && !isTags(packet))
      throw file.damagedPartError("its second packet holds no comments");
    if (headersRead === 2) continue;
    const head = parseHead(packet);
    if (typeof head === "string") throw file.damagedPartError(head);
    onHead(head, serial);
  }
}

function toAudioPacket(bytes: Buffer, file: PartFile): AudioPacket {
  const packet = bytes.byteLength > MAX_PACKET_BYTES ? undefined : parsePacket(bytes);
  if (packet === undefined) throw file.damagedPartError("a packet in it is not Opus");
  return { ...packet, bytes };
}

/** Checks the positions that pages state, and counts samples. */
class Positions {
  samples = 0;
  #pages = 0;
  /** The first stated position minus the number of samples up to that position. */
  #firstPageOffsetSamples = 0;
  #last = 0;

  /**
   * Checks the position that a page states, and adds the page's samples.
   *
   * @returns what is wrong with the page's position, or undefined if the position is valid
   */
  pass({ packets, granule }: AudioPage): string | undefined {
    this.samples += packets.reduce((sum, { samples }) => sum + samples, 0);
    if (granule === undefined) return undefined;
    if (this.#pages === 0) this.#firstPageOffsetSamples = granule - this.samples;
    // The first stated position may be less than the number of samples so far, but only if no later page states a
    // position. The samples after the first position are then not played.
    if (this.#pages === 1 && this.#firstPageOffsetSamples < 0)
      return "its first position lies before its beginning";
    if (granule < this.#last) return "its positions run backwards";
    this.#pages += 1;
    this.#last = granule;
    return undefined;
  }

  /**
   * Number of samples at the end that are not played; 0 if the last position exceeds the number of samples, for example
   * after a lost page.
   */
  get trimSamples(): number {
    const offset = this.#pages > 1 ? this.#firstPageOffsetSamples : 0;
    return this.#pages === 0 ? 0 : Math.max(0, offset + this.samples - this.#last);
  }
}

/**
 * Reads a whole Opus part, and returns its format, its length and the number of samples at its end that are not played.
 * Does not decode the sound.
 *
 * @throws DamagedPartError if a page or a header is damaged or missing, if there is another stream, or if the part has
 *   no sound
 */
export async function readOggOpus(file: PartFile): Promise<OpusPart> {
  let opened: { head: OpusHead; serial: number } | undefined;
  let first: AudioPacket | undefined;
  let last: AudioPacket | undefined;
  let packets = 0;
  let hasStereoPackets = false;
  const positions = new Positions();
  const sound = readSoundPackets(file, (head, serial) => {
    opened = { head, serial };
  });
  for await (const page of sound) {
    const damage = positions.pass(page);
    if (damage !== undefined) throw file.damagedPartError(damage);
    packets += page.packets.length;
    first ??= page.packets[0];
    last = page.packets.at(-1) ?? last;
    hasStereoPackets ||= page.packets.some(({ isStereo }) => isStereo);
  }
  const { samples, trimSamples } = positions;
  if (opened === undefined || first === undefined || samples <= opened.head.preSkip + trimSamples) {
    throw file.damagedPartError("it holds no sound");
  }
  return {
    ...opened,
    packetCount: packets,
    samples,
    trimSamples,
    beginsWithCelt: first.isCelt,
    endsWithCelt: last?.isCelt ?? first.isCelt,
    hasStereoPackets,
  };
}
