/** Owns `resources/read`: the bytes of audio that the ledger knows, by its file or task address; downloads nothing. */
import { fileURLToPath } from "node:url";
import { MIME_TYPES } from "../contract/audio-format.ts";
import { isTaskId } from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import { readSaved } from "../files/save-audio.ts";
import type { SavedFile, TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";
import { findRecordOfTask } from "./find-record.ts";
import { findSaved, formatOf } from "./saved-files.ts";

/** The official clients' stdio buffers hold 10 MiB, and base64 adds a third. */
const MOST_RESOURCE_BYTES = 7 * 1024 * 1024;

export interface AudioBytes {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

const TASK_URI = /^audio:\/\/tasks\/([^/]+)\/content$/;

function unknownResource(): AudioError {
  return new AudioError("not_found", "No audio of this ledger has that address.", {
    remedy: "Use the uri of a resource_link, or audio://tasks/{task_id}/content of a finished, saved task.",
  });
}

async function locate(
  deps: GenerationDeps,
  uri: string,
): Promise<{ record: TaskRecord; file: SavedFile } | null> {
  const taskId = TASK_URI.exec(uri)?.[1];
  if (taskId !== undefined) {
    const decoded = safely(() => decodeURIComponent(taskId));
    const record = decoded !== null && isTaskId(decoded) ? await findRecordOfTask(deps, decoded) : null;
    const file = record === null ? null : await findSaved(deps, record, null);
    return record === null || file === null ? null : { record, file };
  }
  const path = safely(() => fileURLToPath(uri));
  return path === null ? null : await locatePath(deps, path);
}

function safely<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch {
    return null;
  }
}

async function locatePath(
  deps: GenerationDeps,
  path: string,
): Promise<{ record: TaskRecord; file: SavedFile } | null> {
  const ids = await deps.store.coordinator.recordsOfPath(deps.folder.place, path);
  for (const record of await deps.store.records.getMany(ids)) {
    const file = record?.files.find((candidate) => candidate.path === path);
    if (record !== undefined && file?.place === deps.folder.place) return { record, file };
  }
  return null;
}

/**
 * Bytes of saved audio, verified against the ledger.
 *
 * @throws AudioError `not_found` for anything that the ledger does not know, `too_large` over 7 MiB (naming the path)
 */
export async function readAudio(deps: GenerationDeps, uri: string): Promise<AudioBytes> {
  const located = await locate(deps, uri);
  if (located === null) throw unknownResource();
  const { record, file } = located;
  const bytes = await readSaved(file, deps.folder.root, MOST_RESOURCE_BYTES);
  return { bytes, mimeType: file.isSound ? MIME_TYPES[formatOf(record).format] : "application/octet-stream" };
}
