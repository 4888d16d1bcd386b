/** The sandbox's SQLite file: its tables, its permissions, its transactions. */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { loadSqlite } from "./load-sqlite.ts";
import { SandboxUsageError } from "./usage-error.ts";

/** Raised when the tables change; an older or newer state folder is refused, not guessed at. */
const SCHEMA_VERSION = 1;

const SCHEMA = `
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  input_json TEXT NOT NULL,
  input_sha256 TEXT NOT NULL,
  status TEXT NOT NULL,
  doomed INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  charged_credits INTEGER,
  audio_seconds REAL,
  audio_bytes INTEGER,
  error_code TEXT,
  error_message TEXT,
  UNIQUE (account_id, idempotency_key)
) STRICT;
CREATE INDEX open_tasks ON tasks (account_id) WHERE status IN ('queued', 'processing');
CREATE TABLE draws (
  task_id TEXT NOT NULL REFERENCES tasks (id),
  turn INTEGER NOT NULL,
  position INTEGER NOT NULL,
  credits INTEGER NOT NULL CHECK (credits > 0),
  PRIMARY KEY (task_id, turn)
) STRICT, WITHOUT ROWID;
CREATE TABLE grant_use (
  account_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  reserved INTEGER NOT NULL CHECK (reserved >= 0),
  charged INTEGER NOT NULL CHECK (charged >= 0),
  PRIMARY KEY (account_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA user_version = ${SCHEMA_VERSION};
`;

function configure(database: DatabaseSync): void {
  // Exclusive for as long as it is open: two sandboxes on one folder would each run the other's tasks.
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = NORMAL");
  database.exec("PRAGMA foreign_keys = ON");
  database.exec("BEGIN IMMEDIATE");
  const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
  if (version === 0) database.exec(SCHEMA);
  database.exec("COMMIT");
  if (version !== 0 && version !== SCHEMA_VERSION) {
    throw new SandboxUsageError("The state folder was written by another version of the sandbox.");
  }
}

/**
 * Opens the database of a state folder, which must exist; the file is made readable by its owner alone.
 *
 * @throws SandboxUsageError when the folder is in use by another sandbox, damaged or not writable
 */
export function openDatabase(folder: string): DatabaseSync {
  const path = join(folder, "sandbox.sqlite");
  let database: DatabaseSync | undefined;
  try {
    // Created here so that SQLite, which would follow the umask, finds it (and gives its journal the same mode).
    closeSync(openSync(path, "a", 0o600));
    const { DatabaseSync: Database } = loadSqlite();
    database = new Database(path);
    configure(database);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof SandboxUsageError) throw error;
    const reason = error instanceof Error ? error.message : "unknown reason";
    throw new SandboxUsageError(
      /locked|busy/i.test(reason)
        ? "The state folder is in use by another sandbox."
        : `The state folder cannot be used: ${reason}.`,
    );
  }
}

/** Runs `work` as one transaction: all of it is kept, or, when it throws, none. Synchronous, so nothing interleaves. */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** A fact about the folder that is made up once and then stays, such as the key of its default account. */
export function rememberedFact(database: DatabaseSync, name: string, invent: () => string): string {
  return inTransaction(database, () => {
    database.prepare("INSERT OR IGNORE INTO facts (name, value) VALUES (?, ?)").run(name, invent());
    const row = z.object({ value: z.string() });
    return row.parse(database.prepare("SELECT value FROM facts WHERE name = ?").get(name)).value;
  });
}
