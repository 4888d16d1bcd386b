/** Writes the tag at the beginning of an mp3 file: text tags and chapters (ID3v2.3.0 and its chapter addendum). */
import { buildTextTags, type JoinedChapter, type TextTags } from "../join-request.ts";

const TAG_HEADER_BYTES = 10;
/** Maximum number of entries in a table of contents. The table states this number in one byte. */
const MAX_ENTRIES = 255;
const UTF_16 = 1;
const IS_TOP_LEVEL = 2;
const IS_ORDERED = 1;
/** Means "no byte offset" in a chapter frame; players use the time instead. */
const NO_OFFSET = 0xffffffff;

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const encodeMilliseconds = (seconds: number): Buffer =>
  encodeUint32(Math.min(Math.round(seconds * 1000), 0xffffffff));

/** Builds a frame of a tag. In version 4, its content has less than 128 bytes, because both versions write those alike. */
export const buildTagFrame = (id: string, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from(id), encodeUint32(content.byteLength), Buffer.alloc(2), content]);

/** Builds a frame of text in little-endian UTF-16 with a byte order mark. All players read this encoding. */
const buildTextFrame = (id: string, text: string): Buffer =>
  buildTagFrame(id, Buffer.concat([Buffer.of(UTF_16, 0xff, 0xfe), Buffer.from(text, "utf16le")]));

const buildChapterId = (index: number): Buffer => Buffer.from(`chp${index}\0`);

function buildChapterFrame({ title, startSeconds, endSeconds }: JoinedChapter, index: number): Buffer {
  const times = [encodeMilliseconds(startSeconds), encodeMilliseconds(endSeconds)];
  const offsets = [encodeUint32(NO_OFFSET), encodeUint32(NO_OFFSET)];
  return buildTagFrame(
    "CHAP",
    Buffer.concat([buildChapterId(index), ...times, ...offsets, buildTextFrame("TIT2", title)]),
  );
}

/** Builds tables of contents. If one table cannot hold all chapters, the chapters go into nested tables. */
function buildContentsFrames(names: readonly Buffer[], level = 0): Buffer[] {
  const isTop = names.length <= MAX_ENTRIES;
  const groups = Array.from({ length: Math.ceil(names.length / MAX_ENTRIES) }, (_, index) =>
    names.slice(index * MAX_ENTRIES, (index + 1) * MAX_ENTRIES),
  );
  const tables = groups.map((entries, index) => {
    const name = Buffer.from(isTop ? "toc\0" : `toc${level}-${index}\0`);
    const flags = isTop ? IS_TOP_LEVEL | IS_ORDERED : IS_ORDERED;
    return {
      name,
      bytes: buildTagFrame("CTOC", Buffer.concat([name, Buffer.of(flags, entries.length), ...entries])),
    };
  });
  const here = tables.map(({ bytes }) => bytes);
  if (isTop) return here;
  const above = buildContentsFrames(
    tables.map(({ name }) => name),
    level + 1,
  );
  return [...above, ...here];
}

const FRAME_IDS = { title: "TIT2", author: "TPE1", album: "TALB", track: "TRCK" };

/** Builds the tag. Returns no bytes if there is nothing to write. */
export function buildId3Tag(tags: TextTags, chapters: readonly JoinedChapter[]): Buffer {
  const frames = [
    ...buildTextTags(tags, FRAME_IDS).map(([id, text]) => buildTextFrame(id, text)),
    ...(chapters.length === 0 ? [] : buildContentsFrames(chapters.map((_, index) => buildChapterId(index)))),
    ...chapters.map(buildChapterFrame),
  ];
  return frames.length === 0 ? Buffer.alloc(0) : wrapInTag(3, frames);
}

/** Builds a tag of ID3v2.3 or 2.4 from its frames. */
export function wrapInTag(version: 3 | 4, frames: readonly Buffer[]): Buffer {
  const content = Buffer.concat(frames);
  const header = Buffer.alloc(TAG_HEADER_BYTES);
  header.write("ID3");
  header[3] = version;
  // Write seven bits per byte, so that no player mistakes the size for a frame header.
  for (let byte = 0; byte < 4; byte += 1) header[9 - byte] = (content.byteLength >> (7 * byte)) & 0x7f;
  return Buffer.concat([header, content]);
}
