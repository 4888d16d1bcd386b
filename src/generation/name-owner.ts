/** Whose audio has a name in the output folder, as the ledger knows it. */
import { join } from "node:path";
import { otherSpellings } from "../files/real-path.ts";
import { isIntact } from "../files/save-audio.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";

type Deps = Pick<GenerationDeps, "folder" | "ledger">;

export interface NameOwner {
  readonly record: TaskRecord;
  readonly file: SavedFile;
}

/** Who wrote the file of that name, as the ledger knows it; `null` where it does not, or the file is not as it was. */
export async function ownerOf({ ledger, folder }: Deps, name: string): Promise<NameOwner | null> {
  const path = join(folder.root, name);
  for (const spelling of [path, ...(await otherSpellings(path, folder.root))]) {
    for (const record of await ledger.ofPath(spelling)) {
      for (const file of record.files) {
        if (file.path === spelling && (await isIntact(file, folder.root))) return { record, file };
      }
    }
  }
  return null;
}

/** Whether audio may be saved under a name: also with the very same bytes, two takes have a file each. */
export async function isNameAvailable(
  deps: Deps,
  { workId, replaces, files }: TaskRecord,
  name: string,
): Promise<boolean> {
  const path = join(deps.folder.root, name);
  if (replaces?.name === name || files.some((own) => own.path === path)) return true;
  const owner = await ownerOf(deps, name);
  return owner === null || owner.record.workId === workId;
}

/** So many of the newest narrations are looked at. */
const MAX_NARRATIONS = 500;

/** The narration that saved a file of that name; `null`: none did. */
export async function narrationWith({ ledger, folder }: Deps, name: string): Promise<string | null> {
  const path = JSON.stringify(join(folder.root, name));
  const all = await ledger.store.narrations.newest(MAX_NARRATIONS);
  return all.find(({ state }) => state.includes(`"path":${path}`))?.narrationId ?? null;
}
