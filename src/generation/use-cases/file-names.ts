/** The names that callers give to audio: which are free, whose file is in the way or gives way, a second name for saved audio. */
import { dirname, join } from "node:path";
import { firstCodePoints } from "../../contract/unicode.ts";
import { AudioError } from "../../errors.ts";
import { numberedName, previousName } from "../../files/file-name.ts";
import { partsPath } from "../../files/output-folder.ts";
import { otherSpellings } from "../../files/real-path.ts";
import { isIntact, nameAgain, precheckFileName } from "../../files/save-audio.ts";
import type { Replaced, SavedFile } from "../../files/saved-file.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { storedInput, wantedName } from "../saved-files.ts";

type Deps = Pick<GenerationDeps, "folder" | "ledger" | "clock">;

/** Whether a file lies among the parts of narrations, and not where a person looks. */
const isAmongParts = ({ path }: SavedFile, { folder }: Deps): boolean =>
  dirname(path) === partsPath(folder.root);

const EXCERPT_CODE_POINTS = 40;

/** What a caller says about the name of an audio. */
export interface NameRequest {
  readonly fileName: string | null;
  /** A file that this server saved under that name gives way. */
  readonly replace?: boolean;
}

/** What another take is called where its first one has the name. */
const takeName = ({ take }: TaskRecord, fileName: string): string | null =>
  take === null || take === 1 ? null : `${fileName}-take-${take}`;

/**
 * The name to save the audio of a request under: the caller's, or that with the number of its take behind it where
 * another take has it, and the file that gives way for it. A task that runs or has succeeded keeps the name it has.
 *
 * @throws AudioError `file_exists`, which says whose file is in the way, `invalid_file_name`
 */
export async function nameFor(
  deps: Deps,
  record: TaskRecord,
  { fileName, replace = false }: NameRequest,
): Promise<Pick<TaskRecord, "fileName" | "replaces">> {
  const isSettled = record.taskId !== null && record.status !== "failed";
  if (isSettled) return { fileName: record.fileName, replaces: record.replaces };
  if (fileName === null) return { fileName: record.fileName, replaces: null };
  const name = wantedName(record, fileName);
  if ((await precheckFileName(deps.folder, name)) === "free") return { fileName, replaces: null };
  const owner = await ownerOf(deps, name);
  if (replace && owner !== null) return { fileName, replaces: await replacing(deps, name, owner.file) };
  const ofTake = takeName(record, fileName);
  if (ofTake !== null && (await precheckFileName(deps.folder, wantedName(record, ofTake))) === "free") {
    return { fileName: ofTake, replaces: null };
  }
  throw inTheWay(record, { name, owner, replace, saved: null });
}

interface Owner {
  readonly record: TaskRecord;
  readonly file: SavedFile;
}

/** Who wrote the file of that name, as the ledger knows it; `null` where it does not, or the file is not as it was. */
async function ownerOf({ ledger, folder }: Deps, name: string): Promise<Owner | null> {
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

const MOST_PREVIOUS = 999;

async function replacing(
  { folder }: Deps,
  name: string,
  { sizeBytes, sha256 }: SavedFile,
): Promise<Replaced> {
  const base = previousName(name);
  for (let number = 1; number <= MOST_PREVIOUS; number += 1) {
    const movedTo = numberedName(base, number);
    if ((await precheckFileName(folder, movedTo)) === "free") return { sizeBytes, sha256, name, movedTo };
  }
  throw new AudioError("file_exists", `Every name that ${name} could be kept under meanwhile is taken.`);
}

interface InTheWay {
  readonly name: string;
  readonly owner: Owner | null;
  /** Whether the caller had asked for the file to be replaced. */
  readonly replace: boolean;
  /** Where the audio is all the same. */
  readonly saved: SavedFile | null;
}

/** `file_exists`: who wrote the file that has the name, where the audio is meanwhile, and what can be done. */
export function inTheWay(record: TaskRecord, { name, owner, replace, saved }: InTheWay): AudioError {
  const what =
    owner === null
      ? "a file that the ledger does not know, or that was changed since it was saved."
      : whose(owner);
  const where = saved === null ? "Nothing was sent." : `The audio of this call is saved as ${saved.path}.`;
  return new AudioError("file_exists", `The output folder already holds ${name}: ${what} ${where}`, {
    taskId: saved === null ? undefined : (record.taskId ?? undefined),
    idempotencyKey: record.idempotencyKey ?? undefined,
    remedy: `Call again with another file_name, or with none; nothing was overwritten.${moreToDo({ owner, replace, saved })}`,
  });
}

function whose({ record }: Owner): string {
  const prompt = storedInput(record)?.prompt ?? "";
  const excerpt = firstCodePoints(prompt, EXCERPT_CODE_POINTS);
  const text = JSON.stringify(excerpt === prompt ? prompt : `${excerpt}…`);
  return `it is the audio of task ${record.taskId ?? "?"}, take ${record.take ?? 1}, of the text ${text}.`;
}

function moreToDo({ owner, replace, saved }: Omit<InTheWay, "name">): string {
  if (owner !== null) return " Only if the user wants that file replaced: the same call with replace true.";
  if (replace)
    return " replace leaves files alone that are not this server's, or were edited: tell the user.";
  if (saved !== null) return "";
  return " If it came from this very request (before the ledger was lost), a call without file_name finds the same task, at no further cost.";
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
  { fileName, replace = false }: NameRequest,
): Promise<{ file: SavedFile; notes: readonly string[] }> {
  if (fileName === null && !isAmongParts(file, deps)) return { file, notes: [] };
  const isOfTake =
    !replace &&
    record.fileName !== null &&
    fileName !== null &&
    record.fileName === takeName(record, fileName);
  const wanted = isOfTake ? record.fileName : fileName;
  const name = wantedName(record, wanted);
  const replaces = replace ? await replacedBy(deps, record, file, name) : null;
  if (replaces !== null) await deps.ledger.apply(record, { kind: "replacing", replaced: replaces });
  let named: SavedFile;
  try {
    named = await nameAgain(file, deps.folder, name, replaces);
  } catch (error) {
    const isTaken = error instanceof AudioError && error.code === "file_exists";
    if (!isTaken) throw error;
    if (record.fileName !== wanted) {
      throw inTheWay(record, { name, owner: await ownerOf(deps, name), replace, saved: file });
    }
    return { file, notes: [`Another file has the name ${name} by now; it was left alone.`] };
  }
  if (named.path === file.path) return { file, notes: [] };
  // Whose file it is, where a name was used again, is told by the time.
  const dated = { ...named, savedAtMs: deps.clock.wallMs() };
  await deps.ledger.apply(record, { kind: "saved", file: dated });
  return { file: dated, notes: [] };
}

/** The file that gives its name to audio that is saved already; `null` where nothing has to. */
async function replacedBy(
  deps: Deps,
  { replaces }: TaskRecord,
  file: SavedFile,
  name: string,
): Promise<Replaced | null> {
  if (file.path === join(deps.folder.root, name)) return null;
  const isFree = (await precheckFileName(deps.folder, name)) === "free";
  const owner = isFree ? null : await ownerOf(deps, name);
  // A process that began this may have been killed in the midst of it, at any step.
  return owner === null ? replaces : await replacing(deps, name, owner.file);
}
