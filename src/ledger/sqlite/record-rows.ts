/** Rows of records: the value, the columns that follow from it, its paths and its share of the sums, written together. */
import { z } from "zod";
import type { HolderId } from "../../holder.ts";
import { recordKey } from "../ledger-store.ts";
import type { Flight, Row } from "../record.ts";
import { countedSpend, type TaskShare } from "../rules/shared-task.ts";
import type { Session } from "./database.ts";
import { add, type Contribution, contributionOf, takeBack } from "./spend-sums.ts";

/** As Keyv spells it, with the namespace of RECORD_KEYV_OPTIONS. */
export const keyOf = (accountId: string, recordId: string): string =>
  `record:${recordKey(accountId, recordId)}`;

const storedSchema = z
  .object({
    key: z.string(),
    record_id: z.string().nullable(),
    account_id: z.string().nullable(),
    origin: z.string().nullable(),
    task_id: z.string().nullable(),
    status: z.string().nullable(),
    revision: z.int().nullable(),
    flight: z.enum(["sent", "accepted"]).nullable().catch(null),
    flight_at_ms: z.number().nullable(),
    flight_holder: z.string().nullable(),
    spend_credits: z.number().nullable(),
    spend_bucket: z.int().nullable(),
    lease_holder: z.string().nullable(),
    lease_at_ms: z.number().nullable(),
    lease_ttl_ms: z.number().nullable(),
    value: z.string(),
  })
  .transform((row) => ({
    key: row.key,
    value: row.value,
    recordId: row.record_id,
    accountId: row.account_id,
    origin: row.origin,
    taskId: row.task_id,
    status: row.status,
    revision: row.revision,
    place: { flight: row.flight, atMs: row.flight_at_ms, holder: row.flight_holder },
    spend:
      row.origin === null || row.spend_credits === null || row.spend_bucket === null
        ? null
        : { origin: row.origin, bucket: row.spend_bucket, credits: row.spend_credits },
    lease:
      row.lease_holder === null || row.lease_at_ms === null || row.lease_ttl_ms === null
        ? null
        : { holder: row.lease_holder, atMs: row.lease_at_ms, ttlMs: row.lease_ttl_ms },
  }));

/** A row as it stands; all but key and value are `null` where it is no record. */
export type StoredRow = z.infer<typeof storedSchema>;

/** A place in flight. One whose time is long over keeps its date, and is no longer searched for. */
export interface Place {
  readonly flight: Flight | null;
  readonly atMs: number | null;
  readonly holder: HolderId | null;
}

export function readRow(session: Session, key: string): StoredRow | undefined {
  const row = session.get("SELECT * FROM records WHERE key = ?", key);
  return row === undefined ? undefined : storedSchema.parse(row);
}

/** Where a write leaves the record in flight: its date is that of the change, so it stays while nothing changes. */
export function nextPlace(
  stored: StoredRow | undefined,
  row: Row,
  now: { readonly steadyMs: number; readonly holder: HolderId },
): Place {
  if (row.flight === null) return { flight: null, atMs: null, holder: null };
  if (stored !== undefined) {
    const isForgotten = stored.place.flight === null && stored.place.atMs !== null;
    if (stored.place.flight === row.flight) return stored.place;
    if (isForgotten && stored.status === row.status) return stored.place;
  }
  return { flight: row.flight, atMs: now.steadyMs, holder: now.holder };
}

/** Writes the row over what is stored; a lease stays as it is. */
export function putRow(session: Session, stored: StoredRow | undefined, row: Row, place: Place): void {
  const spend = contributionOf(row.origin, row.spend);
  const isSame = stored?.taskId === row.taskId && stored.status === row.status;
  if (!isSame || !isSameSpend(stored.spend, spend)) {
    if (stored !== undefined) uncountRecord(session, stored);
    countRecord(session, { ...row, key: keyOf(row.accountId, row.recordId), spend });
  }
  session.run(
    `INSERT INTO records (key, record_id, account_id, work_id, origin, task_id, status, is_open, is_listed, created_at_ms,
       revision, flight, flight_at_ms, flight_holder, spend_credits, spend_bucket, value)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET record_id = excluded.record_id, account_id = excluded.account_id,
       work_id = excluded.work_id, origin = excluded.origin, task_id = excluded.task_id,
       status = excluded.status, is_open = excluded.is_open, is_listed = excluded.is_listed,
       created_at_ms = excluded.created_at_ms, revision = excluded.revision, flight = excluded.flight, flight_at_ms = excluded.flight_at_ms,
       flight_holder = excluded.flight_holder, spend_credits = excluded.spend_credits,
       spend_bucket = excluded.spend_bucket, value = excluded.value`,
    keyOf(row.accountId, row.recordId),
    row.recordId,
    row.accountId,
    row.workId,
    row.origin,
    row.taskId,
    row.status,
    row.isOpen ? 1 : 0,
    row.isListed ? 1 : 0,
    row.createdAtMs,
    row.revision,
    place.flight,
    place.atMs,
    place.holder,
    spend?.credits ?? null,
    spend?.bucket ?? null,
    row.value,
  );
  if (stored !== undefined && hasSamePaths(session, row)) return;
  dropPaths(session, row);
  for (const path of row.paths) putPath(session, path, row);
}

/**
 * Removes a row with its place in flight, its lease and its paths.
 *
 * @param spend `kept`: the sums go on counting it, where the money is gone although the record is; where another
 *   key's record names the same task, that one counts it from now on
 */
export function dropRow(session: Session, stored: StoredRow, spend: "taken_back" | "kept"): void {
  if (spend === "taken_back" || othersOfTask(session, stored).length > 0) uncountRecord(session, stored);
  session.run("DELETE FROM records WHERE key = ?", stored.key);
  dropPathsOf(session, stored);
}

type Counted = Pick<StoredRow, "key" | "origin" | "taskId" | "status" | "spend">;

const sharedRows = z
  .object({
    status: z.string().nullable(),
    spend_credits: z.number().nullable(),
    spend_bucket: z.int().nullable(),
  })
  .array();

/** Other records of the same task: other keys'. */
function othersOfTask(session: Session, { key, origin, taskId }: Counted): TaskShare<Contribution>[] {
  if (origin === null || taskId === null) return [];
  const rows = session.all(
    "SELECT status, spend_credits, spend_bucket FROM records WHERE origin = ? AND task_id = ? AND key <> ?",
    origin,
    taskId,
    key,
  );
  return sharedRows.parse(rows).map(({ status, spend_credits: credits, spend_bucket: bucket }) => ({
    status,
    spend: credits === null || bucket === null ? null : { origin, credits, bucket },
  }));
}

/** What the sums hold for a record's task, with the record and without it. */
function sharesOf(session: Session, record: Counted): [Contribution | null, Contribution | null] {
  const others = othersOfTask(session, record);
  return [countedSpend([...others, record]), countedSpend(others)];
}

function countRecord(session: Session, record: Counted): void {
  const [together, alone] = sharesOf(session, record);
  move(session, alone, together);
}

function uncountRecord(session: Session, record: Counted): void {
  const [together, alone] = sharesOf(session, record);
  move(session, together, alone);
}

function move(session: Session, from: Contribution | null, to: Contribution | null): void {
  if (isSameSpend(from, to)) return;
  if (from !== null) takeBack(session, from);
  if (to !== null) add(session, to);
}

/** Stores a text that is no record: what stood there as one is gone, but for its spend. */
export function putText(session: Session, key: string, value: string): void {
  const stored = readRow(session, key);
  if (stored !== undefined) dropRow(session, stored, "kept");
  session.run("INSERT INTO records (key, value) VALUES (?, ?)", key, value);
}

export function putPath(
  session: Session,
  path: string,
  { accountId, recordId }: Pick<Row, "accountId" | "recordId">,
): void {
  session.run(
    "INSERT INTO paths (path, account_id, record_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    path,
    accountId,
    recordId,
  );
}

/**
 * Whether a write of the row would leave alone all that must outlive a power cut. How an accepted task stands, and that
 * it came to less than was reserved, the service tells again as long as its record is open.
 */
export function changesNothingDear(session: Session, stored: StoredRow, row: Row): boolean {
  if (stored.taskId !== row.taskId || !hasSamePaths(session, row)) return false;
  const spend = contributionOf(row.origin, row.spend);
  if (isSameSpend(stored.spend, spend)) return stored.status === row.status || isToldAgain(row);
  return isToldAgain(row) && stored.spend !== null && isLess(spend, stored.spend);
}

const isToldAgain = ({ taskId, isOpen }: Row): boolean => taskId !== null && isOpen;

const isLess = (spend: Contribution | null, than: Contribution): boolean =>
  spend !== null && isSameSpend({ ...spend, credits: than.credits }, than) && spend.credits < than.credits;

function isSameSpend(a: Contribution | null, b: Contribution | null): boolean {
  if (a === null || b === null) return a === b;
  return a.origin === b.origin && a.bucket === b.bucket && a.credits === b.credits;
}

const pathRows = z.object({ path: z.string() }).array();

function hasSamePaths(session: Session, row: Row): boolean {
  const stored = pathRows.parse(
    session.all("SELECT path FROM paths WHERE account_id = ? AND record_id = ?", row.accountId, row.recordId),
  );
  return stored.length === row.paths.length && stored.every(({ path }) => row.paths.includes(path));
}

function dropPathsOf(session: Session, { accountId, recordId }: StoredRow): void {
  if (accountId !== null && recordId !== null) dropPaths(session, { accountId, recordId });
}

function dropPaths(session: Session, { accountId, recordId }: Pick<Row, "accountId" | "recordId">): void {
  session.run("DELETE FROM paths WHERE account_id = ? AND record_id = ?", accountId, recordId);
}
