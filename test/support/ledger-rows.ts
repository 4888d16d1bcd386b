/** Holds all SQL with which tests look into a ledger or obstruct its writes, so that it follows the tables in one place. */
import { z } from "zod";
import { ATTEMPT_STATUSES, type AttemptStatus } from "../../src/ledger/schema.ts";

const BUDGET_WINDOW_MS = 24 * 60 * 60 * 1000;

/** A query with `?` for each of its values, for SQLite. */
export interface LedgerQuery {
  readonly text: string;
  readonly values: ReadonlyArray<string | number>;
}

const attempts = z.array(
  z.object({
    id: z.string(),
    fingerprint: z.string(),
    body: z.string().nullable(),
    take: z.int().nullable(),
    n: z.int(),
    status: z.enum(ATTEMPT_STATUSES),
    owner: z.string().nullable(),
    /** The narration that pays; `null`: the callers of the request. */
    payer: z.string().nullable(),
    task_id: z.string().nullable(),
    is_paid: z.int(),
    is_open: z.int(),
    spent: z.number(),
    finished_at_ms: z.number().nullable(),
  }),
);
const files = z.array(z.object({ owner: z.string(), path: z.string(), sha256: z.string() }));
const total = z.tuple([z.object({ total: z.coerce.number() })]);

/** An attempt at a request. */
export type LedgerAttempt = z.infer<typeof attempts>[number];

/** A request with its current attempt. */
export interface LedgerRecord extends LedgerAttempt {
  /** Its saved files, the newest last. */
  readonly files: ReadonlyArray<{ readonly path: string }>;
}

const FIELDS =
  "id, fingerprint, body, take, n, status, owner, payer, task_id, is_paid, is_open, spent, finished_at_ms";

/** Finds the requests of all API keys with their current attempts, newest first. Parts of narrations, too. */
export const recordsQuery = (baseUrl: string): LedgerQuery => ({
  text: `SELECT ${FIELDS} FROM agm_current_attempt WHERE base_url = ? ORDER BY created_at_ms DESC, id`,
  values: [baseUrl],
});

/** Finds the attempts of all API keys, earlier ones too. */
export const attemptsQuery = (baseUrl: string): LedgerQuery => ({
  text: `SELECT ${FIELDS} FROM agm_request_attempt WHERE base_url = ? ORDER BY created_at_ms DESC, id, n`,
  values: [baseUrl],
});

/** Finds the files of requests and narrations. */
export const FILES_QUERY: LedgerQuery = {
  text: "SELECT owner, path, sha256 FROM agm_file ORDER BY saved_at_ms",
  values: [],
};

/**
 * Sums the credits that the budget counts, for all API keys. A task that two API keys know counts once, by the row that
 * knows its end.
 */
export const spentCreditsQuery = (baseUrl: string): LedgerQuery => ({
  text: `SELECT coalesce(sum(coalesce(known, most)), 0) AS total FROM (
    SELECT max(spent) AS most, max(CASE WHEN status IN ('succeeded', 'saved', 'failed') THEN spent END) AS known
    FROM agm_request_attempt WHERE base_url = ? AND spent_at_ms > ?
    GROUP BY coalesce(task_id, fingerprint || '#' || n)) AS task`,
  values: [baseUrl, Date.now() - BUDGET_WINDOW_MS],
});

/** Counts the submissions of the last minute that the ledger knows, on SQLite. */
export const RATE_SLOTS_QUERY: LedgerQuery = {
  text: "SELECT coalesce(sum(json_array_length(sends)), 0) AS total FROM agm_gate",
  values: [],
};

/** Counts the narrations that run although no process drives them yet, on SQLite. */
export const UNDRIVEN_NARRATIONS_QUERY: LedgerQuery = {
  text: "SELECT count(*) AS total FROM agm_narration WHERE status = 'running' AND owner IS NULL",
  values: [],
};

/** Counts the last index that is created: 1 as soon as the tables exist, on SQLite. */
export const IS_CREATED_QUERY: LedgerQuery = {
  text: "SELECT count(*) AS total FROM sqlite_master WHERE name = 'agm_handle_status'",
  values: [],
};

export const parseAttempts = (rows: unknown): LedgerAttempt[] => attempts.parse(rows);
export const parseTotal = (rows: unknown): number => total.parse(rows)[0].total;

export type LedgerFile = z.infer<typeof files>[number];
export const parseFiles = (rows: unknown): LedgerFile[] => files.parse(rows);

export function parseRecords(recordRows: unknown, fileRows: unknown): LedgerRecord[] {
  const all = files.parse(fileRows);
  return parseAttempts(recordRows).map((record) => ({
    ...record,
    files: all.filter(({ owner }) => owner === record.id),
  }));
}

/** The service's word for a status: the ledger says `saved` for a success whose audio it has saved. */
export const toServiceStatus = (status: AttemptStatus): string => (status === "saved" ? "succeeded" : status);

/** Kinds of writes that a test can delay or make fail, each recognised by what it changes. */
const WRITES = {
  "any record": "INSERT ON agm_request",
  "an admission": "UPDATE ON agm_attempt WHEN new.status = 'unresolved' AND new.maybe > old.maybe",
  "a task id": "UPDATE ON agm_attempt WHEN old.task_id IS NULL AND new.task_id IS NOT NULL",
  "the end of a task": `UPDATE ON agm_attempt
    WHEN old.status IN ('queued', 'processing') AND new.status IN ('succeeded', 'saved', 'failed')`,
  "a saved file": "INSERT ON agm_file WHEN new.kind IN ('audio', 'unusable')",
} as const;
export type ObstructedWrite = keyof typeof WRITES;

/** A statement that takes some seconds. */
const SLOW_SQL = `SELECT (WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < 30000000)
  SELECT count(*) FROM step);`;

/** SQL for SQLite that makes a kind of write slow or failing. */
export const obstructionSql = (write: ObstructedWrite, as: "slow" | "failing"): string =>
  `CREATE TRIGGER obstructed BEFORE ${WRITES[write]} BEGIN
    ${as === "slow" ? SLOW_SQL : "SELECT RAISE(ABORT, 'no room');"} END`;
export const REMOVE_OBSTRUCTION_SQL = "DROP TRIGGER IF EXISTS obstructed";

/** SQL that empties a ledger of its requests, as a person could. */
export const DELETE_REQUESTS_SQL =
  "BEGIN; DELETE FROM agm_file; DELETE FROM agm_attempt; DELETE FROM agm_request; COMMIT";

/** SQL that lets every send have been a day earlier. */
export const AGE_SENDS_SQL = `UPDATE agm_attempt SET spent_at_ms = spent_at_ms - ${BUDGET_WINDOW_MS}`;

/**
 * SQL that notes a file (kind, path, size in bytes, sha256, seconds) beside the joined file of a narration (its id), as
 * if it had been joined from the same parts.
 */
export const COPY_FILE_ROW_SQL = `INSERT INTO agm_file (path, owner, kind, chapter, size_bytes, sha256, saved_at_ms, inputs, seconds)
  SELECT copy.path, owner, copy.kind, chapter, copy.size_bytes, copy.sha256, saved_at_ms, inputs, copy.seconds
  FROM agm_file CROSS JOIN (SELECT ? AS kind, ? AS path, ? AS size_bytes, ? AS sha256, ? AS seconds) AS copy
  WHERE owner = ? AND agm_file.kind = 'audio' ORDER BY saved_at_ms LIMIT 1`;

/** SQL that forgets the files that a narration (its id) has made, except those of a path (a LIKE pattern). */
export const DELETE_MADE_FILES_SQL = "DELETE FROM agm_file WHERE owner = ? AND path NOT LIKE ?";
