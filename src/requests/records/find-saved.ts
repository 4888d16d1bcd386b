/** Finds the saved copy of a task's audio on this machine and verifies it. */
import { basename } from "node:path";
import { AudioError } from "../../errors.ts";
import { isIntact } from "../../files/saved-copies.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";
import { chooseFileName } from "../file-names/choose-file-name.ts";
import { parseStoredFormat } from "./stored-input.ts";

/**
 * Finds an unchanged copy of the audio on this machine, by size and hash. Prefers files that match their format, then
 * files with the wanted name.
 *
 * @param fileName as given by the caller, with or without extension; `null` for any name
 */
export async function findSaved(
  deps: Pick<RequestDeps, "folder">,
  record: RequestRecord,
  fileName: string | null,
): Promise<SavedFile | null> {
  const preferredName = fileName === null ? null : chooseFileName(record, fileName);
  const rank = (file: SavedFile): number =>
    (file.matchesFormat ? 0 : 2) + (preferredName === null || basename(file.path) === preferredName ? 0 : 1);
  const ordered = [...record.files].reverse().sort((a, b) => rank(a) - rank(b));
  for (const file of ordered) {
    if (await isIntact(file, deps.folder.root)) return file;
  }
  return null;
}

/** The error for bytes that do not match their format. Such bytes are paid for and kept, but not returned as audio. */
export function wrongFormatError(record: RequestRecord, file: SavedFile): AudioError {
  return new AudioError(
    "unexpected_response",
    `The service delivered bytes that are not ${parseStoredFormat(record).format}; they are kept as ${file.path}.`,
    {
      taskId: record.taskId ?? undefined,
      idempotencyKey: record.idempotencyKey ?? undefined,
      remedy:
        "Tell the user where the file is and that its content is not the audio format asked for. Asking again with the same arguments costs nothing and gives the same; another take costs credits.",
    },
  );
}
