/** Pure state machine of records. `applyEvent` is the only code that changes what a stored record says of its task. */
import type { ObservedTask } from "../api/parse-task.ts";
import { isRunningStatus } from "../contract/audio-task.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { FileToReplace, SavedFile } from "../files/saved-file.ts";
import { RECOVERY_TIMEOUT_MS } from "./durations.ts";
import { deriveIdempotencyKey } from "./identity.ts";
import { isRefunded, type RequestRecord } from "./record.ts";
import type { StoredError } from "./stored-error.ts";

/**
 * The events of a record. An event about a submission or a task names the attempt, the send or the task. A late event
 * from a suspended process therefore does not affect a newer attempt or send.
 */
export type RequestEvent =
  /**
   * A submission is about to be sent. The event is written before the send. If the process crashes, the record
   * therefore shows that the answer is unknown.
   */
  | {
      readonly kind: "send_started";
      readonly attempt: number;
      readonly sendId: string;
      readonly atMs: number;
    }
  /** The send certainly created no task. */
  | { readonly kind: "not_accepted"; readonly sendId: string }
  /**
   * The request was not sent, or the service did not accept it. It is not sent again automatically. Calls report
   * `error` as the reason.
   */
  | { readonly kind: "refused"; readonly error: StoredError; readonly atMs: number }
  /** The service reported the status of this attempt's task. */
  | {
      readonly kind: "observed";
      readonly attempt: number;
      readonly task: ObservedTask;
      readonly atMs: number;
    }
  /** The service no longer knows the task. */
  | { readonly kind: "task_vanished"; readonly taskId: string }
  /** The service first reported success, and then reported that the audio is not ready. */
  | { readonly kind: "result_revoked"; readonly taskId: string; readonly atMs: number }
  | { readonly kind: "saved"; readonly file: SavedFile }
  | { readonly kind: "audio_found_too_large"; readonly taskId: string }
  /**
   * The attempt's task failed, and the request gets a new attempt. The MCP tasks of the failed attempt end with
   * `error`.
   */
  | {
      readonly kind: "attempt_begun";
      readonly failedAttempt: number;
      readonly error?: StoredError | undefined;
    }
  /** Sets the name of audio that is not saved yet, and the file that this audio replaces. */
  | {
      readonly kind: "file_named";
      readonly fileName: string | null;
      readonly fileToReplace: FileToReplace | null;
    }
  /** Saved audio is about to be copied to another name. The copy will replace the file that has this name now. */
  | { readonly kind: "replacement_planned"; readonly fileToReplace: FileToReplace }
  /** A user requested a narration's part directly, so lists show it from now on. */
  | { readonly kind: "listed" };

/** The fields of a record whose attempt was not sent yet. */
export const UNSENT_ATTEMPT = {
  status: "waiting",
  refusal: null,
  sendId: null,
  hasUnresolvedEarlierSend: false,
  taskId: null,
  isGone: false,
  isTooLarge: false,
  billing: null,
  audioSeconds: null,
  output: null,
  taskError: null,
  sentAtMs: null,
  acceptedAtMs: null,
  finishedAtMs: null,
  polledAtMs: null,
} as const satisfies Partial<RequestRecord>;

/** Returns the record as if its attempt had never been sent. */
export function withoutSend(record: RequestRecord): RequestRecord {
  const spend = deriveEarlierSpend(record, record.spend?.atMs ?? record.createdAtMs);
  return { ...record, ...UNSENT_ATTEMPT, spend };
}

const STATUS_RANK = { queued: 0, processing: 1, succeeded: 2, failed: 2 } as const;

/** Returns the record after an event, or the same object if the event changes nothing. */
export function applyEvent(record: RequestRecord, event: RequestEvent): RequestRecord {
  switch (event.kind) {
    case "send_started":
      return applySendStarted(record, event);
    case "not_accepted":
      return applyNotAccepted(record, event);
    case "refused":
      return record.status === "waiting"
        ? { ...record, refusal: { error: event.error, atMs: event.atMs } }
        : record;
    case "observed":
      return applyObserved(record, event);
    case "task_vanished":
      return record.taskId === event.taskId && !record.isGone ? { ...record, isGone: true } : record;
    case "result_revoked": {
      const isRevocable = record.taskId === event.taskId && record.status === "succeeded";
      if (!isRevocable || record.files.length > 0) return record;
      const reopened = { ...record, status: "processing" as const, finishedAtMs: null };
      return {
        ...reopened,
        polledAtMs: event.atMs,
        spend: deriveReservation(record, record.spend?.atMs ?? event.atMs),
      };
    }
    case "saved":
      return applySaved(record, event.file);
    case "audio_found_too_large":
      return record.taskId === event.taskId && !record.isTooLarge ? { ...record, isTooLarge: true } : record;
    case "attempt_begun":
      return applyAttemptBegun(record, event);
    case "listed":
      return record.isListed ? record : { ...record, isListed: true };
    case "file_named":
      return withFileName(record, event);
    case "replacement_planned":
      return { ...record, fileToReplace: event.fileToReplace };
  }
}

/**
 * Returns the spend of a running or unresolved attempt; `null` for a task created outside this ledger, because this
 * ledger did not cause its cost.
 */
function deriveReservation(record: RequestRecord, atMs: number): RequestRecord["spend"] {
  return record.input === null ? null : { credits: RESERVED_CREDITS + record.earlierCredits, atMs };
}

function applySendStarted(
  record: RequestRecord,
  event: RequestEvent & { kind: "send_started" },
): RequestRecord {
  const mayBeSent = record.status === "waiting" || record.status === "unresolved";
  if (!mayBeSent || record.attempt !== event.attempt || record.sendId === event.sendId) return record;
  return {
    ...record,
    status: "unresolved",
    refusal: null,
    sendId: event.sendId,
    // If the record is already `unresolved`, an earlier send of this attempt has no answer. The earlier send may have
    // created the task, even if the new send is refused.
    hasUnresolvedEarlierSend: record.hasUnresolvedEarlierSend || record.status === "unresolved",
    sentAtMs: event.atMs,
    spend: deriveReservation(record, event.atMs),
  };
}

function applyNotAccepted(
  record: RequestRecord,
  event: RequestEvent & { kind: "not_accepted" },
): RequestRecord {
  if (record.status !== "unresolved" || record.sendId !== event.sendId || record.hasUnresolvedEarlierSend)
    return record;
  return withoutSend(record);
}

const deriveEarlierSpend = (
  { earlierCredits: credits }: RequestRecord,
  atMs: number,
): RequestRecord["spend"] => (credits === 0 ? null : { credits, atMs });

function applyObserved(record: RequestRecord, event: RequestEvent & { kind: "observed" }): RequestRecord {
  const { task, atMs } = event;
  const isOther = record.taskId !== null && record.taskId !== task.taskId;
  if (record.attempt !== event.attempt || isOther) return record;
  const observed = { ...record, isGone: false, polledAtMs: atMs };
  const hadEnded = record.status === "succeeded" || record.status === "failed";
  // Keep the record's status if the answer has an earlier status. For example, a delayed `queued` may follow
  // `processing`.
  const isBackwards = isRunningStatus(record.status) && STATUS_RANK[task.status] < STATUS_RANK[record.status];
  if (record.taskId !== null && (hadEnded || isBackwards)) return observed;
  const hasEnded = task.status === "succeeded" || task.status === "failed";
  // The spend of a waiting record contains no reservation, only the cost of earlier attempts.
  const reserved = record.status === "waiting" ? null : record.spend;
  return {
    ...observed,
    status: task.status,
    refusal: null,
    sendId: null,
    hasUnresolvedEarlierSend: false,
    taskId: task.taskId,
    billing: task.billing,
    audioSeconds: task.audioSeconds,
    output: task.output,
    taskError: task.error,
    acceptedAtMs: record.acceptedAtMs ?? atMs,
    finishedAtMs: hasEnded ? atMs : null,
    spend: hasEnded
      ? deriveCharge({ ...record, spend: reserved }, task, atMs)
      : (reserved ?? deriveReservation(record, atMs)),
  };
}

/**
 * Returns the charge of a task that has ended: 0 for a refunded failure, otherwise the charge that the service stated.
 * If the service stated none, the full reservation counts.
 */
function deriveChargedCredits(task: ObservedTask): number {
  if (task.status === "failed" && isRefunded(task)) return 0;
  return task.billing?.charged_credits ?? RESERVED_CREDITS;
}

function deriveCharge(record: RequestRecord, task: ObservedTask, nowWallMs: number): RequestRecord["spend"] {
  if (record.input === null) return null;
  const credits = deriveChargedCredits(task) + record.earlierCredits;
  if (credits === 0) return null;
  const reservedAtMs = record.spend?.atMs ?? nowWallMs;
  return { credits, atMs: Math.max(reservedAtMs, Math.min(nowWallMs, reservedAtMs + RECOVERY_TIMEOUT_MS)) };
}

function applySaved(record: RequestRecord, file: SavedFile): RequestRecord {
  const otherFiles = record.files.filter(({ path, sha256 }) => path !== file.path || sha256 !== file.sha256);
  return { ...record, files: [...otherFiles, file], fileToReplace: null };
}

function withFileName(
  record: RequestRecord,
  { fileName, fileToReplace }: RequestEvent & { kind: "file_named" },
): RequestRecord {
  const isChanged =
    record.fileName !== fileName ||
    record.fileToReplace?.movedTo !== fileToReplace?.movedTo ||
    record.fileToReplace?.sha256 !== fileToReplace?.sha256;
  return record.files.length === 0 && isChanged ? { ...record, fileName, fileToReplace } : record;
}

function applyAttemptBegun(
  record: RequestRecord,
  event: RequestEvent & { kind: "attempt_begun" },
): RequestRecord {
  const { input, take, attempt, status, taskId, earlierTaskIds } = record;
  if (input === null || take === null || status !== "failed" || attempt !== event.failedAttempt)
    return record;
  return {
    ...record,
    ...UNSENT_ATTEMPT,
    attempt: attempt + 1,
    idempotencyKey: deriveIdempotencyKey(input, take, attempt + 1),
    earlierTaskIds: taskId === null ? earlierTaskIds : [...earlierTaskIds, taskId],
    earlierCredits: record.spend?.credits ?? 0,
  };
}
