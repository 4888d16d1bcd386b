/** Finds the record of a request, a task id or a handle, even after the API key has changed. */
import { isTaskId } from "../../contract/wire.ts";
import type { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { deriveIdempotencyKey, deriveRecordId, deriveRequestFingerprint } from "../../ledger/identity.ts";
import { applyEvent, UNSENT_ATTEMPT } from "../../ledger/lifecycle.ts";
import { deriveConcurrencySlotState, type RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";
import { fetchTask } from "../job/fetch-task.ts";
import { findSaved } from "./find-saved.ts";
import { parseRequestHandle } from "./request-handle.ts";

/** A request with everything that identifies it in the ledger. */
export interface PreparedRequest {
  /** Canonical input, as sent. */
  readonly input: string;
  /** The prompt as the caller wrote it, if words in it were respelled; otherwise `null`. */
  readonly originalPrompt: string | null;
  /** Sentences for the result: which words of the text were respelled, and which language the voice does not speak. */
  readonly notes?: readonly string[];
  readonly take: number;
  readonly fileName: string | null;
  readonly isListed: boolean;
}

export interface ResolvedRecord {
  /** The found record. It may belong to another API key, but only if `file` is set. */
  readonly record: RequestRecord;
  /** The record's unchanged audio on this machine; `null` if there is none. */
  readonly file: SavedFile | null;
  readonly notes: readonly string[];
}

/** Creates a record without a task. */
export function buildEmptyRecord(
  { ledger, clock }: Pick<RequestDeps, "ledger" | "clock">,
  facts: Pick<
    RequestRecord,
    "requestFingerprint" | "input" | "originalPrompt" | "take" | "idempotencyKey" | "fileName" | "isListed"
  >,
): RequestRecord {
  const { baseUrl, apiKeyId } = ledger.identity;
  return {
    revision: 0,
    recordId: deriveRecordId(facts.requestFingerprint, apiKeyId),
    apiKeyId,
    baseUrl,
    attempt: 1,
    ...UNSENT_ATTEMPT,
    ...facts,
    fileToReplace: null,
    spend: null,
    earlierTaskIds: [],
    earlierCredits: 0,
    files: [],
    createdAtMs: clock.wallMs(),
  };
}

/** Creates a record for a request that this API key has not made before. */
export function buildNewRecord(
  deps: Pick<RequestDeps, "ledger" | "clock">,
  prepared: PreparedRequest,
): RequestRecord {
  const { input, originalPrompt, take, fileName, isListed } = prepared;
  const requestFingerprint = deriveRequestFingerprint(deps.ledger.identity.baseUrl, input, take);
  return buildEmptyRecord(deps, {
    requestFingerprint,
    input,
    originalPrompt,
    take,
    fileName,
    isListed,
    idempotencyKey: deriveIdempotencyKey(input, take, 1),
  });
}

/**
 * Finds the record of this request, or drafts one. Uses audio on this machine, whichever API key paid for it. If only
 * another key's record has a task id, queries that task with the current API key, and uses the task if the service
 * returns it.
 *
 * @throws AudioError if the service cannot be queried. No submission is allowed in this case, because a usable task may
 *   exist
 */
export async function resolveRecord(
  deps: RequestDeps,
  prepared: PreparedRequest,
  signal: AbortSignal,
  deadline?: Deadline,
): Promise<ResolvedRecord> {
  const newRecord = buildNewRecord(deps, prepared);
  const records = await deps.ledger.findByFingerprint(newRecord.requestFingerprint);
  const ownRecord = records.find(({ apiKeyId }) => apiKeyId === newRecord.apiKeyId);
  const hasConcurrencySlot = ownRecord !== undefined && deriveConcurrencySlotState(ownRecord) !== null;
  const savedCopy = hasConcurrencySlot ? null : await findSavedAmong(deps, records, prepared.fileName);
  if (savedCopy !== null) return { ...savedCopy, notes: [] };
  if (ownRecord !== undefined && ownRecord.status !== "waiting")
    return { record: ownRecord, file: null, notes: [] };
  const otherRecords = records.filter((record) => record !== ownRecord);
  for (const other of otherRecords) {
    const adopted = await adoptTaskIfVisible(deps, other, signal, deadline);
    if (adopted !== null) return { record: adopted, file: null, notes: [] };
  }
  // A request that was never sent gets the file name of the newest call.
  if (ownRecord !== undefined) {
    return {
      record: { ...ownRecord, fileName: prepared.fileName, fileToReplace: null },
      file: null,
      notes: [],
    };
  }
  return { record: newRecord, file: null, notes: describeOtherKeys(otherRecords) };
}

/** Returns notes about records of this request under other API keys. */
function describeOtherKeys(others: readonly RequestRecord[]): string[] {
  if (others.every(({ status }) => status === "waiting")) return [];
  return others.some(({ taskId }) => taskId !== null)
    ? [
        "The ledger holds an earlier attempt at this under another API key; this account does not know it, so this call made a task of its own.",
      ]
    : [
        "The ledger holds an earlier attempt at this under another API key, whose answer was never seen. If that key is of the same account, this is the very task that it made, paid for once; if not, this call made a task of its own.",
      ];
}

/** Finds the first record whose audio is on this machine. */
async function findSavedAmong(
  deps: RequestDeps,
  records: readonly RequestRecord[],
  fileName: string | null,
): Promise<{ readonly record: RequestRecord; readonly file: SavedFile } | null> {
  for (const record of records) {
    const file = await findSaved(deps, record, fileName);
    if (file?.matchesFormat === true) return { record, file };
  }
  return null;
}

/**
 * Adopts a task that was first recorded under another API key: queries the task, and returns this API key's record of
 * the task. If this API key has no record yet, drafts one without storing it. The other key's record stays unchanged.
 * The budget counts the task once, because both records name the same task.
 *
 * @throws AudioError `not_found` if the task belongs to another account, and errors of the query
 */
async function adoptTask(
  deps: RequestDeps,
  other: RequestRecord,
  taskId: string,
  signal: AbortSignal,
  deadline: Deadline | undefined,
): Promise<RequestRecord> {
  const { ledger, clock } = deps;
  const options = deadline === undefined ? {} : { deadline };
  const task = await fetchTask(deps, taskId, signal, options);
  const observed = { kind: "observed", attempt: other.attempt, task, atMs: clock.wallMs() } as const;
  const { apiKeyId } = ledger.identity;
  const copy = {
    ...other,
    apiKeyId,
    recordId: deriveRecordId(other.requestFingerprint, apiKeyId),
    revision: 0,
  };
  const ownRecord = await ledger.get(copy.recordId);
  return ownRecord === null
    ? applyEvent(copy, observed)
    : ((await ledger.apply(ownRecord, observed)) ?? copy);
}

/**
 * Adopts the task if the service shows it to this key. Returns `null` if the service does not show the task, because it
 * belongs to another account.
 */
export async function adoptTaskIfVisible(
  deps: RequestDeps,
  other: RequestRecord,
  signal: AbortSignal,
  deadline: Deadline | undefined,
): Promise<RequestRecord | null> {
  const { taskId } = other;
  if (taskId === null) return null;
  try {
    return await adoptTask(deps, other, taskId, signal, deadline);
  } catch (error) {
    if (error instanceof AudioError && NOT_VISIBLE_CODES.has(error.code)) return null;
    throw error;
  }
}

const NOT_VISIBLE_CODES: ReadonlySet<AudioError["code"]> = new Set(["not_found", "purchase_required"]);

/**
 * Checks the form of a task id.
 *
 * @throws AudioError `invalid_request`
 */
export function assertTaskId(taskId: string): void {
  if (/^nar_/.test(taskId)) {
    throw new AudioError("invalid_request", "That is the id of a narration, not of a task.", {
      remedy: `Call narrate with narration_id ${taskId}: it says how it stands, and where its file is; with file_name it is saved under that name, too, free.`,
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
 * Finds the record of a task id or a handle. For a task id, prefers this key's record, then a record of another key
 * whose audio is on this machine. Otherwise adopts the task of another key's record.
 *
 * @returns `null` if the ledger does not know the task
 * @throws AudioError `not_found` for an unknown handle or another account's task
 */
export async function resolveRecordOfTask(
  deps: RequestDeps,
  taskIdOrHandle: string,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<RequestRecord | null> {
  const namedRecordId = parseRequestHandle(taskIdOrHandle);
  if (namedRecordId !== undefined) {
    const record = await deps.ledger.get(namedRecordId);
    if (record !== null) return record;
    // A handle is not an id of the service, so querying the service would be pointless.
    throw new AudioError("not_found", `No request of this API key has the handle ${taskIdOrHandle}.`, {
      remedy:
        "list_tasks shows the requests. One that was sent under an earlier API key is resolved by repeating its generate_audio call, which does not pay twice for a key of the same account.",
    });
  }
  const records = await deps.ledger.findByTask(taskIdOrHandle);
  const ownRecord = records.find(({ apiKeyId }) => apiKeyId === deps.ledger.identity.apiKeyId);
  if (ownRecord !== undefined) return ownRecord;
  const savedCopy = await findSavedAmong(deps, records, null);
  if (savedCopy !== null) return savedCopy.record;
  for (const other of records) {
    // Skip a record without a task. In this case, the requested task id belongs to an earlier attempt that failed.
    if (other.taskId !== null) return await adoptTask(deps, other, other.taskId, signal, deadline);
  }
  return null;
}

/** The note for a caller that uses the task id of a failed earlier attempt. */
export function describeEarlierTask(
  { taskId, earlierTaskIds }: RequestRecord,
  requestedTaskId: string,
): string[] {
  if (!earlierTaskIds.includes(requestedTaskId)) return [];
  const again = taskId === null ? "" : `, as task ${taskId}`;
  return [
    `Task ${requestedTaskId} failed and was refunded; the same request was tried again by itself${again}.`,
  ];
}
