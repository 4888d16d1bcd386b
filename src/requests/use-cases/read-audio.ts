/** The use case of `resources/read`: reads audio that the ledger knows. Downloads nothing. */
import { fileURLToPath } from "node:url";
import { MIME_TYPES, mimeTypeForPath } from "../../contract/audio-format.ts";
import { isTaskId } from "../../contract/wire.ts";
import { AudioError } from "../../errors.ts";
import { matchesDigest } from "../../files/file-content.ts";
import type { Piece, PieceReader } from "../../files/read-piece.ts";
import { findOtherSpellings } from "../../files/real-path.ts";
import { isIntact, readSaved } from "../../files/saved-copies.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";
import { findSaved } from "../records/find-saved.ts";
import { parseStoredFormat } from "../records/stored-input.ts";

/** Maximum size of a resource. The stdio buffers of the official clients hold 10 MiB, and base64 adds a third. */
const MAX_RESOURCE_BYTES = 7 * 1024 * 1024;

export interface AudioBytes {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

const TASK_URI = /^audio:\/\/tasks\/([^/]+)\/content$/;

/** Builds the `not_found` error for an address at which this ledger has no audio. */
export function unknownResourceError(): AudioError {
  return new AudioError("not_found", "No audio of this ledger has that address.", {
    remedy: "Use the uri of a resource_link, or audio://tasks/{task_id}/content of a finished, saved task.",
  });
}

type LocatedFile = { readonly record: RequestRecord; readonly file: SavedFile };

async function locate(deps: RequestDeps, uri: string): Promise<LocatedFile | null> {
  const taskId = TASK_URI.exec(uri)?.[1];
  if (taskId === undefined) {
    const path = nullIfThrows(() => fileURLToPath(uri));
    if (path === null) return null;
    return (await locatePath(deps, path)) ?? (await locateSpelling(deps, path));
  }
  const decoded = nullIfThrows(() => decodeURIComponent(taskId));
  if (decoded === null || !isTaskId(decoded)) return null;
  for (const record of await deps.ledger.findByTask(decoded)) {
    const file = await findSaved(deps, record, null);
    if (file !== null) return { record, file };
  }
  return null;
}

function nullIfThrows<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch {
    return null;
  }
}

/**
 * Finds the record of a path. Several records may have saved a file under this path, so the hash shows whose audio is
 * there now.
 */
async function locatePath(deps: RequestDeps, path: string): Promise<LocatedFile | null> {
  let recorded: LocatedFile | null = null;
  for (const record of await deps.ledger.findByPath(path)) {
    for (const file of record.files.filter((candidate) => candidate.path === path)) {
      if (await isIntact(file, deps.folder.root)) return { record, file };
      recorded = { record, file };
    }
  }
  // Return the file even if it is gone or changed, because the read that follows reports the problem.
  return recorded;
}

/**
 * Tries other spellings of a path, because clients and file systems change the spelling (VS Code lowers drive letters).
 */
async function locateSpelling(deps: RequestDeps, path: string): Promise<LocatedFile | null> {
  for (const spelling of await findOtherSpellings(path, deps.folder.root)) {
    const located = await locatePath(deps, spelling);
    // Compare the content with the recorded hash, because a similar path may belong to another file.
    if (located !== null && (await matchesDigest(path, located.file))) return located;
  }
  return null;
}

/**
 * Reads saved audio and verifies it against the ledger.
 *
 * @throws AudioError `not_found` for audio that the ledger does not know, or that is gone or was changed; `too_large`
 *   above 7 MiB, with the path in the message
 */
export async function readAudio(deps: RequestDeps, uri: string): Promise<AudioBytes> {
  const located = await locate(deps, uri);
  if (located === null) throw unknownResourceError();
  const { record, file } = located;
  const bytes = await readSaved(file, deps.folder.root, MAX_RESOURCE_BYTES);
  return {
    bytes,
    mimeType: file.matchesFormat ? MIME_TYPES[parseStoredFormat(record).format] : "application/octet-stream",
  };
}

/** Reads and verifies a file of a narration. For the errors, see {@link readAudio}. */
export async function readFile(deps: RequestDeps, file: SavedFile): Promise<AudioBytes> {
  const { root } = deps.folder;
  const bytes = await readSaved(file, root, MAX_RESOURCE_BYTES, () => narrationFileGoneError(file.path));
  return { bytes, mimeType: mimeTypeForPath(file.path) };
}

/** The error for a file of a narration that is gone or was changed. Its parts are saved, so joining it again is free. */
export const narrationFileGoneError = (path: string): AudioError =>
  new AudioError("not_found", `${path} was changed or removed since it was saved.`, {
    remedy: "Tell the user. narrate with its narration_id and max_credits makes it again, free of charge.",
  });

/** Reads one piece of a narration's file. Throws if the file is gone or was changed. */
export async function readNarrationPiece(
  deps: RequestDeps,
  reader: PieceReader,
  file: SavedFile,
  piece: Piece,
): Promise<AudioBytes> {
  const bytes = await reader.read(file, deps.folder.root, piece);
  if (bytes === null) throw narrationFileGoneError(file.path);
  return { bytes, mimeType: mimeTypeForPath(file.path) };
}
