/** Creates the ledger's folder and file with their permissions, atomically. */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type * as NodeSqlite from "node:sqlite";
import { describeSystemError } from "../../files/file-error.ts";
import { SCHEMA_STATEMENTS, SCHEMA_VERSION } from "../schema.ts";
import { buildLedgerPath, LEDGER_FILE_NAME } from "./ledger-path.ts";
import { damagedFileError, unusableFolderError } from "./sqlite-errors.ts";

/** Marks the file as this program's ("AuGM"), so that the program never writes into another program's database. */
export const APPLICATION_ID = 0x4175474d;

/**
 * What ANALYZE would find in a large ledger: rows of a table, and rows for each prefix of an index. The planner then
 * reaches few rows by their status instead of all rows of an API key, in a ledger of any size and without ever analysing
 * it. See "Fixed Results Of ANALYZE" of SQLite's manual.
 */
const STATISTICS: ReadonlyArray<readonly [table: string, index: string, rows: string]> = [
  ["agm_request", "agm_request_newest", "1000000 500000 250000 2 1"],
  ["agm_attempt", "agm_attempt_status", "1000000 100"],
];

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

function hasCode(error: unknown, ...codes: string[]): boolean {
  return (
    error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code)
  );
}

/**
 * Creates the folder and its missing parents for this user only. First checks the nearest folder that exists, then
 * creates one level at a time, because a recursive mkdir never returns on some pseudo file systems.
 */
function ensureFolder(folder: string): void {
  const missingFolders: string[] = [];
  let nearest = folder;
  while (!existsSync(nearest) && dirname(nearest) !== nearest) {
    missingFolders.unshift(nearest);
    nearest = dirname(nearest);
  }
  if (!statSync(nearest).isDirectory()) {
    throw unusableFolderError(folder, `${nearest === folder ? "it" : nearest} is a file, not a folder`);
  }
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch (error) {
    const lack =
      nearest === folder ? "it cannot be written" : `it does not exist, and ${nearest} cannot be written`;
    throw unusableFolderError(folder, `${lack}: ${describeSystemError(error)}`, error);
  }
  for (const path of missingFolders) {
    try {
      mkdirSync(path, { mode: FOLDER_MODE });
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
  }
  if (missingFolders.length === 0) tightenFolder(folder);
}

/**
 * Removes other users' access to this user's folder, if the folder is empty or has a ledger. A folder with other
 * files keeps its mode.
 */
function tightenFolder(folder: string): void {
  const { mode, uid } = statSync(folder);
  if ((mode & 0o077) === 0 || uid !== process.getuid?.()) return;
  const names = readdirSync(folder);
  if (names.length === 0 || names.includes(LEDGER_FILE_NAME)) chmodSync(folder, FOLDER_MODE);
}

function tightenFile(file: string): void {
  const { mode, uid } = statSync(file);
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(file, FILE_MODE);
}

/**
 * Writes an empty ledger to a temporary file, and links the complete file to its path. On file systems with hard links,
 * the path never holds an unfinished file, so an empty or truncated file at the path means damage. If two processes
 * start together, both use the file that was linked first.
 */
function createFile(sqlite: typeof NodeSqlite, file: string): void {
  const temporaryPath = `${file}.${process.pid}-${Math.random().toString(36).slice(2)}.new`;
  try {
    // Create the file here, because SQLite would use the umask's mode. SQLite's journals inherit the mode of the
    // file.
    closeSync(openSync(temporaryPath, "wx", FILE_MODE));
    chmodSync(temporaryPath, FILE_MODE);
    const db = new sqlite.DatabaseSync(temporaryPath);
    try {
      // Write everything before the write-ahead log is enabled. With the log, the data would reach the file only when
      // the database is closed, and SQLite does not report a full disk on closing.
      db.exec(
        `PRAGMA synchronous = FULL; BEGIN; ${SCHEMA_STATEMENTS.join("; ")};
         ANALYZE sqlite_schema; INSERT INTO sqlite_stat1 VALUES ${STATISTICS.map((row) => `('${row.join("', '")}')`).join(", ")};
         PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`,
      );
      db.exec("PRAGMA journal_mode = WAL");
    } finally {
      db.close();
    }
    try {
      linkSync(temporaryPath, file);
    } catch (error) {
      if (hasCode(error, "EEXIST")) return;
      // Some file systems have no hard links. A copy is not atomic, but still never replaces an existing file.
      copyFileSync(temporaryPath, file, constants.COPYFILE_EXCL);
    }
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"])
      rmSync(`${temporaryPath}${suffix}`, { force: true });
  }
}

/**
 * Returns the path of the ledger file. Creates the file if it is missing, and lets only this user access it.
 *
 * @throws AudioError `store_unavailable` for an unusable folder and for an empty file. Other errors of the file system
 *   are thrown unchanged
 */
export function prepareLedgerFile(sqlite: typeof NodeSqlite, stateDir: string): string {
  ensureFolder(stateDir);
  const file = buildLedgerPath(stateDir);
  if (!existsSync(file)) createFile(sqlite, file);
  if (statSync(file).size === 0) throw damagedFileError(file);
  tightenFile(file);
  return file;
}
