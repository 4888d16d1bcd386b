/** The names that callers give to audio: which are free, whose file is in the way, a second name for saved audio. */
import { dirname, join } from "node:path";
import { firstCodePoints } from "../../contract/unicode.ts";
import { AudioError } from "../../errors.ts";
import { partsPath } from "../../files/output-folder.ts";
import { isIntact, nameAgain, precheckFileName } from "../../files/save-audio.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { storedInput, wantedName } from "../saved-files.ts";

type Deps = Pick<GenerationDeps, "folder" | "ledger">;

/** Whether a file lies among the parts of narrations, and not where a person looks. */
const isAmongParts = ({ path }: SavedFile, { folder }: Deps): boolean =>
  dirname(path) === partsPath(folder.root);

const EXCERPT_CODE_POINTS = 40;

/** What another take is called where its first one has the name. */
const takeName = ({ take }: TaskRecord, fileName: string): string | null =>
  take === null || take === 1 ? null : `${fileName}-take-${take}`;

/**
 * The name to save the audio of a new request under: the caller's, or that with the number of its take behind it where
 * another take has it.
 *
 * @throws AudioError `file_exists`, which says whose file is in the way, `invalid_file_name`
 */
export async function freeName(deps: Deps, record: TaskRecord, fileName: string): Promise<string> {
  const name = wantedName(record, fileName);
  if ((await precheckFileName(deps.folder, name)) === "free") return fileName;
  const ofTake = takeName(record, fileName);
  if (ofTake !== null && (await precheckFileName(deps.folder, wantedName(record, ofTake))) === "free") {
    return ofTake;
  }
  const owner = await ownerOf(deps, join(deps.folder.root, name));
  const what = owner ?? "a file that the ledger does not know, or that was changed since it was saved.";
  const known =
    owner === null
      ? " If it came from this very request (before the ledger was lost), a call without file_name finds the same task, at no further cost."
      : "";
  throw new AudioError("file_exists", `The output folder already holds ${name}: ${what} Nothing was sent.`, {
    idempotencyKey: record.idempotencyKey ?? undefined,
    remedy: `Call again with another file_name, or with none; nothing was overwritten.${known}`,
  });
}

/** Who wrote a file, as the ledger knows it, in one sentence; `null` where it does not. */
async function ownerOf({ ledger, folder }: Deps, path: string): Promise<string | null> {
  for (const record of await ledger.ofPath(path)) {
    for (const file of record.files) {
      if (file.path !== path || !(await isIntact(file, folder.root))) continue;
      const prompt = storedInput(record)?.prompt ?? "";
      const excerpt = firstCodePoints(prompt, EXCERPT_CODE_POINTS);
      const text = JSON.stringify(excerpt === prompt ? prompt : `${excerpt}…`);
      return `it is the audio of task ${record.taskId ?? "?"}, take ${record.take ?? 1}, of the text ${text}.`;
    }
  }
  return null;
}

/**
 * The saved audio under the name that this caller wants; a second name is recorded like the first. Where somebody
 * took the name that the audio was made for, the audio stays under the one that it found, and a note says so.
 * What lies among the parts of narrations is copied out in any case.
 */
export async function underName(
  deps: Deps,
  record: TaskRecord,
  file: SavedFile,
  fileName: string | null,
): Promise<{ file: SavedFile; notes: readonly string[] }> {
  if (fileName === null && !isAmongParts(file, deps)) return { file, notes: [] };
  const isOfTake =
    record.fileName !== null && fileName !== null && record.fileName === takeName(record, fileName);
  const wanted = isOfTake ? record.fileName : fileName;
  const name = wantedName(record, wanted);
  let named: SavedFile;
  try {
    named = await nameAgain(file, deps.folder, name);
  } catch (error) {
    const isTaken = error instanceof AudioError && error.code === "file_exists";
    if (!isTaken) throw error;
    const ids = { taskId: record.taskId ?? undefined, idempotencyKey: record.idempotencyKey ?? undefined };
    if (record.fileName !== wanted) throw error.withIds(ids);
    return { file, notes: [`Another file has the name ${name} by now; it was left alone.`] };
  }
  if (named.path === file.path) return { file, notes: [] };
  await deps.ledger.apply(record, { kind: "saved", file: named });
  return { file: named, notes: [] };
}
