/** Owns reading a zip archive: enough of the format for the bundle, which is small, in one part, stored or deflated. */
import { inflateRawSync } from "node:zlib";

const END = 0x06054b50;
const END_SIZE = 22;
const ENTRY_SIZE = 46;
const LOCAL_HEADER_SIZE = 30;
const DEFLATED = 8;

/** @returns the files of an archive by their path; throws where it is none, or cut short */
export function readZip(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  // The directory is at the end, and only a comment, which tools do not write, could stand behind it.
  const end = archive.length - END_SIZE;
  if (end < 0 || archive.readUInt32LE(end) !== END) throw new Error("This is no whole zip archive.");
  const count = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  for (let entry = 0; entry < count; entry += 1) {
    const method = archive.readUInt16LE(at + 10);
    const size = archive.readUInt32LE(at + 20);
    const nameLength = archive.readUInt16LE(at + 28);
    const extraLength = archive.readUInt16LE(at + 30);
    const commentLength = archive.readUInt16LE(at + 32);
    const header = archive.readUInt32LE(at + 42);
    const name = archive.toString("utf8", at + ENTRY_SIZE, at + ENTRY_SIZE + nameLength);
    // The header before the bytes repeats the name, and has an extra field of its own length.
    const from =
      header + LOCAL_HEADER_SIZE + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
    const bytes = archive.subarray(from, from + size);
    if (!name.endsWith("/")) files.set(name, method === DEFLATED ? inflateRawSync(bytes) : bytes);
    at += ENTRY_SIZE + nameLength + extraLength + commentLength;
  }
  return files;
}
