/**
 * Reads the bytes at an address. The address of a task's audio names a piece. The address of a narration's file,
 * captions or chapters names a piece or the whole file.
 */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { AudioError } from "../errors.ts";
import { MAX_PIECE_BYTES, type Piece } from "../files/read-piece.ts";
import { findBeside } from "../narration/narration-files.ts";
import { decodePercent } from "../percent-decoding.ts";
import type { AudioBytes } from "../requests/read-audio.ts";
import type { ServerDeps } from "./run-tool.ts";

const TASK_PIECE = /^audio:\/\/tasks\/([^/?#]+)\/content\?(.*)$/;
const NARRATION_FILE =
  /^audio:\/\/narrations\/([^/?#]+)\/files\/(\d{1,6})(?:\/(captions|chapters))?(?:\?(.*))?$/;

const PART_CAPTIONS = /^audio:\/\/narrations\/([^/?#]+)\/parts\/(\d{1,6})\/captions(?:\?(.*))?$/;

const COMPANION_KINDS = {
  captions: "text/vtt",
  chapters: "application/json",
} as const;

const WHOLE: Piece = { offset: 0, length: MAX_PIECE_BYTES };

const invalidPieceError = (uri: string): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `offset must be a whole number of at least 0, length one of at least 1, each at most once, and nothing else (at most ${MAX_PIECE_BYTES} bytes are handed over at once).`,
    { uri },
  );

/**
 * Parses the query of a piece's address.
 *
 * @throws ProtocolError -32602 for an empty query, a name other than `offset` and `length`, a repeated name, a value
 *   that is not a whole number, or a `length` of 0
 */
function parsePiece(query: string, uri: string): Piece {
  const entries = [...new URLSearchParams(query)];
  const values = new Map(entries);
  const isKnown = entries.every(
    ([name, value]) => /^(?:offset|length)$/.test(name) && /^\d{1,15}$/.test(value),
  );
  const [offset, length] = [
    Number(values.get("offset") ?? 0),
    Number(values.get("length") ?? MAX_PIECE_BYTES),
  ];
  if (!isKnown || values.size !== entries.length || values.size === 0 || length === 0)
    throw invalidPieceError(uri);
  return { offset, length: Math.min(length, MAX_PIECE_BYTES) };
}

async function readNarrationFile(
  uri: string,
  [, narrationId = "", number = "", kind, query]: RegExpExecArray,
  deps: ServerDeps,
): Promise<AudioBytes> {
  const piece = query === undefined ? null : parsePiece(query, uri);
  const file = await (await deps.toolDeps.narrations()).findFileByNumber(narrationId, Number(number));
  const requests = await deps.toolDeps.requests();
  if (kind !== "captions" && kind !== "chapters") {
    return await (piece === null
      ? requests.readNarrationFile(file.audio)
      : requests.readNarrationPiece(file.audio, piece));
  }
  const companion = findBeside(file, kind);
  if (companion === undefined) throw new AudioError("not_found", `The file has no ${kind}.`);
  const { path, size_bytes: sizeBytes } = companion;
  if (piece === null && sizeBytes > MAX_PIECE_BYTES) {
    throw new AudioError("too_large", `The text is long; it is saved as ${path}, and can be read in pieces.`);
  }
  const { bytes } = await requests.readNarrationPiece(companion, piece ?? WHOLE);
  return { bytes, mimeType: path.endsWith(".srt") ? "application/x-subrip" : COMPANION_KINDS[kind] };
}

async function readPartCaptions(
  uri: string,
  [, narrationId = "", number = "", query]: RegExpExecArray,
  deps: ServerDeps,
): Promise<AudioBytes> {
  const { offset, length } = query === undefined ? WHOLE : parsePiece(query, uri);
  const text = await (await deps.toolDeps.narrations()).makePartCaptions(narrationId, Number(number));
  return {
    bytes: Buffer.from(text).subarray(offset, offset + length),
    mimeType: COMPANION_KINDS.captions,
  };
}

/**
 * Reads audio, captions or chapters at an address, as a piece or as a whole.
 *
 * @returns `null` for any other address
 * @throws ProtocolError -32602 for invalid numbers; AudioError `not_found`, `too_large`
 */
export async function readPieceAt(uri: string, deps: ServerDeps): Promise<AudioBytes | null> {
  const [, taskId, query] = TASK_PIECE.exec(uri) ?? [];
  if (taskId !== undefined && query !== undefined) {
    const piece = parsePiece(query, uri);
    return await (await deps.toolDeps.requests()).readTaskPiece(decodePercent(taskId), piece);
  }
  const ofNarration = NARRATION_FILE.exec(uri);
  if (ofNarration !== null) return await readNarrationFile(uri, ofNarration, deps);
  const ofPart = PART_CAPTIONS.exec(uri);
  return ofPart === null ? null : await readPartCaptions(uri, ofPart, deps);
}
