/** Takes over a ledger file of layout 1 (0.1.0), in the one transaction that it is given; nothing that it says is lost. */
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { storedValue } from "../keyv-options.ts";
import { readRecord } from "../migrations.ts";
import { type Row, rowOf } from "../record.ts";
import type { Session } from "./database.ts";
import { keyOf, type Place, putPath, putRow, putText } from "./record-rows.ts";
import { SCHEMA_VERSION, TABLES } from "./schema.ts";
import { add, contributionOf } from "./spend-sums.ts";

export interface TakenOver {
  readonly taken: number;
  readonly damaged: number;
}

/** What a record of layout 1 is called now. */
type Names = Map<string, { readonly accountId: string; readonly recordId: string; readonly attempt: number }>;

const NAMESPACE = "record:";
const SET_ASIDE = `${NAMESPACE}set-aside:`;
/** Values read at a time: a ledger may hold more text than memory should. */
const PAGE_ROWS = 200;
/** Older spends count in no budget. */
const SPEND_KEPT_MS = 48 * 60 * 60_000;

const entryRow = z.object({ key: z.string(), value: z.string() });
const named = z.looseObject({ recordId: z.string() });
const namedByAccount = z.looseObject({ recordId: z.string(), accountId: z.string() });
const flightRow = z.object({ holder: z.string(), attempted_at_ms: z.number() });
const pathRow = z.object({ path: z.string(), record_id: z.string() });
const spendRow = z.object({
  record_id: z.string(),
  attempt: z.int(),
  origin: z.string(),
  counted_credits: z.number(),
  reserved_at_ms: z.number(),
});

export function takeOverLayout1(session: Session, clock: Pick<Clock, "wallMs">): TakenOver {
  session.exec(`ALTER TABLE spend RENAME TO spend_1; ${TABLES}`);
  const names: Names = new Map();
  const wallMs = clock.wallMs();
  let damaged = 0;
  for (const { key, value } of entries(session)) {
    if (!key.startsWith(NAMESPACE) || key.startsWith(SET_ASIDE)) putText(session, key, value);
    else if (!takeRecord(session, names, key, value)) {
      damaged += 1;
      // As the ledger itself sets aside what it cannot read.
      const aside = `${SET_ASIDE}${key.slice(NAMESPACE.length)}:${wallMs}`;
      putText(session, aside, JSON.stringify({ value }));
    }
  }
  takePaths(session, names);
  takeSlots(session);
  takeOtherSpend(session, names, wallMs);
  session.exec(`
    DROP TABLE kv; DROP TABLE task_index; DROP TABLE saved_paths; DROP TABLE leases;
    DROP TABLE create_slots; DROP TABLE read_slots; DROP TABLE in_flight; DROP TABLE spend_1;
    PRAGMA user_version = ${SCHEMA_VERSION}`);
  return { taken: names.size, damaged };
}

function* entries(session: Session): Generator<z.infer<typeof entryRow>> {
  let after = "";
  for (;;) {
    const rows = entryRow
      .array()
      .parse(session.all("SELECT key, value FROM kv WHERE key > ? ORDER BY key LIMIT ?", after, PAGE_ROWS));
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.key;
  }
}

/** False for what cannot be read. */
function takeRecord(session: Session, names: Names, key: string, text: string): boolean {
  const value = storedValue(text);
  const oldId = key.slice(NAMESPACE.length);
  const read = readRecord(value);
  if (read.kind === "newer") {
    keepNewer(session, oldId, value, text);
    return true;
  }
  if (read.kind === "damaged" || named.safeParse(value).data?.recordId !== oldId) return false;
  const { accountId, recordId, attempt } = read.record;
  const row = rowOf(read.record);
  putRow(session, undefined, row, placeOf(session, row, oldId));
  names.set(oldId, { accountId, recordId, attempt });
  return true;
}

/** What takes no place any more in layout 1 takes none here; its date, long over, keeps a later write from giving it one. */
function placeOf(session: Session, { flight }: Row, oldId: string): Place {
  if (flight === null) return { flight: null, atMs: null, holder: null };
  const row = session.get(
    "SELECT holder, attempted_at_ms FROM in_flight WHERE record_id = ? ORDER BY attempt DESC LIMIT 1",
    oldId,
  );
  if (row === undefined) return { flight: null, atMs: 0, holder: null };
  const { holder, attempted_at_ms } = flightRow.parse(row);
  return { flight, atMs: attempted_at_ms, holder };
}

/** A record that only a newer program can read keeps its text, and is found by what the old index knew of it. */
function keepNewer(session: Session, oldId: string, value: unknown, text: string): void {
  const name = namedByAccount.safeParse(value).data;
  const key = name === undefined ? `${NAMESPACE}${oldId}` : keyOf(name.accountId, name.recordId);
  putText(session, key, text);
  session.run(
    `UPDATE records SET record_id = ?, account_id = ?, revision = 0, work_id = old.work_id, origin = old.origin,
       task_id = old.task_id, status = old.status, is_open = old.is_open, is_listed = 1,
       created_at_ms = old.created_at_ms
     FROM task_index AS old WHERE old.record_id = ? AND key = ?`,
    name?.recordId ?? oldId,
    name?.accountId ?? "",
    oldId,
    key,
  );
}

/** Beside those that the records name, which have been written with them. */
function takePaths(session: Session, names: Names): void {
  const rows = pathRow.array().parse(session.all("SELECT DISTINCT path, record_id FROM saved_paths"));
  for (const { path, record_id } of rows) {
    const name = names.get(record_id);
    if (name !== undefined) putPath(session, path, name);
  }
}

function takeSlots(session: Session): void {
  session.exec(`
    INSERT INTO slots (slot_id, account_id, limit_class, holder, is_pending, seen_at_ms)
      SELECT slot_id, account_id, 'creates', holder, is_pending, seen_at_ms FROM create_slots
      UNION ALL SELECT slot_id, account_id, 'reads', holder, is_pending, seen_at_ms FROM read_slots;
    INSERT INTO alive (holder, seen_at_ms)
      SELECT holder, max(seen_at_ms) FROM (
        SELECT holder, seen_at_ms FROM in_flight WHERE state <> 'accepted'
        UNION ALL SELECT holder, seen_at_ms FROM create_slots WHERE is_pending = 1
        UNION ALL SELECT holder, seen_at_ms FROM read_slots WHERE is_pending = 1
      ) WHERE holder <> '' GROUP BY holder`);
}

/** Money that no record tells of: of earlier attempts, and of records that are lost or cannot be read. */
function takeOtherSpend(session: Session, names: Names, wallMs: number): void {
  const rows = session.all(
    `SELECT record_id, attempt, origin, counted_credits, reserved_at_ms FROM spend_1
     WHERE counted_credits > 0 AND reserved_at_ms > ?`,
    wallMs - SPEND_KEPT_MS,
  );
  for (const row of spendRow.array().parse(rows)) {
    if (names.get(row.record_id)?.attempt === row.attempt) continue;
    const spend = contributionOf(row.origin, { credits: row.counted_credits, atMs: row.reserved_at_ms });
    if (spend !== null) add(session, spend);
  }
}
