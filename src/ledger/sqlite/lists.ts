/** Finding records: lists, each a walk along an index from its newest end, and look-ups by work, task and file. */
import { z } from "zod";
import type { LedgerIdentity, ListQuery, StoredValue } from "../ledger-store.ts";
import { RECORD_STATUSES } from "../record.ts";
import type { Session } from "./database.ts";

const foundRow = z.object({ id: z.int(), created_at_ms: z.number(), record_id: z.string() });
type Found = z.infer<typeof foundRow>;
const valueRow = z
  .object({ account_id: z.string(), record_id: z.string(), value: z.string() })
  .transform(
    (row): StoredValue => ({ accountId: row.account_id, recordId: row.record_id, value: row.value }),
  );
const valueRows = valueRow.array();

/** Rows that can be read: one whose cells are damaged must not hide all others. Asked for by its name, it is told. */
function sound<T>(schema: z.ZodType<T>, rows: readonly unknown[]): T[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}

/** Newest first, and one order for records of one moment, so that a list is the same twice. */
function newestFirst(a: Found, b: Found): number {
  if (a.created_at_ms !== b.created_at_ms) return b.created_at_ms - a.created_at_ms;
  return a.record_id < b.record_id ? 1 : -1;
}

/** Whose records one walk passes by: a condition of the index, or one on its rows. */
interface Whose {
  readonly sql: string;
  readonly values: readonly string[];
}

/** One index has what a walk asks for in order; more than one walk is merged, and values are read at the end alone. */
export function list(session: Session, identity: LedgerIdentity, query: ListQuery): StoredValue[] {
  const { openOnly = false, limit } = query;
  // The index of open records is kept by status, so that a list of one status never walks through the others.
  const statuses = query.status !== undefined ? [query.status] : openOnly ? RECORD_STATUSES : [null];
  const whose = whoseOf(identity, query);
  const found = statuses.flatMap((status) => {
    const open = openOnly ? " AND is_open = 1" : "";
    const ofStatus = status === null ? "" : " AND status = ?";
    const values = [identity.origin, ...whose.values, ...(status === null ? [] : [status]), limit];
    return sound(
      foundRow,
      session.all(
        `SELECT id, created_at_ms, record_id FROM records WHERE origin = ?${whose.sql}${ofStatus}${open}
           ORDER BY created_at_ms DESC, record_id DESC LIMIT ?`,
        ...values,
      ),
    );
  });
  return found
    .sort(newestFirst)
    .slice(0, limit)
    .flatMap(({ id }) =>
      sound(valueRow, [session.get("SELECT account_id, record_id, value FROM records WHERE id = ?", id)]),
    );
}

const originRow = z.object({ origin: z.string().nullable() });
const MOST_ORIGINS = 5;

/** A step along an index for each, however many records there are. */
export function otherOrigins(session: Session, own: string): string[] {
  const origins: string[] = [];
  let last = "";
  while (origins.length < MOST_ORIGINS) {
    const { origin } = originRow.parse(
      session.get("SELECT min(origin) AS origin FROM records WHERE origin > ?", last),
    );
    if (origin === null) break;
    if (origin !== own) origins.push(origin);
    last = origin;
  }
  return origins;
}

function whoseOf({ accountId }: LedgerIdentity, { accounts, openOnly }: ListQuery): Whose {
  if (accounts === "own") return { sql: " AND account_id = ?", values: [accountId] };
  return { sql: openOnly === true ? "" : " AND is_listed = 1", values: [] };
}

const OWN_FIRST = "ORDER BY account_id <> ?, created_at_ms, records.record_id";

export function ofWork(session: Session, { accountId }: LedgerIdentity, workId: string): StoredValue[] {
  const rows = session.all(
    `SELECT account_id, record_id, value FROM records WHERE work_id = ? ${OWN_FIRST}`,
    workId,
    accountId,
  );
  return valueRows.parse(rows);
}

export function ofTask(
  session: Session,
  { accountId, origin }: LedgerIdentity,
  taskId: string,
): StoredValue[] {
  const rows = session.all(
    `SELECT account_id, record_id, value FROM records WHERE origin = ? AND task_id = ? ${OWN_FIRST}`,
    origin,
    taskId,
    accountId,
  );
  return valueRows.parse(rows);
}

/** Of every origin: the file is here, whatever service spoke it. */
export function ofPath(session: Session, { accountId }: LedgerIdentity, path: string): StoredValue[] {
  const rows = session.all(
    `SELECT records.account_id AS account_id, records.record_id AS record_id, value
     FROM paths JOIN records ON key = 'record:' || paths.account_id || '/' || paths.record_id
     WHERE path = ? ORDER BY records.account_id <> ?, created_at_ms, records.record_id`,
    path,
    accountId,
  );
  return valueRows.parse(rows);
}
