/** Describes errors of the ledger file. */
import { AudioError } from "../../errors.ts";
import { describeSystemError } from "../../files/file-error.ts";
import type { DatabaseFailure } from "../engine.ts";

/** SQLite's primary result codes that get their own message or handling. */
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

const NOT_TWICE =
  "The same calls then ask the service under the same idempotency keys, so nothing is paid twice.";

/** Returns the primary result code of an error that SQLite reported; `undefined` for other errors. */
function getResultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  return error.errcode & 0xff;
}

/** Whether another process holds the write lock, so that another try may succeed. */
export function isBusy(error: unknown): boolean {
  const code = getResultCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** Describes an error that SQLite reported; returns `null` for other errors. */
export const describeSqliteFailure = (file: string, error: unknown): DatabaseFailure | null =>
  getResultCode(error) === undefined
    ? null
    : { error: sqliteError(file, error), isTransient: isBusy(error), isSilence: false };

/**
 * Builds the `store_unavailable` error for a damaged ledger file. The remedy asks a person to restore or move the file,
 * because this program leaves it unchanged.
 */
export function damagedFileError(file: string, cause?: unknown): AudioError {
  return new AudioError("store_unavailable", `The ledger file ${file} is damaged and was left as it is.`, {
    remedy: `Restore it from a backup, or move it (with ${file}-wal and ${file}-shm) out of the way. ${NOT_TWICE}`,
    cause,
  });
}

/**
 * Builds the error for a state folder that cannot be used.
 *
 * @param why the reason, which follows a colon in the message
 */
export function unusableFolderError(folder: string, why: string, cause?: unknown): AudioError {
  return new AudioError("store_unavailable", `The state folder ${folder} cannot be used: ${why}.`, {
    remedy: "Set AUDIO_STATE_DIR to a folder of your own that can be written, or fix the fault named above.",
    cause,
  });
}

/** Builds the `store_unavailable` error for a file that is another program's database. */
export function foreignFileError(file: string): AudioError {
  return new AudioError("store_unavailable", `${file} is another program's database, not a ledger.`, {
    remedy: "Set AUDIO_STATE_DIR to a folder of its own.",
  });
}

/** Builds the `store_unavailable` error for a ledger file with the tables of another version of this program. */
export function otherSqliteSchemaError(file: string): AudioError {
  return new AudioError(
    "store_unavailable",
    `The ledger file ${file} was written by another version of this program, with other tables.`,
    {
      remedy: `Use that version again, or move the file (with ${file}-wal and ${file}-shm) out of the way, or set AUDIO_STATE_DIR to another folder. ${NOT_TWICE}`,
    },
  );
}

/** Whether the error says that a table or a column is missing. If so, another program has removed it. */
const lacksTable = (error: unknown): boolean =>
  error instanceof Error && /^no such (?:table|column)/.test(error.message);

/** Converts any failure of the file or its folder to an `AudioError`. */
export function sqliteError(file: string, error: unknown): AudioError {
  if (error instanceof AudioError) return error;
  const code = getResultCode(error);
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB || lacksTable(error))
    return damagedFileError(file, error);
  if (code === SQLITE_BUSY || code === SQLITE_LOCKED) {
    return new AudioError("store_unavailable", `The ledger file ${file} stayed locked by another process.`, {
      retryable: true,
      remedy: "Try again; if it stays so, end the program that holds the file.",
      cause: error,
    });
  }
  if (code === SQLITE_FULL || (error instanceof Error && "code" in error && error.code === "ENOSPC")) {
    return new AudioError("store_unavailable", `The disk of the ledger file ${file} is full.`, {
      remedy: "Free some space, then try again.",
      cause: error,
    });
  }
  const problem = code === SQLITE_READONLY ? "is not writable" : "cannot be used";
  const reason = describeSystemError(error) ?? (error instanceof Error ? error.message : null);
  const detail = reason === null ? "" : `: ${reason}`;
  return new AudioError("store_unavailable", `The ledger file ${file} ${problem}${detail}.`, {
    remedy: "Make the folder and the file writable, or set AUDIO_STATE_DIR to a folder that is.",
    cause: error,
  });
}
