/** Owns finding the record that a request or a task id belongs to, also across a change of API key; starts no job. */
import { AudioError } from "../errors.ts";
import type { TaskRecord } from "../ledger/record.ts";
import { NO_TASK_YET } from "./attempts.ts";
import type { GenerationDeps } from "./deps.ts";
import { idempotencyKey, recordId, workId } from "./identity.ts";
import type { Jobs } from "./jobs.ts";
import { observe } from "./observe.ts";
import { findSaved } from "./saved-files.ts";
import { queryOnce } from "./watch-task.ts";

/** A request as the ledger names it. */
export interface Work {
  /** Canonical input. */
  readonly input: string;
  readonly take: number;
  readonly fileName: string | null;
}

export interface FoundRecord {
  readonly record: TaskRecord;
  readonly notes: readonly string[];
}

/** A claim for work that nobody has asked for under this account. */
export function newRecord(deps: GenerationDeps, work: Work): TaskRecord {
  const id = workId(deps.origin, work.input, work.take);
  return {
    version: 1,
    recordId: recordId(id, deps.fingerprint),
    workId: id,
    origin: deps.origin,
    fingerprint: deps.fingerprint,
    input: work.input,
    take: work.take,
    attempt: 1,
    idempotencyKey: idempotencyKey(work.input, work.take, 1),
    ...NO_TASK_YET,
    fileName: work.fileName,
    files: [],
    createdAtMs: deps.clock.wallMs(),
  };
}

async function knownRecords(deps: GenerationDeps, ids: readonly string[]): Promise<TaskRecord[]> {
  const records = await deps.store.records.getMany(ids);
  return records.filter((record) => record !== undefined);
}

/**
 * The record of this work, if there is one. Under another API key, a task recorded by an earlier key is asked
 * for first: visible, it is this account's and is adopted; unknown, it is another account's and stays theirs.
 *
 * @throws AudioError when the service cannot be asked: then nothing may be created either
 */
export async function findRecordOfWork(
  deps: GenerationDeps,
  jobs: Jobs,
  work: Work,
  signal: AbortSignal,
): Promise<FoundRecord | null> {
  const fresh = newRecord(deps, work);
  const own = await jobs.book.get(fresh.recordId);
  if (own !== undefined) return { record: own, notes: [] };
  const ids = await deps.store.coordinator.recordsOfWork(fresh.workId);
  const others = await knownRecords(
    deps,
    ids.filter((id) => id !== fresh.recordId),
  );
  for (const record of others) {
    if ((await findSaved(deps, record, work.fileName)) !== null) return { record, notes: [] };
  }
  for (const record of others) {
    const adopted = await adopt(deps, jobs, record, fresh, signal);
    if (adopted !== null) return { record: adopted, notes: [] };
  }
  if (others.every(({ status }) => status === "waiting")) return null;
  const note =
    "The ledger holds an earlier attempt at this under another API key; this account does not know it, so this call made a task of its own.";
  return { record: fresh, notes: [note] };
}

async function adopt(
  deps: GenerationDeps,
  jobs: Jobs,
  other: TaskRecord,
  fresh: TaskRecord,
  signal: AbortSignal,
): Promise<TaskRecord | null> {
  if (other.taskId === null || other.isGone) return null;
  try {
    const task = await queryOnce(deps, other.taskId, signal);
    const copied = { ...other, recordId: fresh.recordId, fingerprint: fresh.fingerprint };
    const adopted = await jobs.book.add(observe(copied, task, deps.clock.wallMs()));
    // Its slot and reservation are the new record's from here on, or the budget would count the task twice.
    await deps.limits.noteInFlight(adopted.recordId, adopted.attempt);
    await deps.limits.endTask(other.recordId, other.attempt, 0);
    return adopted;
  } catch (error) {
    if (error instanceof AudioError && error.code === "not_found") return null;
    throw error;
  }
}

/** The record of a task id: this account's, else one whose audio is here, else none. */
export async function findRecordOfTask(deps: GenerationDeps, taskId: string): Promise<TaskRecord | null> {
  const ids = await deps.store.coordinator.recordsOfTask(deps.origin, taskId);
  const records = await knownRecords(deps, ids);
  const own = records.find((record) => record.fingerprint === deps.fingerprint);
  if (own !== undefined) return own;
  for (const record of records) {
    if ((await findSaved(deps, record, null)) !== null) return record;
  }
  return null;
}
