/**
 * Reads text files that an assistant names, but only inside the folder that the person chose for them
 * (docs/reference-narrations.md, Input).
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { AudioError, IN_CLIENT_SETTINGS } from "../errors.ts";
import { isBelow, isInsideFolder, NO_FOLLOW } from "./file-content.ts";
import { getSystemCode } from "./file-error.ts";
import {
  assertReadKind,
  EXTENSIONS_IN_WORDS,
  findFormatOfName,
  maxBytesForFile,
  type NarrationInput,
  readInput,
} from "./input-format.ts";
import { findUnicodeSpelling, resolveRealPath } from "./real-path.ts";
import { refusedInputError, tooLongError } from "./text-bytes.ts";

const INPUT_DIR_SETTING = "AUDIO_INPUT_DIR";

/** Maximum number of names that are shown to an assistant that guessed a wrong name. */
const SHOWN_NAMES = 10;

const SHOWN_CODE_POINTS = 120;

const REASON_BY_CODE: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  EISDIR: "is a folder, not a file",
  EACCES: "cannot be read: no permission",
  EPERM: "cannot be read: not permitted",
  ELOOP: "is a loop of symbolic links",
  ENAMETOOLONG: "has a name that is too long",
  ERR_ACCESS_DENIED: "cannot be read: Node.js was started without the permission",
};

/** Says why a file cannot be read, as the end of a sentence that begins with its name. */
export function describeUnreadable(error: unknown): string {
  const code = getSystemCode(error) ?? "unknown";
  return REASON_BY_CODE[code] ?? `cannot be read (${code})`;
}

/** Lists readable files at the top of the folder, for a message about a missing file. */
async function describeFilesIn(root: string): Promise<string> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => entry.isFile() && findFormatOfName(entry.name) !== null)
    .map(({ name }) => name)
    .filter((name) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    .sort();
  if (names.length === 0) return `There is no ${EXTENSIONS_IN_WORDS} file at the top of ${root}.`;
  const shownNames = names.slice(0, SHOWN_NAMES).map((name) => JSON.stringify(name));
  return `${root} holds ${shownNames.join(", ")}${names.length > SHOWN_NAMES ? " and more" : ""}.`;
}

async function toInputError(error: unknown, name: string, root: string): Promise<AudioError> {
  if (error instanceof AudioError) return error;
  const rule = describeUnreadable(error);
  const hint = getSystemCode(error) === "ENOENT" ? await describeFilesIn(root) : undefined;
  return refusedInputError(
    name,
    rule,
    hint && `${hint} Name one of its files, or ask the user to put it there.`,
  );
}

/**
 * Returns the real path of the input folder.
 *
 * @throws AudioError `configuration_error` if `folder` is not a folder that can be read
 */
async function resolveRoot(folder: string): Promise<string> {
  try {
    const root = await resolveRealPath(folder);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    const code = getSystemCode(error);
    if (code === undefined) throw error;
  }
  throw new AudioError(
    "configuration_error",
    `${INPUT_DIR_SETTING} is ${JSON.stringify(folder)}, which is not a folder that can be read. Nothing was sent.`,
    { remedy: `Ask the user to set ${INPUT_DIR_SETTING} to a folder that exists, or to unset it.` },
  );
}

/**
 * Lists the readable files, for a person who checks the setting.
 *
 * @param folder `AUDIO_INPUT_DIR`, absolute
 * @throws AudioError `configuration_error` if `folder` is not a folder that can be read
 */
export async function describeInputFolder(folder: string): Promise<string> {
  return await describeFilesIn(await resolveRoot(folder));
}

const outsideError = (name: string, folder: string): AudioError =>
  refusedInputError(
    name,
    `is outside of ${folder}, the only folder that files are read from (setting ${INPUT_DIR_SETTING})`,
    "Ask the user to copy the file into that folder, or give the text itself.",
  );

/** Resolves a path by its text alone, because on Windows even a check of `\\host\share` contacts that host. */
function resolveInside(folder: string, file: string, name: string): string {
  if (file.trim() === "" || file.includes("\0") || !file.isWellFormed()) {
    throw refusedInputError(name, "is not a path of a file");
  }
  const path = resolve(folder, file);
  if (!isBelow(folder, path)) throw outsideError(name, folder);
  // On Windows, `notes.txt:hidden.txt` names an alternate data stream.
  if (sep === "\\" && relative(folder, path).includes(":"))
    throw refusedInputError(name, "is not a path of a file");
  assertReadKind(path, name);
  if (findFormatOfName(path) === null) throw refusedInputError(name, `is no ${EXTENSIONS_IN_WORDS} file`);
  return path;
}

/** Finds the spelling of a path that does not exist as given, if it leads to a file inside the input folder. */
async function findSpellingInside(path: string, folder: string, root: string): Promise<string> {
  const found = await findUnicodeSpelling(folder, relative(folder, path).split(sep));
  return (await isInsideFolder(found, root)) ? found : path;
}

/** The real path of an open file on Linux; `null` elsewhere. */
async function readOpenPath(handle: FileHandle): Promise<string | null> {
  return await readlink(`/proc/self/fd/${handle.fd}`).catch(() => null);
}

/**
 * How many times the location of an open file is checked if the system cannot return the path of the file. An attacker
 * would have to swap the file at the right moment in every check.
 */
const MAX_OPEN_ATTEMPTS = 5;

/** Whether the opened file is in the folder. Another file may be at `path` by now. */
async function isOpenedInside(handle: FileHandle, path: string, root: string): Promise<boolean> {
  const openedPath = await readOpenPath(handle);
  if (openedPath !== null) return isBelow(root, openedPath) || (await isInsideFolder(openedPath, root));
  const opened = await handle.stat({ bigint: true });
  for (let attempt = 0; attempt < MAX_OPEN_ATTEMPTS; attempt += 1) {
    const stats = await lstat(await resolveRealPath(path), { bigint: true });
    if (stats.ino !== opened.ino || stats.dev !== opened.dev || !(await isInsideFolder(path, root)))
      return false;
  }
  return true;
}

/**
 * Opens the file at a path. Checks the kind and the location of the file before opening it. Checks both again
 * afterwards, because somebody may swap a folder for a link in between.
 */
async function openInside(path: string, root: string, name: string): Promise<FileHandle> {
  const real = await resolveRealPath(path);
  if (!(await isInsideFolder(real, root))) throw outsideError(name, root);
  if (findFormatOfName(real) === null)
    throw refusedInputError(name, `leads to a file that is no ${EXTENSIONS_IN_WORDS}`);
  // Check the kind of the file before opening it, because opening a device may have side effects.
  if (!(await lstat(real)).isFile()) throw refusedInputError(name, "is not a regular file");
  const handle = await open(real, constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw refusedInputError(name, "is not a regular file");
    if (!(await isOpenedInside(handle, path, root))) throw outsideError(name, root);
    const maxBytes = maxBytesForFile(findFormatOfName(path) ?? "plain");
    if (opened.size > maxBytes) throw tooLongError(name, maxBytes);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Reads the text of a file that an assistant names.
 *
 * @param folder `AUDIO_INPUT_DIR`, absolute; `null` if it is not set
 * @param file absolute, or relative to the folder
 * @throws AudioError `configuration_error` if there is no folder that can be read. `invalid_request`, with the broken
 *   rule, if the file is missing, is outside of the folder, is of a kind that is not read, exceeds its size limit (8
 *   MiB, or 64 MiB for an EPUB), is empty, or is not text
 */
export async function readInputFile(folder: string | null, file: string): Promise<NarrationInput> {
  if (folder === null) {
    throw new AudioError(
      "configuration_error",
      `Files are read only from a folder that the user has chosen, and ${INPUT_DIR_SETTING} is not set. Nothing was sent.`,
      {
        remedy: `Ask the user to set ${INPUT_DIR_SETTING} ${IN_CLIENT_SETTINGS} to the absolute path of the folder that texts may be read from, and to restart the server. Or give the text itself.`,
      },
    );
  }
  const name = `file ${JSON.stringify(takeFirstCodePoints(file, SHOWN_CODE_POINTS))}`;
  const root = await resolveRoot(folder);
  // An absolute path may begin with the given path of the folder or with its real path.
  const isByRealName = isAbsolute(file) && isBelow(root, file);
  const base = isByRealName ? root : folder;
  const given = resolveInside(base, file, name);
  const real = await resolveRealPath(given).catch(() => null);
  const path = real === null ? await findSpellingInside(given, base, root) : given;
  try {
    const handle = await openInside(path, root, name);
    try {
      return await readInput(
        handle.createReadStream({ autoClose: false }),
        findFormatOfName(path) ?? "plain",
        name,
      );
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw await toInputError(error, name, root);
  }
}
