/** Reads the text files that an assistant names: only inside the folder that the person chose for it (docs/reference.md, Input). */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { firstCodePoints } from "../contract/unicode.ts";
import { AudioError } from "../errors.ts";
import { isInside } from "./file-content.ts";
import { systemCode } from "./file-failure.ts";
import { EXTENSIONS_IN_WORDS, formatOfName, type InputText, maxBytesOf, readInput } from "./input-format.ts";
import { realPath } from "./real-path.ts";
import { NO_FOLLOW } from "./temporary-file.ts";
import { refuseInput, tooLong } from "./text-bytes.ts";

const SETTING = "AUDIO_INPUT_DIR";

/** So many names help an assistant that guessed one; more would only cost. */
const SHOWN_NAMES = 10;

const SHOWN_CODE_POINTS = 120;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  EACCES: "cannot be read: no permission",
  EPERM: "cannot be read: not permitted",
  ELOOP: "is a loop of symbolic links",
  ENAMETOOLONG: "has a name that is too long",
  ERR_ACCESS_DENIED: "cannot be read: Node.js was started without the permission",
};

/** The names of text files at the top of the folder, for somebody who named one that is not there. */
async function namesIn(root: string): Promise<string> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => entry.isFile() && formatOfName(entry.name) !== null)
    .map(({ name }) => name)
    .filter((name) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    .sort();
  if (names.length === 0) return `There is no ${EXTENSIONS_IN_WORDS} file at the top of ${root}.`;
  const shown = names.slice(0, SHOWN_NAMES).map((name) => JSON.stringify(name));
  return `${root} holds ${shown.join(", ")}${names.length > SHOWN_NAMES ? " and more" : ""}.`;
}

async function unreadable(error: unknown, name: string, root: string): Promise<AudioError> {
  if (error instanceof AudioError) return error;
  const code = systemCode(error) ?? "unknown";
  const rule = REASONS[code] ?? `cannot be read (${code})`;
  const hint = code === "ENOENT" ? await namesIn(root) : undefined;
  return refuseInput(name, rule, hint && `${hint} Name one of its files, or ask the user to put it there.`);
}

/** The real path of the folder itself. */
async function realRoot(folder: string): Promise<string> {
  try {
    const root = await realPath(folder);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
  }
  throw new AudioError(
    "configuration_error",
    `${SETTING} is ${JSON.stringify(folder)}, which is no folder that can be read. Nothing was sent.`,
    { remedy: `Ask the user to set ${SETTING} to a folder that exists, or to unset it.` },
  );
}

/**
 * Lists the readable files, for a person who checks the setting.
 *
 * @param folder `AUDIO_INPUT_DIR`, absolute
 * @throws AudioError `configuration_error` where it is no folder that can be read
 */
export async function describeInputFolder(folder: string): Promise<string> {
  return await namesIn(await realRoot(folder));
}

const outside = (name: string, folder: string): AudioError =>
  refuseInput(
    name,
    `is outside of ${folder}, the only folder that files are read from (setting ${SETTING})`,
    "Ask the user to copy the file into that folder, or give the text itself.",
  );

/** By its letters alone, before the system is asked: on Windows even a look at `\\\\host\\share` reaches that host. */
function pathInside(folder: string, file: string, name: string): string {
  if (file.trim() === "" || file.includes("\0") || !file.isWellFormed()) {
    throw refuseInput(name, "is no path of a file");
  }
  const path = resolve(folder, file);
  const way = relative(folder, path);
  if (way === "" || way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) {
    throw outside(name, folder);
  }
  // `notes.txt:hidden.txt` is a stream beside a file's content.
  if (sep === "\\" && way.includes(":")) throw refuseInput(name, "is no path of a file");
  if (formatOfName(path) === null) throw refuseInput(name, `is no ${EXTENSIONS_IN_WORDS} file`);
  return path;
}

/** The real path of an open file on Linux; `null` elsewhere. */
async function pathOfOpen(handle: FileHandle): Promise<string | null> {
  return await readlink(`/proc/self/fd/${handle.fd}`).catch(() => null);
}

/** How often a path is followed anew where the system does not name the opened file: a swap must succeed each time. */
const LOOKS = 5;

/** Whether what was opened lies in the folder, whatever happened to the path meanwhile. */
async function isOpenedInside(handle: FileHandle, path: string, root: string): Promise<boolean> {
  const own = await pathOfOpen(handle);
  if (own !== null) return own.startsWith(`${root}${sep}`) || (await isInside(own, root));
  const opened = await handle.stat({ bigint: true });
  for (let look = 0; look < LOOKS; look += 1) {
    const there = await lstat(await realPath(path), { bigint: true });
    if (there.ino !== opened.ino || there.dev !== opened.dev || !(await isInside(path, root))) return false;
  }
  return true;
}

/**
 * Opens what a path leads to. Between a look and the opening somebody may swap a folder for a link, so what was opened
 * is looked at again: its kind, and where it lies.
 */
async function openInside(path: string, root: string, name: string): Promise<FileHandle> {
  const real = await realPath(path);
  if (!(await isInside(real, root))) throw outside(name, root);
  if (formatOfName(real) === null)
    throw refuseInput(name, `leads to a file that is no ${EXTENSIONS_IN_WORDS}`);
  // To open a device may already do something, so the kind is asked for before, too.
  if (!(await lstat(real)).isFile()) throw refuseInput(name, "is no regular file");
  const handle = await open(real, constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw refuseInput(name, "is no regular file");
    if (!(await isOpenedInside(handle, path, root))) throw outside(name, root);
    const maxBytes = maxBytesOf(formatOfName(path) ?? "plain");
    if (opened.size > maxBytes) throw tooLong(name, maxBytes);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * The text of a file that an assistant names.
 *
 * @param folder `AUDIO_INPUT_DIR`, absolute; `null` where it is not set
 * @param file absolute, or relative to the folder
 * @throws AudioError `configuration_error` without a folder; `invalid_request`, naming the rule, for a file outside of
 *   it, of another kind, over 8 MiB, empty, or no text
 */
export async function readInputFile(folder: string | null, file: string): Promise<InputText> {
  if (folder === null) {
    throw new AudioError(
      "configuration_error",
      `Files are read only from a folder that the user has chosen, and ${SETTING} is not set. Nothing was sent.`,
      {
        remedy: `Ask the user to set ${SETTING}, in the \`env\` of this server's entry, to the absolute path of the folder that texts may be read from, and to restart the server. Or give the text itself.`,
      },
    );
  }
  const name = `file ${JSON.stringify(firstCodePoints(file, SHOWN_CODE_POINTS))}`;
  const root = await realRoot(folder);
  // A path may be spelled by either name of the folder.
  const isByRealName = isAbsolute(file) && !relative(root, file).startsWith("..");
  const path = pathInside(isByRealName ? root : folder, file, name);
  try {
    const handle = await openInside(path, root, name);
    try {
      return await readInput(
        handle.createReadStream({ autoClose: false }),
        formatOfName(path) ?? "plain",
        name,
      );
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw await unreadable(error, name, root);
  }
}
