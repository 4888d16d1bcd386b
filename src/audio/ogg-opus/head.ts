/** Reads and writes the two header packets of Opus in Ogg (RFC 7845, section 5): the format and the comments. */
import { buildTextTags, formatClockTime, type JoinedChapter, type TextTags } from "../join-request.ts";

const HEAD_BYTES = 19;
const VENDOR_NAME = "audio-generation-mcp";
/** Maximum number of chapters. Players read chapter numbers of three digits, from 000 to 999. */
const MAX_CHAPTERS = 1000;

export interface OpusHead {
  readonly channels: number;
  /** Number of leading samples at 48 kHz that are not played, because the decoder needs them to converge. */
  readonly preSkip: number;
  /** Sample rate of the source; players do not need it. */
  readonly inputSampleRateHz: number;
  /** Gain that players apply, in 1/256 dB. */
  readonly outputGain: number;
}

/**
 * Reads the first packet. If the packet is not a valid header or needs a channel mapping, returns a clause that
 * describes the damage.
 */
export function parseHead(packet: Buffer): OpusHead | string {
  const name = packet.toString("latin1", 0, 8);
  if (name !== "OpusHead" || packet.byteLength < HEAD_BYTES) return "it does not begin like Opus";
  const [version, channels, family] = [packet.readUInt8(8), packet.readUInt8(9), packet.readUInt8(18)];
  if (version >> 4 !== 0) return "it is of an unknown version of Opus";
  if (family !== 0) return `its channels are of mapping family ${family}`;
  if (channels !== 1 && channels !== 2) return `it says that it has ${channels} channels`;
  return {
    channels,
    preSkip: packet.readUInt16LE(10),
    inputSampleRateHz: packet.readUInt32LE(12),
    outputGain: packet.readInt16LE(16),
  };
}

/**
 * Builds the first packet of an Opus stream. The packet states channel mapping family 0, which allows only mono and
 * stereo.
 */
export function buildHeadPacket({ channels, preSkip, inputSampleRateHz, outputGain }: OpusHead): Buffer {
  const packet = Buffer.alloc(HEAD_BYTES);
  packet.write("OpusHead");
  packet[8] = 1;
  packet[9] = channels;
  packet.writeUInt16LE(preSkip, 10);
  packet.writeUInt32LE(inputSampleRateHz, 12);
  packet.writeInt16LE(outputGain, 16);
  return packet;
}

/** Returns whether a packet is the comment header, which begins with `OpusTags`. Does not check the comments. */
export const isTags = (packet: Buffer): boolean => packet.toString("latin1", 0, 8) === "OpusTags";

const COMMENT_NAMES = { title: "TITLE", author: "ARTIST", album: "ALBUM", track: "TRACKNUMBER" };

/**
 * Builds the second packet of an Opus stream: one comment for each tag, and two comments for each chapter, with its
 * start time and its title. Leaves out all chapters after the first 1,000.
 */
export function buildTagsPacket(tags: TextTags, chapters: readonly JoinedChapter[]): Buffer {
  const comments = [
    ...buildTextTags(tags, COMMENT_NAMES).map(([name, value]) => `${name}=${value}`),
    ...chapters.slice(0, MAX_CHAPTERS).flatMap((chapter, index) => {
      const name = `CHAPTER${`${index}`.padStart(3, "0")}`;
      return [
        `${name}=${formatClockTime(Math.round(chapter.startSeconds * 1000))}`,
        `${name}NAME=${chapter.title}`,
      ];
    }),
  ];
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    return Buffer.concat([encodeUint32(bytes.byteLength), bytes]);
  };
  return Buffer.concat([
    Buffer.from("OpusTags"),
    text(VENDOR_NAME),
    encodeUint32(comments.length),
    ...comments.map(text),
  ]);
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
