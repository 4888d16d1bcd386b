/** The schema of a record, and the values that are derived from a record alone. A record stores one request. */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../contract/audio-format.ts";
import { billingSchema, isRunningStatus, TASK_STATUSES } from "../contract/audio-task.ts";
import type { FileToReplace, SavedFile } from "../files/saved-file.ts";
import {
  deriveRequestFingerprint,
  toEarlierTaskLookupKey,
  toOriginalRequestLookupKey,
  toPathLookupKey,
  toRequestLookupKey,
  toTaskLookupKey,
} from "./identity.ts";
import { storedErrorSchema } from "./stored-error.ts";

/**
 * `waiting`: the record is stored, and nothing was sent. `unresolved`: a submission was sent or is about to be sent,
 * and its answer is unknown. All others are statuses of the service.
 */
export const RECORD_STATUSES = ["waiting", "unresolved", ...TASK_STATUSES] as const;
export type RecordStatus = (typeof RECORD_STATUSES)[number];

/** One saved copy of the audio. Size and hash prove, on any machine, that a file is this audio. */
const savedFileSchema: z.ZodType<SavedFile> = z.looseObject({
  /** The absolute real path. */
  path: z.string(),
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
  savedAtMs: z.number(),
  /**
   * False if the bytes do not match the audio's format. Such a file is saved as `.bin`, reported, and never delivered
   * as audio.
   */
  matchesFormat: z.boolean(),
});

const fileToReplaceSchema: z.ZodType<FileToReplace> = z.looseObject({
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
  name: z.string(),
  movedTo: z.string(),
});

export const requestRecordSchema = z.looseObject({
  /** Grows with every write. A write based on an older revision is refused. */
  revision: z.int().nonnegative(),
  recordId: z.string(),
  /** Hash of input, take and base URL. Equal for all API keys. */
  requestFingerprint: z.string(),
  apiKeyId: z.string(),
  baseUrl: z.string(),
  /** Canonical AudioInput, the exact bytes that are hashed and sent; `null` for a task created outside this ledger. */
  input: z.string().nullable(),
  /** The prompt as the user gave it, if words were respelled for the input; otherwise `null`. */
  originalPrompt: z.string().nullable().default(null),
  take: z.int().positive().nullable(),
  attempt: z.int().positive(),
  idempotencyKey: z.string().nullable(),
  status: z.enum(RECORD_STATUSES),
  /** Why a waiting request is not sent automatically; `null` if it was not refused. */
  refusal: z.object({ error: storedErrorSchema, atMs: z.number() }).nullable().default(null),
  /** The id of the newest send of this attempt. A response to an older send does not apply to the newest one. */
  sendId: z.string().nullable(),
  /** Whether an earlier send of this attempt may have reached the service. */
  hasUnresolvedEarlierSend: z.boolean(),
  taskId: z.string().nullable(),
  /** Task ids of earlier, failed attempts, so that a caller with such an id still finds the record. */
  earlierTaskIds: z.array(z.string()).default([]),
  /** Whether the service answered 404 twice for a task id that it had issued. */
  isGone: z.boolean(),
  /** Whether the audio exceeds the size limit. If so, only a new call tries the download again. */
  isTooLarge: z.boolean(),
  billing: billingSchema.nullable(),
  audioSeconds: z.number().positive().nullable(),
  output: z
    .object({
      format: z.enum(OUTPUT_FORMATS),
      sampleRateHz: z.literal(SAMPLE_RATES),
      durationSeconds: z.number().positive(),
    })
    .nullable(),
  /** The error of a failed task, from which secrets and control characters were already removed. */
  taskError: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** The credits that the budget counts for all attempts of this record. `atMs` is wall-clock time. */
  spend: z.object({ credits: z.number().nonnegative(), atMs: z.number() }).nullable(),
  /** The credits that the service charged for earlier attempts although they failed. */
  earlierCredits: z.number().nonnegative(),
  fileName: z.string().nullable(),
  /** Whether lists show the record. Lists omit a part of a narration until a user requests the part directly. */
  isListed: z.boolean().default(true),
  /** The existing file that this audio will replace; `null` if no replacement is planned. */
  fileToReplace: fileToReplaceSchema.nullable().default(null),
  files: z.array(savedFileSchema),
  createdAtMs: z.number(),
  sentAtMs: z.number().nullable(),
  acceptedAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
  polledAtMs: z.number().nullable(),
});
export type RequestRecord = z.infer<typeof requestRecordSchema>;

/** Whether any process may still do something for a record: watch an accepted task, or save audio. */
export function isResumable(record: RequestRecord): boolean {
  if (record.isGone || record.isTooLarge) return false;
  switch (record.status) {
    case "queued":
    case "processing":
      return true;
    case "succeeded":
      return record.files.length === 0;
    // An unresolved submission can be resolved only by sending it again, and only a new call sends it again.
    case "unresolved":
    case "waiting":
    case "failed":
      return false;
  }
}

/** Whether a failed task was refunded. Without readable billing, the task counts as not refunded. */
export const isRefunded = ({ billing }: Pick<RequestRecord, "billing">): boolean =>
  billing !== null && (billing.charged_credits ?? 0) === 0;

/** Whether a record with this status may be resumable; see {@link isResumable}. */
export const isResumableStatus = (status: RecordStatus): boolean =>
  isRunningStatus(status) || status === "succeeded";

/**
 * Why a record holds one of the account's two concurrency slots. `unresolved`: its submission got no response yet.
 * `accepted`: its task runs.
 */
export type ConcurrencySlotState = "unresolved" | "accepted";

/**
 * Returns why a record holds a concurrency slot; `null` if the record holds none. Does not consider whether the slot
 * has expired.
 */
export function deriveConcurrencySlotState(record: RequestRecord): ConcurrencySlotState | null {
  if (record.status === "unresolved") return "unresolved";
  return isRunningStatus(record.status) && !record.isGone ? "accepted" : null;
}

/** A record as stored: its JSON value and the columns derived from it. Both are written together. */
export interface RecordRow {
  readonly apiKeyId: string;
  readonly recordId: string;
  readonly requestFingerprint: string;
  readonly baseUrl: string;
  readonly status: RecordStatus;
  readonly isResumable: boolean;
  readonly isListed: boolean;
  readonly concurrencySlotState: ConcurrencySlotState | null;
  readonly spend: { readonly credits: number; readonly atMs: number } | null;
  /**
   * The wall-clock time of the refusal. The record is deleted 30 days after this time. `null` if the request was not
   * refused, or if the record must be kept.
   */
  readonly refusedAtMs: number | null;
  /** The hashed lookup keys by which the record is found: those of its request, its tasks and its files. */
  readonly lookupKeys: readonly string[];
  readonly createdAtMs: number;
  readonly revision: number;
  readonly recordJson: string;
}

/** Returns the canonical input with the prompt as the user gave it. */
export const restoreOriginalInput = (input: string, originalPrompt: string | null): string =>
  originalPrompt === null ? input : JSON.stringify({ ...Object(JSON.parse(input)), prompt: originalPrompt });

/**
 * Returns a list with the lookup key of the request's original text, by which the record is found. The list is empty if
 * no words were respelled.
 */
function deriveOriginalRequestLookupKeys({ baseUrl, input, originalPrompt, take }: RequestRecord): string[] {
  if (input === null || originalPrompt === null || take === null) return [];
  return [
    toOriginalRequestLookupKey(
      deriveRequestFingerprint(baseUrl, restoreOriginalInput(input, originalPrompt), take),
    ),
  ];
}

/**
 * Converts a record to the row that the store writes. Does not increase the revision, because the caller has already
 * set it.
 */
export function toRow(record: RequestRecord): RecordRow {
  const {
    apiKeyId,
    recordId,
    requestFingerprint,
    baseUrl,
    taskId,
    status,
    spend,
    createdAtMs,
    revision,
    isListed,
  } = record;
  return {
    apiKeyId,
    recordId,
    requestFingerprint,
    baseUrl,
    status,
    isResumable: isResumable(record),
    isListed,
    concurrencySlotState: deriveConcurrencySlotState(record),
    spend,
    refusedAtMs: spend === null && record.earlierTaskIds.length === 0 ? (record.refusal?.atMs ?? null) : null,
    lookupKeys: [
      ...new Set([
        toRequestLookupKey(requestFingerprint),
        ...deriveOriginalRequestLookupKeys(record),
        ...(taskId === null ? [] : [toTaskLookupKey(baseUrl, taskId)]),
        ...record.files.map(({ path }) => toPathLookupKey(path)),
        ...record.earlierTaskIds.map((earlier) => toEarlierTaskLookupKey(baseUrl, earlier)),
      ]),
    ],
    createdAtMs,
    revision,
    recordJson: JSON.stringify(record),
  };
}
