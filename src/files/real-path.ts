/** Resolves real paths on disks of every kind, and finds out whether two spellings of a path lead to one folder. */
import { realpath as realpathByNode } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { getSystemCode } from "./file-error.ts";

const walkPath = promisify(realpathByNode);

/** Codes of errors in the path itself. With these errors, Node's own way of resolving the path would fail too. */
const PATH_ERROR_CODES = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM", "ENAMETOOLONG"]);

/**
 * Returns the real path as the system reports it. If the system cannot report the real path, Node resolves the path
 * itself. Windows cannot report it (EISDIR) for drives that its mount manager does not know, such as RAM disks and some
 * virtual drives.
 */
export async function resolveRealPath(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    // Check that the reported path exists, because Windows omits the dots at the end of a path that it reports.
    if (real === path || (await pathExists(real))) return real;
  } catch (error) {
    if (PATH_ERROR_CODES.has(getSystemCode(error) ?? "ENOENT")) throw error;
  }
  return await walkPath(path);
}

export async function pathExists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

/**
 * Converts a path to a form that is equal for all spellings that some disk treats as the same path. Such spellings
 * differ in case, in the form of accents, or in trailing dots and spaces.
 */
function fold(path: string): string {
  return path
    .normalize("NFC")
    .toLowerCase()
    .normalize("NFC")
    .replace(/[. ]+(?=[\\/]|$)/g, "");
}

/**
 * Whether a real path differs from the given path only in spelling, as on a disk that ignores case. Comparing the
 * letters is not enough: on a disk that respects case, one spelling may be a symbolic link to the other.
 */
export async function isOtherSpelling(path: string, real: string): Promise<boolean> {
  if (fold(path) !== fold(real)) return false;
  for (let part = path; dirname(part) !== part; part = dirname(part)) {
    const stats = await lstat(part).catch(() => null);
    if (stats?.isDirectory() !== true) return false;
  }
  return true;
}

/**
 * Whether a file is in a folder, even if the two paths spell the folder differently.
 *
 * @param file a real path
 */
export async function isDirectChild(file: string, folder: string): Promise<boolean> {
  const parent = dirname(file);
  const [a, b] = await Promise.all([stat(parent, { bigint: true }), stat(folder, { bigint: true })]);
  if (a.ino !== 0n && a.ino === b.ino && a.dev === b.dev) return true;
  // On FUSE, one folder has a different inode under each spelling of its path. Inodes then prove nothing, so check that
  // the paths differ only in spelling, and that the file exists under both.
  if (!(await isOtherSpelling(parent, folder))) return false;
  return (await lstat(join(folder, basename(file)))).isFile();
}

/**
 * Lists other spellings under which a file may have been recorded: its real path, and its name as the folder lists
 * it. Empty if there is no such file.
 */
export async function findOtherSpellings(path: string, root: string): Promise<string[]> {
  try {
    const real = await resolveRealPath(path);
    const spellings = new Set([real]);
    if (await isDirectChild(real, root)) {
      const names = await readdir(root);
      const name = basename(real);
      // Prefer the exact name. On a disk that respects case, a name that differs only in case is another file.
      const listedName = names.includes(name) ? name : names.find((known) => fold(known) === fold(name));
      if (listedName !== undefined) spellings.add(join(root, listedName));
    }
    spellings.delete(path);
    return [...spellings];
  } catch {
    return [];
  }
}

/**
 * Finds a file whose name has another Unicode form on the disk: a file from a Mac may spell an accent as a character of
 * its own (NFD), and an assistant writes it composed (NFC). Looks at each name of the path that does not exist.
 *
 * @param names the names of the folders and the file, from the root on
 * @returns the path as the disk spells it. A name that has no equal, or several, stays as it is given
 */
export async function findUnicodeSpelling(root: string, names: readonly string[]): Promise<string> {
  let path = root;
  for (const name of names) {
    const isExact = await pathExists(join(path, name));
    const entries = isExact ? [] : await readdir(path).catch(() => []);
    const equal = entries.filter((entry) => entry.normalize("NFC") === name.normalize("NFC"));
    path = join(path, equal.length === 1 && equal[0] !== undefined ? equal[0] : name);
  }
  return path;
}
