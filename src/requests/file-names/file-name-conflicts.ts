/** Resolves file names given by callers: free names, conflicts, replacement, and additional names for saved audio. */
import { basename, dirname, join } from "node:path";
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import { buildNumberedName, buildWrongFormatName, isNumbered } from "../../files/file-name.ts";
import { probeNameAvailability } from "../../files/name-availability.ts";
import { buildPartsPath } from "../../files/output-folder.ts";
import { planReplacement } from "../../files/plan-replacement.ts";
import { copyToName } from "../../files/saved-copies.ts";
import type { FileToReplace, SavedFile } from "../../files/saved-file.ts";
import { LAST_NUMBER } from "../../files/try-numbered-names.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { SaveOptions } from "../../ledger/rules/save-options.ts";
import type { RequestDeps } from "../deps.ts";
import { parseStoredInput } from "../records/stored-input.ts";
import { chooseFileName } from "./choose-file-name.ts";
import {
  findNameOwner,
  findNarrationWithFile,
  isNameFreeOfOtherRecords,
  type NameOwner,
} from "./name-owner.ts";

type NameDeps = Pick<RequestDeps, "folder" | "ledger" | "clock">;

/** Whether a file is in the folder of narration parts, where a person does not look. */
const isPartFile = ({ path }: SavedFile, { folder }: NameDeps): boolean =>
  dirname(path) === buildPartsPath(folder.root);

const EXCERPT_CODE_POINTS = 40;

/**
 * Chooses the name to save the audio under, and the file to replace. A task that runs or has succeeded keeps the name
 * that was chosen earlier. If another file has the name and may not be replaced, a number is added when the audio is
 * saved.
 *
 * @throws AudioError `invalid_file_name` if the name with a number is too long for the file system
 */
export async function chooseNameAndReplacement(
  deps: NameDeps,
  record: RequestRecord,
  { fileName, mayReplace }: SaveOptions,
): Promise<Pick<RequestRecord, "fileName" | "fileToReplace">> {
  const keepsName = record.taskId !== null && record.status !== "failed";
  if (keepsName) return { fileName: record.fileName, fileToReplace: record.fileToReplace };
  if (fileName === null) return { fileName: record.fileName, fileToReplace: null };
  const name = chooseFileName(record, fileName);
  await probeNameAvailability(deps.folder, buildNumberedName(name, LAST_NUMBER));
  const owner = mayReplace ? await findNameOwner(deps, name) : null;
  return {
    fileName,
    fileToReplace: owner === null ? null : await planReplacement(deps.folder, name, owner.file),
  };
}

/** Explains the number that was added to the requested name; `null` if none was added. */
export async function explainAddedNumber(
  deps: NameDeps,
  record: RequestRecord,
  file: SavedFile,
  { fileName, mayReplace }: SaveOptions,
): Promise<string | null> {
  const requestedName = fileName ?? record.fileName;
  if (requestedName === null) return null;
  const name = chooseFileName(record, requestedName);
  const base = file.matchesFormat ? name : buildWrongFormatName(name);
  if (!isNumbered(basename(file.path), base)) return null;
  if ((await probeNameAvailability(deps.folder, base)) === "free") {
    return `The name ${base} was taken, so a number was added.`;
  }
  const owner = await findNameOwner(deps, base);
  const narrationId = owner === null ? await findNarrationWithFile(deps, base) : null;
  const ownerDescription =
    narrationId === null
      ? owner === null
        ? UNKNOWN_FILE
        : describeAudio(owner)
      : `a file of ${narrationId}`;
  return `The name ${base} is taken by ${ownerDescription}, so a number was added.${replaceHint(owner, mayReplace)}`;
}

const UNKNOWN_FILE = "a file that the ledger does not know, or that was changed since it was saved";

function describeAudio({ record }: NameOwner): string {
  const prompt = parseStoredInput(record)?.prompt ?? "";
  const excerpt = takeFirstCodePoints(prompt, EXCERPT_CODE_POINTS);
  const text = JSON.stringify(excerpt === prompt ? prompt : `${excerpt}…`);
  return `the audio of task ${record.taskId ?? "?"}, take ${record.take ?? 1}, of the text ${text}`;
}

function replaceHint(owner: NameOwner | null, replace: boolean): string {
  if (replace) return " replace takes the place of a task's file alone, and of none that was edited.";
  return owner === null
    ? ""
    : " If the user wants that file replaced: the same generate_audio call with replace true.";
}

/**
 * Saves a copy of the audio under the name that this caller requests, and records that name. Audio in the folder of
 * narration parts is copied to the output folder even if the caller requests no name.
 */
export async function saveUnderName(
  deps: NameDeps,
  record: RequestRecord,
  file: SavedFile,
  { fileName, mayReplace }: SaveOptions,
): Promise<SavedFile> {
  if (fileName === null && !isPartFile(file, deps)) return file;
  const name = chooseFileName(record, fileName);
  const replaces = mayReplace ? await findFileToReplace(deps, record, file, name) : null;
  if (replaces !== null)
    await deps.ledger.apply(record, { kind: "replacement_planned", fileToReplace: replaces });
  const mayBeNamed = (tried: string): Promise<boolean> =>
    isNameFreeOfOtherRecords(deps, { ...record, fileToReplace: replaces }, tried);
  const namedFile = await copyToName(file, deps.folder, name, { fileToReplace: replaces, mayBeNamed });
  if (namedFile.path === file.path) return file;
  // Store the time of saving. If several records have saved a file under one name, the name belongs to the record that
  // saved last.
  const fileWithNewDate = { ...namedFile, savedAtMs: deps.clock.wallMs() };
  await deps.ledger.apply(record, { kind: "saved", file: fileWithNewDate });
  return fileWithNewDate;
}

/** Finds the file that the saved audio is to replace; `null` if there is none. */
async function findFileToReplace(
  deps: NameDeps,
  { fileToReplace }: RequestRecord,
  file: SavedFile,
  name: string,
): Promise<FileToReplace | null> {
  if (file.path === join(deps.folder.root, name)) return null;
  const owner = await findNameOwner(deps, name);
  // If no record owns the name, return the file to replace from an earlier plan, if the given record still contains
  // one. The process that made the plan may have been killed before it carried the plan out.
  return owner === null ? fileToReplace : await planReplacement(deps.folder, name, owner.file);
}
