/** Finds the record that a request, a task id or a handle belongs to, also across a change of API key. */
import { isTaskId } from "../../contract/wire.ts";
import type { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { idempotencyKey, recordId, workId } from "../../ledger/identity.ts";
import { NO_TASK_YET, step } from "../../ledger/lifecycle.ts";
import { flightOf, type TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { recordIdOfHandle } from "../handle.ts";
import { askService } from "../job/ask-service.ts";
import { findSaved } from "../saved-files.ts";

/** A request as the ledger names it. */
export interface Work {
  /** Canonical input, as it is sent. */
  readonly input: string;
  /** The prompt as it was given, where words of it are respelled; `null`: they are the same. */
  readonly writtenPrompt: string | null;
  /** The words that are respelled, for the result. */
  readonly respelledWords?: readonly string[];
  readonly take: number;
  readonly fileName: string | null;
  readonly shelf: TaskRecord["shelf"];
}

export interface FoundRecord {
  /** This key's; only together with a file it may be another key's. */
  readonly record: TaskRecord;
  /** Its audio on this machine, intact. */
  readonly file: SavedFile | null;
  readonly notes: readonly string[];
}

/** A record of which nothing is known yet. */
export function emptyRecord(
  { ledger, clock }: Pick<GenerationDeps, "ledger" | "clock">,
  facts: Pick<
    TaskRecord,
    "workId" | "input" | "writtenPrompt" | "take" | "idempotencyKey" | "fileName" | "shelf"
  >,
): TaskRecord {
  const { origin, accountId } = ledger.identity;
  return {
    revision: 0,
    recordId: recordId(facts.workId, accountId),
    accountId,
    origin,
    attempt: 1,
    ...NO_TASK_YET,
    ...facts,
    replaces: null,
    spend: null,
    earlierTaskIds: [],
    earlierCredits: 0,
    files: [],
    createdAtMs: clock.wallMs(),
  };
}

/** A claim for work that nobody has asked for under this account. */
export function newRecord(deps: Pick<GenerationDeps, "ledger" | "clock">, work: Work): TaskRecord {
  const { input, writtenPrompt, take, fileName, shelf } = work;
  const id = workId(deps.ledger.identity.origin, input, take);
  return emptyRecord(deps, {
    workId: id,
    input,
    writtenPrompt,
    take,
    fileName,
    shelf,
    idempotencyKey: idempotencyKey(input, take, 1),
  });
}

/**
 * The record of this work, or a new one. Audio that is on this machine is found whatever key made it. A task that
 * only another key's record names is asked for under this key first: if the service shows it, it is this key's, too.
 *
 * @throws AudioError when the service cannot be asked: then nothing may be created either
 */
export async function findOrDraft(
  deps: GenerationDeps,
  work: Work,
  signal: AbortSignal,
  deadline?: Deadline,
): Promise<FoundRecord> {
  const fresh = newRecord(deps, work);
  const records = await deps.ledger.ofWork(fresh.workId);
  const own = records.find(({ accountId }) => accountId === fresh.accountId);
  const isUnderWay = own !== undefined && flightOf(own) !== null;
  const saved = isUnderWay ? null : await findSavedAmong(deps, records, work.fileName);
  if (saved !== null) return { ...saved, notes: [] };
  if (own !== undefined && own.status !== "waiting") return { record: own, file: null, notes: [] };
  const others = records.filter((record) => record !== own);
  for (const other of others) {
    const taken = await adoptIfVisible(deps, other, signal, deadline);
    if (taken !== null) return { record: taken, file: null, notes: [] };
  }
  // What was never sent under this account takes the newest call's name.
  if (own !== undefined) {
    return { record: { ...own, fileName: work.fileName, replaces: null }, file: null, notes: [] };
  }
  return { record: fresh, file: null, notes: notesAboutOtherKeys(others) };
}

/** What a call is told whose work another key's record names, too. */
function notesAboutOtherKeys(others: readonly TaskRecord[]): string[] {
  if (others.every(({ status }) => status === "waiting")) return [];
  return others.some(({ taskId }) => taskId !== null)
    ? [
        "The ledger holds an earlier attempt at this under another API key; this account does not know it, so this call made a task of its own.",
      ]
    : [
        "The ledger holds an earlier attempt at this under another API key, whose answer was never seen. If that key is of the same account, this is the very task that it made, paid for once; if not, this call made a task of its own.",
      ];
}

/** The first of these records whose audio is on this machine. */
async function findSavedAmong(
  deps: GenerationDeps,
  records: readonly TaskRecord[],
  fileName: string | null,
): Promise<{ readonly record: TaskRecord; readonly file: SavedFile } | null> {
  for (const record of records) {
    const file = await findSaved(deps, record, fileName);
    if (file?.isSound === true) return { record, file };
  }
  return null;
}

/**
 * This key's record of a task that another key's record names; not written yet where there is none. The other record
 * stays as it is: records that name one task count once.
 *
 * @throws AudioError `not_found` for another account's task; what asking throws
 */
async function adopt(
  deps: GenerationDeps,
  other: TaskRecord,
  taskId: string,
  signal: AbortSignal,
  deadline: Deadline | undefined,
): Promise<TaskRecord> {
  const { ledger, clock } = deps;
  const options = deadline === undefined ? {} : { deadline };
  const task = await askService(deps, taskId, signal, options);
  const observed = { kind: "observed", attempt: other.attempt, task, atMs: clock.wallMs() } as const;
  const { accountId } = ledger.identity;
  const copy = { ...other, accountId, recordId: recordId(other.workId, accountId), revision: 0 };
  const own = await ledger.get(copy.recordId);
  return own === null ? step(copy, observed) : ((await ledger.apply(own, observed)) ?? copy);
}

/** `null`: the service does not show the task to this key, so it is another account's, and stays theirs. */
async function adoptIfVisible(
  deps: GenerationDeps,
  other: TaskRecord,
  signal: AbortSignal,
  deadline: Deadline | undefined,
): Promise<TaskRecord | null> {
  const { taskId } = other;
  if (taskId === null) return null;
  try {
    return await adopt(deps, other, taskId, signal, deadline);
  } catch (error) {
    if (error instanceof AudioError && NOT_VISIBLE_CODES.has(error.code)) return null;
    throw error;
  }
}

const NOT_VISIBLE_CODES: ReadonlySet<AudioError["code"]> = new Set(["not_found", "purchase_required"]);

/** @throws AudioError `invalid_request` */
export function checkTaskId(taskId: string): void {
  if (/^nar_/.test(taskId)) {
    throw new AudioError("invalid_request", "That is the id of a narration, not of a task.", {
      remedy: `Call narrate with narration_id ${taskId}: it tells how it stands, and where its file is; with file_name it is saved under that name, too, free.`,
    });
  }
  if (isTaskId(taskId)) return;
  throw new AudioError(
    "invalid_request",
    "task_id must be an id that this server returned: letters, digits and . _ : - only, 256 at most.",
    { remedy: "Use the task_id of an earlier result; list_tasks shows them." },
  );
}

/**
 * The record of a task id or of a handle: this key's, or one whose audio is here, or this key's of a task that only
 * another key's record names so far.
 *
 * @returns `null`: this ledger does not know the task
 * @throws AudioError `not_found` for an unknown handle, and for another account's task
 */
export async function findRecordOfTask(
  deps: GenerationDeps,
  taskId: string,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<TaskRecord | null> {
  const named = recordIdOfHandle(taskId);
  if (named !== undefined) {
    const record = await deps.ledger.get(named);
    if (record !== null) return record;
    // It is no id of the service's, which need not be asked for it.
    throw new AudioError("not_found", `No request of this API key has the handle ${taskId}.`, {
      remedy:
        "list_tasks shows the requests. One that was sent under an earlier API key is resolved by repeating its generate_audio call, which does not pay twice for a key of the same account.",
    });
  }
  const records = await deps.ledger.ofTask(taskId);
  const own = records.find(({ accountId }) => accountId === deps.ledger.identity.accountId);
  if (own !== undefined) return own;
  const saved = await findSavedAmong(deps, records, null);
  if (saved !== null) return saved.record;
  for (const other of records) {
    // Found by an earlier attempt, it may have no task now.
    if (other.taskId !== null) return await adopt(deps, other, other.taskId, signal, deadline);
  }
  return null;
}

/** What is told to a caller who knows a request by the task of an attempt that failed. */
export function noteOfEarlierTask({ taskId: now, earlierTaskIds }: TaskRecord, asked: string): string[] {
  if (!earlierTaskIds.includes(asked)) return [];
  const again = now === null ? "" : `, as task ${now}`;
  return [`Task ${asked} failed and was refunded; the same request was tried again by itself${again}.`];
}
