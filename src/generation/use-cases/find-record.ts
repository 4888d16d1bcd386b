/** Finds the record that a request, a task id or a handle belongs to, also across a change of API key. */
import { isTaskId } from "../../contract/wire.ts";
import type { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import { idempotencyKey, recordId, workId } from "../../ledger/identity.ts";
import { NO_TASK_YET } from "../../ledger/lifecycle.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { recordIdOfHandle } from "../handle.ts";
import { askService } from "../job/ask-service.ts";
import { findSaved } from "../saved-files.ts";

/** A request as the ledger names it. */
export interface Work {
  /** Canonical input. */
  readonly input: string;
  readonly take: number;
  readonly fileName: string | null;
  readonly shelf: TaskRecord["shelf"];
}

export interface FoundRecord {
  readonly record: TaskRecord;
  readonly notes: readonly string[];
}

/** A record of which nothing is known yet. */
export function emptyRecord(
  { ledger, clock }: Pick<GenerationDeps, "ledger" | "clock">,
  facts: Pick<TaskRecord, "workId" | "input" | "take" | "idempotencyKey" | "fileName" | "shelf">,
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
    tickets: [],
    createdAtMs: clock.wallMs(),
  };
}

/** A claim for work that nobody has asked for under this account. */
export function newRecord(deps: Pick<GenerationDeps, "ledger" | "clock">, work: Work): TaskRecord {
  const { input, take, fileName, shelf } = work;
  const id = workId(deps.ledger.identity.origin, input, take);
  return emptyRecord(deps, {
    workId: id,
    input,
    take,
    fileName,
    shelf,
    idempotencyKey: idempotencyKey(input, take, 1),
  });
}

/**
 * The record of this work, or a new one. Under another API key, a task recorded by an earlier key is asked for first:
 * visible, it is this account's and goes over to it; unknown, it is another account's and stays theirs.
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
  if (own !== undefined && own.status !== "waiting") return { record: own, notes: [] };
  const others = records.filter((record) => record !== own);
  const found = await findOfOthers(deps, others, work.fileName, signal, deadline);
  if (found !== null) {
    // Adopted, it has taken this claim's place already.
    if (own !== undefined && found.accountId !== own.accountId) {
      await deps.ledger.apply(own, { kind: "doneElsewhere" });
    }
    return { record: found, notes: [] };
  }
  // What was never sent under this account takes the newest call's name.
  const record = own === undefined ? fresh : { ...own, fileName: work.fileName, replaces: null };
  if (others.every(({ status }) => status === "waiting")) return { record, notes: [] };
  const note = others.some(({ taskId }) => taskId !== null)
    ? "The ledger holds an earlier attempt at this under another API key; this account does not know it, so this call made a task of its own."
    : "The ledger holds an earlier attempt at this under another API key, whose answer was never seen. If that key is of the same account, this is the very task that it made, paid for once; if not, this call made a task of its own.";
  return { record, notes: own === undefined ? [note] : [] };
}

/** Audio that is here already, whoever's it is; else a task of another key that is this account's too. */
async function findOfOthers(
  deps: GenerationDeps,
  others: readonly TaskRecord[],
  fileName: string | null,
  signal: AbortSignal,
  deadline: Deadline | undefined,
): Promise<TaskRecord | null> {
  for (const record of others) {
    if ((await findSaved(deps, record, fileName))?.isSound === true) return record;
  }
  for (const record of others) {
    const ours = await asOurs(deps, record, signal, deadline);
    if (ours !== null) return ours;
  }
  return null;
}

/**
 * A record of another key, if its task is this account's too. While its process still drives it, it stays where it is
 * and is followed; otherwise it goes over.
 *
 * @returns `null`: the service does not know the task under this key
 */
export async function asOurs(
  deps: GenerationDeps,
  other: TaskRecord,
  signal: AbortSignal,
  deadline?: Deadline,
): Promise<TaskRecord | null> {
  if (other.taskId === null) return null;
  try {
    const options = deadline === undefined ? {} : { deadline };
    const task = await askService(deps, other.taskId, signal, options);
    const adopted = await deps.ledger.adopt(other);
    if (adopted === null) return other;
    const event = { kind: "observed", attempt: adopted.attempt, task, atMs: deps.clock.wallMs() } as const;
    return (await deps.ledger.apply(adopted, event)) ?? adopted;
  } catch (error) {
    if (error instanceof AudioError && error.code === "not_found") return null;
    throw error;
  }
}

/** @throws AudioError `invalid_request` */
export function checkTaskId(taskId: string): void {
  if (/^nar_/.test(taskId)) {
    throw new AudioError("invalid_request", "That is the id of a narration, not of a task.", {
      remedy: `Call narrate with narration_id ${taskId}: it tells how it stands, and where its file is.`,
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
 * The record of a task id or of a handle: this account's, else one whose audio is here, else one of another key that
 * turns out to be this account's.
 *
 * @returns `null`: this ledger does not know the task
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
  for (const record of records) {
    if ((await findSaved(deps, record, null))?.isSound === true) return record;
  }
  for (const record of records) {
    const ours = await asOurs(deps, record, signal, deadline);
    if (ours !== null) return ours;
  }
  return null;
}

/** What is told to a caller who knows a request by the task of an attempt that failed. */
export function noteOfEarlierTask({ taskId: now, earlierTaskIds }: TaskRecord, asked: string): string[] {
  if (!earlierTaskIds.includes(asked)) return [];
  const again = now === null ? "" : `, as task ${now}`;
  return [`Task ${asked} failed and was refunded; the same request was tried again by itself${again}.`];
}
