/** The use case of `resources/read`: reads saved files that the ledger knows, whole or in pieces. Downloads nothing. */
import { parse, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { mimeTypeForPath } from "../contract/audio-format.ts";
import { isTaskId } from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import { matchesDigest } from "../files/file-content.ts";
import type { Piece, PieceReader } from "../files/read-piece.ts";
import { findOtherSpellings, findUnicodeSpelling } from "../files/real-path.ts";
import { isIntact, readSaved } from "../files/saved-copies.ts";
import { findFilesAt, listFiles } from "../ledger/file-rows.ts";
import { findAttemptsOfTask } from "../ledger/request-rows.ts";
import type { FileRow } from "../ledger/schema.ts";
import type { RequestDeps } from "./deps.ts";
import { toSavedFile } from "./saved-audio.ts";

/** The stdio buffers of the official clients hold 10 MiB, and base64 adds a third. */
const MAX_RESOURCE_BYTES = 7 * 1024 * 1024;

export interface AudioBytes {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

type ReadDeps = Pick<RequestDeps, "ledger" | "folder">;

const TASK_URI = /^audio:\/\/tasks\/([^/]+)\/content$/;

/** The error for an address at which this ledger has no audio. */
function unknownResourceError(): AudioError {
  return new AudioError("not_found", "No audio of this ledger has that address.", {
    remedy: "Use the uri of a resource_link, or audio://tasks/{task_id}/content of a finished, saved task.",
  });
}

/** The error for a file of a narration that is gone or was changed. Its parts are saved, so joining it again is free. */
const narrationFileGoneError = (path: string): AudioError =>
  new AudioError("not_found", `${path} was changed or removed since it was saved.`, {
    remedy: "Tell the user. narrate with its narration_id and max_credits makes it again, free of charge.",
  });

function nullIfThrows<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch {
    return null;
  }
}

const getMimeType = ({ kind, path }: Pick<FileRow, "kind" | "path">): string =>
  kind === "unusable" ? "application/octet-stream" : mimeTypeForPath(path);

/** Lists the files of a task's requests, those of their format first, then the newest. */
async function listFilesOfTask({ ledger }: ReadDeps, taskId: string): Promise<FileRow[]> {
  const attempts = await findAttemptsOfTask(ledger, taskId);
  const owners = attempts.filter(({ is_current }) => is_current === 1).map(({ id }) => id);
  const files = await listFiles(ledger, owners);
  return files.sort((a, b) => Number(b.kind === "audio") - Number(a.kind === "audio"));
}

async function locate(deps: ReadDeps, uri: string): Promise<FileRow | null> {
  const taskId = TASK_URI.exec(uri)?.[1];
  if (taskId === undefined) {
    const path = nullIfThrows(() => fileURLToPath(uri));
    if (path === null) return null;
    return (await locatePath(deps, path)) ?? (await locateSpelling(deps, path));
  }
  const decoded = nullIfThrows(() => decodeURIComponent(taskId));
  if (decoded === null || !isTaskId(decoded)) return null;
  for (const file of await listFilesOfTask(deps, decoded))
    if (await isIntact(toSavedFile(file), deps.folder.root)) return file;
  return null;
}

/** Finds whose bytes are at a path: several owners may have saved a file there. */
async function locatePath({ ledger, folder }: ReadDeps, path: string): Promise<FileRow | null> {
  const files = await findFilesAt(ledger, path);
  for (const file of files) if (await isIntact(toSavedFile(file), folder.root)) return file;
  // The read that follows says that it is gone or was changed.
  return files[0] ?? null;
}

/** Tries other spellings of a path, because clients and file systems change them (VS Code lowers drive letters). */
async function locateSpelling(deps: ReadDeps, given: string): Promise<FileRow | null> {
  const { root } = parse(given);
  const path = await findUnicodeSpelling(root, given.slice(root.length).split(sep));
  for (const spelling of [path, ...(await findOtherSpellings(path, deps.folder.root))]) {
    const file = await locatePath(deps, spelling);
    // A similar path may be another file, so the bytes at the given one must be the saved ones.
    if (file !== null && (await matchesDigest(path, toSavedFile(file)))) return file;
  }
  return null;
}

/**
 * Reads saved audio and verifies it against the ledger.
 *
 * @throws AudioError `not_found` for audio that the ledger does not know, or that is gone or was changed; `too_large`
 *   above 7 MiB, with the path in the message
 */
export async function readAudio(deps: ReadDeps, uri: string): Promise<AudioBytes> {
  const file = await locate(deps, uri);
  if (file === null) throw unknownResourceError();
  return await readWhole(deps, file);
}

/** Reads and verifies a file of a request or a narration. For the errors, see {@link readAudio}. */
export async function readWhole({ folder }: ReadDeps, file: FileRow): Promise<AudioBytes> {
  const isJoined = file.inputs !== null;
  const goneError = isJoined ? (): AudioError => narrationFileGoneError(file.path) : undefined;
  const bytes = await readSaved(toSavedFile(file), folder.root, MAX_RESOURCE_BYTES, goneError);
  return { bytes, mimeType: getMimeType(file) };
}

/** Reads one piece of a narration's file, or of the captions or chapters beside it. */
export async function readPieceOfNarration(
  { folder }: ReadDeps,
  reader: PieceReader,
  file: FileRow,
  piece: Piece,
): Promise<AudioBytes> {
  const bytes = await reader.read(toSavedFile(file), folder.root, piece);
  if (bytes === null) throw narrationFileGoneError(file.path);
  return { bytes, mimeType: mimeTypeForPath(file.path) };
}

/**
 * Reads a piece of a task's newest unchanged copy.
 *
 * @param taskId the task id, already percent-decoded
 * @throws AudioError `not_found`
 */
export async function readTaskPiece(
  deps: ReadDeps,
  reader: PieceReader,
  taskId: string,
  piece: Piece,
): Promise<AudioBytes> {
  if (!isTaskId(taskId)) throw unknownResourceError();
  for (const file of await listFilesOfTask(deps, taskId)) {
    const bytes = await reader.read(toSavedFile(file), deps.folder.root, piece);
    if (bytes !== null) return { bytes, mimeType: getMimeType(file) };
  }
  throw unknownResourceError();
}
