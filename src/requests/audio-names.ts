/** Names the audio of requests: chooses names, says whose names are taken, and saves copies under further names. */
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { shortenText } from "../contract/unicode.ts";
import type { Wording } from "../errors.ts";
import { buildNumberedName, buildWrongFormatName, isNumbered } from "../files/file-name.ts";
import { LAST_NUMBER, probeNameAvailability } from "../files/free-names.ts";
import { buildPartsPath } from "../files/output-folder.ts";
import { findOtherSpellings, findUnicodeSpelling } from "../files/real-path.ts";
import { type FileToReplace, planReplacement } from "../files/replace.ts";
import { copyToName, isIntact } from "../files/saved-copies.ts";
import { findFilesAt, insertFile } from "../ledger/file-rows.ts";
import { findRequest, patchRequest } from "../ledger/request-rows.ts";
import type { FileRow, RequestRow } from "../ledger/schema.ts";
import { parseJson } from "../parse-json.ts";
import type { RequestDeps } from "./deps.ts";
import { chooseFileName, toFileRow, toSavedFile } from "./saved-audio.ts";
import { parseStoredInput } from "./stored-input.ts";

export type FileDeps = Pick<RequestDeps, "folder" | "ledger" | "clock">;

/** How a call saves its audio. */
export interface SaveOptions {
  /** The requested name; `null` if the call requests none. */
  readonly fileName: string | null;
  /** Whether to replace a file that this server saved under the requested name. */
  readonly mayReplace: boolean;
  /** The file that had the name before the call, if it may be replaced. */
  readonly olderFile?: FileRow | null;
}

const fileToReplaceSchema = z.object({
  sizeBytes: z.number(),
  sha256: z.string(),
  name: z.string(),
  movedTo: z.string(),
});

/** Parses the planned replacement of a row; `null` if there is none. */
export const parseFileToReplace = ({ replaces }: Pick<RequestRow, "replaces">): FileToReplace | null =>
  parseJson(fileToReplaceSchema, replaces);

/**
 * Finds the file of a name in the output folder that a request or a narration has saved there last and nobody has
 * changed; `null` if there is none.
 */
export async function findNameOwner(
  { ledger, folder }: Pick<RequestDeps, "ledger" | "folder">,
  name: string,
): Promise<FileRow | null> {
  const path = join(folder.root, name);
  for (const spelling of [path, ...(await findOtherSpellings(path, folder.root))]) {
    for (const file of await findFilesAt(ledger, spelling)) {
      if (await isIntact(toSavedFile(file), folder.root)) return file;
    }
  }
  return null;
}

/**
 * Plans to replace the unchanged file of a request that has a name; `null` if there is none. A narration's file has
 * captions beside it, and stays.
 */
async function planToReplace(deps: FileDeps, name: string): Promise<FileToReplace | null> {
  const file = await findNameOwner(deps, name);
  if (file === null || (await findRequest(deps.ledger, file.owner)) === undefined) return null;
  return await planReplacement(deps.folder, name, { sizeBytes: file.size_bytes, sha256: file.sha256 });
}

/**
 * Whether audio of a request may get a name: no other request or narration has an unchanged file of it, even if the
 * bytes are equal, because two takes never share a file. Files that the ledger does not know are checked when the audio
 * gets its name.
 */
export async function isNameFreeOfOthers(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  row: Pick<RequestRow, "id" | "fingerprint">,
  fileToReplace: FileToReplace | null,
  name: string,
): Promise<boolean> {
  if (fileToReplace?.name === name) return true;
  const owner = await findNameOwner(deps, name);
  // A name in another Unicode form looks the same.
  if (owner === null)
    return (await findUnicodeSpelling(deps.folder.root, [name])) === join(deps.folder.root, name);
  if (owner.owner === row.id) return true;
  return (await findRequest(deps.ledger, owner.owner))?.fingerprint === row.fingerprint;
}

/**
 * Plans the name of audio that is not made yet, and the file that it replaces.
 *
 * @throws AudioError `invalid_file_name` if the name with a number is too long for the file system
 */
export async function planName(
  deps: FileDeps,
  row: RequestRow,
  { fileName, mayReplace }: SaveOptions,
): Promise<Pick<RequestRow, "file_name" | "replaces">> {
  if (fileName === null) return { file_name: null, replaces: null };
  const name = chooseFileName(row, fileName);
  await probeNameAvailability(deps.folder, buildNumberedName(name, LAST_NUMBER));
  const replaces = mayReplace ? await planToReplace(deps, name) : null;
  return { file_name: fileName, replaces: replaces === null ? null : JSON.stringify(replaces) };
}

/** Whether a file is in the folder of narration parts, where a person does not look. */
const isPartFile = ({ path }: FileRow, { folder }: FileDeps): boolean =>
  dirname(path) === buildPartsPath(folder.root);

/**
 * Saves a copy of audio under the name that this call requests. Audio in the folder of parts is copied to the output
 * folder even if the call requests no name.
 */
export async function saveUnderName(
  deps: FileDeps,
  row: RequestRow,
  file: FileRow,
  { fileName, mayReplace }: SaveOptions,
): Promise<FileRow> {
  if (fileName === null && !isPartFile(file, deps)) return file;
  const name = chooseFileName(row, fileName);
  // Without a file to replace, an earlier plan may wait for its end: its process may have been killed in the middle.
  const fileToReplace =
    mayReplace && file.path !== join(deps.folder.root, name)
      ? ((await planToReplace(deps, name)) ?? parseFileToReplace(row))
      : null;
  if (fileToReplace !== null) {
    const replaces = JSON.stringify(fileToReplace);
    await deps.ledger.database.tx((tx) => patchRequest(tx, row, { replaces }));
  }
  const named = await copyToName(toSavedFile(file), deps.folder, name, {
    fileToReplace,
    mayBeNamed: (tried) => isNameFreeOfOthers(deps, row, fileToReplace, tried),
  });
  if (named.path === file.path) return file;
  // If several owners have saved a file under one name, it belongs to the one that saved last.
  const copy = toFileRow(row.id, { ...named, shortSeconds: file.seconds, savedAtMs: deps.clock.wallMs() });
  await deps.ledger.database.tx((tx) => insertFile(tx, copy));
  return copy;
}

const EXCERPT_CODE_POINTS = 40;

/** Explains the number that was added to a requested name; `null` if none was added. */
export async function explainAddedNumber(
  deps: FileDeps,
  row: RequestRow,
  file: FileRow,
  { fileName, mayReplace }: SaveOptions,
): Promise<Wording | null> {
  const requestedName = fileName ?? row.file_name;
  if (requestedName === null) return null;
  const name = chooseFileName(row, requestedName);
  const base = file.kind === "unusable" ? buildWrongFormatName(name) : name;
  if (!isNumbered(basename(file.path), base)) return null;
  if ((await probeNameAvailability(deps.folder, base)) === "free")
    return `The name ${base} was taken, so a number was added.`;
  const owner = await findNameOwner(deps, base);
  const taken = `The name ${base} is taken by ${await describeOwner(deps, owner)}, so a number was added.`;
  if (mayReplace)
    return `${taken} replace takes the place of a task's file alone, and of none that was edited.`;
  if (owner === null) return taken;
  return {
    assistant: `${taken} If the user wants that file replaced: the same generate_audio call with replace true.`,
    terminal: `${taken} With --replace it takes the place of that file.`,
  };
}

/** Says whose file the saved file has replaced; `null` if it has replaced none of another request. */
export async function explainReplacement(
  deps: FileDeps,
  row: RequestRow,
  file: FileRow,
  { olderFile = null }: SaveOptions,
): Promise<Wording | null> {
  const isReplaced = olderFile?.path === file.path && olderFile.sha256 !== file.sha256;
  if (olderFile === null || !isReplaced || olderFile.owner === row.id) return null;
  const replaced = `It took the place of ${await describeOwner(deps, olderFile)}`;
  return { assistant: `${replaced}; download_audio saves that again, free.`, terminal: `${replaced}.` };
}

async function describeOwner(deps: FileDeps, owner: FileRow | null): Promise<string> {
  if (owner === null) return "a file that the ledger does not know, or that was changed since it was saved";
  const row = await findRequest(deps.ledger, owner.owner);
  if (row === undefined) return `a file of ${owner.owner}`;
  const prompt = parseStoredInput(row)?.prompt ?? "";
  const text = JSON.stringify(shortenText(prompt, EXCERPT_CODE_POINTS));
  return `the audio of task ${row.task_id ?? "?"}, take ${row.take ?? 1}, of the text ${text}`;
}
