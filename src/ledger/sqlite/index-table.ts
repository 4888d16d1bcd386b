/** Owns the index of records in the ledger file: finding and ordering them; never reads a record. */
import { z } from "zod";
import type { IndexEntry, IndexQuery } from "../coordinator.ts";
import { RECORD_STATUSES } from "../record.ts";
import type { Session } from "./database.ts";

const indexRow = z
  .object({
    record_id: z.string(),
    work_id: z.string(),
    origin: z.string(),
    task_id: z.string().nullable(),
    status: z.enum(RECORD_STATUSES),
    is_open: z.int(),
    created_at_ms: z.number(),
  })
  .transform(
    (row): IndexEntry => ({
      recordId: row.record_id,
      workId: row.work_id,
      origin: row.origin,
      taskId: row.task_id,
      status: row.status,
      isOpen: row.is_open === 1,
      createdAtMs: row.created_at_ms,
    }),
  );
const recordIdRow = z.object({ record_id: z.string() }).transform((row) => row.record_id);

export function putIndex(session: Session, entry: IndexEntry): void {
  session.run(
    `INSERT INTO task_index (record_id, work_id, origin, task_id, status, is_open, created_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (record_id) DO UPDATE SET work_id = excluded.work_id, origin = excluded.origin,
       task_id = excluded.task_id, status = excluded.status, is_open = excluded.is_open`,
    entry.recordId,
    entry.workId,
    entry.origin,
    entry.taskId,
    entry.status,
    entry.isOpen ? 1 : 0,
    entry.createdAtMs,
  );
}

export function removeIndex(session: Session, recordId: string): void {
  session.run("DELETE FROM task_index WHERE record_id = ?", recordId);
}

const NEWEST_FIRST = "ORDER BY created_at_ms DESC, record_id DESC LIMIT ?";

/** Each query below walks one index from its newest end; a list of statuses is one walk a status, then merged. */
export function listIndex(session: Session, query: IndexQuery): IndexEntry[] {
  const { origin, statuses, openOnly, limit } = query;
  if (openOnly === true && statuses === undefined) {
    return indexRow
      .array()
      .parse(
        session.all(
          `SELECT * FROM task_index WHERE origin = ? AND is_open = 1 ${NEWEST_FIRST}`,
          origin,
          limit,
        ),
      );
  }
  if (statuses === undefined) {
    return indexRow
      .array()
      .parse(session.all(`SELECT * FROM task_index WHERE origin = ? ${NEWEST_FIRST}`, origin, limit));
  }
  const open = openOnly === true ? "AND is_open = 1" : "";
  const rows = [...new Set(statuses)].flatMap((status) =>
    session.all(
      `SELECT * FROM task_index WHERE origin = ? AND status = ? ${open} ${NEWEST_FIRST}`,
      origin,
      status,
      limit,
    ),
  );
  return indexRow.array().parse(rows).sort(newestFirst).slice(0, limit);
}

function newestFirst(a: IndexEntry, b: IndexEntry): number {
  if (a.createdAtMs !== b.createdAtMs) return b.createdAtMs - a.createdAtMs;
  return a.recordId < b.recordId ? 1 : -1;
}

export function recordsOfWork(session: Session, workId: string): string[] {
  return recordIdRow
    .array()
    .parse(
      session.all(
        "SELECT record_id FROM task_index WHERE work_id = ? ORDER BY created_at_ms, record_id",
        workId,
      ),
    );
}

export function recordsOfTask(session: Session, origin: string, taskId: string): string[] {
  return recordIdRow
    .array()
    .parse(
      session.all(
        "SELECT record_id FROM task_index WHERE origin = ? AND task_id = ? ORDER BY created_at_ms, record_id",
        origin,
        taskId,
      ),
    );
}

export function putPath(session: Session, place: string, path: string, recordId: string): void {
  session.run(
    "INSERT INTO saved_paths (place, path, record_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    place,
    path,
    recordId,
  );
}

export function recordsOfPath(session: Session, place: string, path: string): string[] {
  return recordIdRow
    .array()
    .parse(
      session.all(
        "SELECT record_id FROM saved_paths WHERE place = ? AND path = ? ORDER BY record_id",
        place,
        path,
      ),
    );
}
