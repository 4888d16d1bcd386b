/** Finds the record or narration that owns a file name in the output folder. */

import { join } from "node:path";
import { findOtherSpellings } from "../../files/real-path.ts";
import { isIntact } from "../../files/saved-copies.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { MAX_NARRATIONS_SEARCHED } from "../../ledger/search-limits.ts";
import type { RequestDeps } from "../deps.ts";

type OwnerDeps = Pick<RequestDeps, "folder" | "ledger">;

export interface NameOwner {
  readonly record: RequestRecord;
  readonly file: SavedFile;
}

/**
 * Finds the record that saved the file of the given name; `null` if no record saved the file, or if the file was
 * changed later.
 */
export async function findNameOwner({ ledger, folder }: OwnerDeps, name: string): Promise<NameOwner | null> {
  const path = join(folder.root, name);
  for (const spelling of [path, ...(await findOtherSpellings(path, folder.root))]) {
    for (const record of await ledger.findByPath(spelling)) {
      for (const file of record.files) {
        if (file.path === spelling && (await isIntact(file, folder.root))) return { record, file };
      }
    }
  }
  return null;
}

/**
 * Whether a name is free. Returns false if a record of another request or take has an intact file of this name, even if
 * the bytes are equal, because two takes never share a file. Ignores files that the ledger does not know. Such files
 * are checked later, when the audio gets its name.
 */
export async function isNameFreeOfOtherRecords(
  deps: OwnerDeps,
  { requestFingerprint, fileToReplace, files }: RequestRecord,
  name: string,
): Promise<boolean> {
  const path = join(deps.folder.root, name);
  if (fileToReplace?.name === name || files.some((own) => own.path === path)) return true;
  const owner = await findNameOwner(deps, name);
  return owner === null || owner.record.requestFingerprint === requestFingerprint;
}

/** Finds the narration that saved a file of the given name; `null` if there is none. */
export async function findNarrationWithFile(
  { ledger, folder }: OwnerDeps,
  name: string,
): Promise<string | null> {
  const path = JSON.stringify(join(folder.root, name));
  const newestNarrations = await ledger.store.narrations.listNewest(MAX_NARRATIONS_SEARCHED);
  return newestNarrations.find(({ state }) => state.includes(`"path":${path}`))?.narrationId ?? null;
}
