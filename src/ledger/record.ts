/** The record of one request: its schema, and values derived from it. */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../contract/audio-format.ts";
import { billingSchema } from "../contract/audio-task.ts";
import type { Replaced, SavedFile } from "../files/saved-file.ts";
import {
  earlierTaskName,
  pathName,
  taskName,
  workId as workIdOf,
  workName,
  writtenName,
} from "./identity.ts";
import { storedErrorSchema } from "./stored-error.ts";

/**
 * `waiting`: claimed, nothing sent. `unresolved`: a create was sent, or is about to be, and its answer not seen.
 * The other four are the service's own.
 */
export const RECORD_STATUSES = [
  "waiting",
  "unresolved",
  "queued",
  "processing",
  "succeeded",
  "failed",
] as const;
export type RecordStatus = (typeof RECORD_STATUSES)[number];

/** One saved copy of the audio. Its size and hash alone decide whether it is the audio, on any machine. */
const savedFileSchema: z.ZodType<SavedFile> = z.looseObject({
  /** Absolute, with real path. */
  path: z.string(),
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
  savedAtMs: z.number(),
  /** False for bytes that do not look like their format: kept as `.bin`, reported, never handed out as audio. */
  matchesFormat: z.boolean(),
});

const replacedSchema: z.ZodType<Replaced> = z.looseObject({
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
  name: z.string(),
  movedTo: z.string(),
});

export const taskRecordSchema = z.looseObject({
  /** Grows with every write; a write of an older one is refused. */
  revision: z.int().nonnegative(),
  recordId: z.string(),
  /** Same input and take at one origin, whatever the account. */
  workId: z.string(),
  keyId: z.string(),
  origin: z.string(),
  /** Canonical AudioInput, the exact bytes that are hashed and sent; `null` for a task made elsewhere. */
  input: z.string().nullable(),
  /** The prompt as it was given, where words of it were respelled for the input; `null`: they are the same. */
  writtenPrompt: z.string().nullable().default(null),
  take: z.int().positive().nullable(),
  attempt: z.int().positive(),
  idempotencyKey: z.string().nullable(),
  status: z.enum(RECORD_STATUSES),
  /** Why a request that waits is not sent by itself; `null`: nothing has refused it. */
  refusal: z.object({ error: storedErrorSchema, atMs: z.number() }).nullable().default(null),
  /** The newest send of this attempt: the answer to an older one says nothing of it. */
  send: z.string().nullable(),
  /** An earlier send of this attempt may have reached the service. */
  mayHaveArrived: z.boolean(),
  taskId: z.string().nullable(),
  /** Task ids of earlier, failed attempts. A caller that holds one still finds the record by it. */
  earlierTaskIds: z.array(z.string()).default([]),
  /** The service answered 404, twice, for a task id that it had given us. */
  isGone: z.boolean(),
  /** The audio is larger than is taken: fetched again only when somebody asks for it. */
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
  /** The cleaned error of the task, when it failed. */
  taskError: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** The amount that the budget counts for this record, with a wall-clock date; includes earlier attempts. */
  spend: z.object({ credits: z.number().nonnegative(), atMs: z.number() }).nullable(),
  /** Charges of earlier attempts that failed. */
  earlierCredits: z.number().nonnegative(),
  fileName: z.string().nullable(),
  /** Where its audio belongs: among a person's files, or with the parts of narrations, which no list shows. */
  shelf: z.enum(["output", "parts"]).default("output"),
  /** The file that gives its name to this audio, from when the person asked for that until this audio is saved. */
  replaces: replacedSchema.nullable().default(null),
  files: z.array(savedFileSchema),
  createdAtMs: z.number(),
  sentAtMs: z.number().nullable(),
  acceptedAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
  polledAtMs: z.number().nullable(),
});
export type TaskRecord = z.infer<typeof taskRecordSchema>;

/** Whether a record leaves work that any process may take up: an accepted task to watch, or audio to save. */
export function isOpen(record: TaskRecord): boolean {
  if (record.isGone || record.isTooLarge) return false;
  switch (record.status) {
    case "queued":
    case "processing":
      return true;
    case "succeeded":
      return record.files.length === 0;
    // The outcome of an unanswered create is learnt only by sending it again, which needs a call that asks for it.
    case "unresolved":
    case "waiting":
    case "failed":
      return false;
  }
}

/** Whether a task that failed was refunded. A bill that cannot be read is no refund. */
export const isRefunded = ({ billing }: Pick<TaskRecord, "billing">): boolean =>
  billing !== null && (billing.charged_credits ?? 0) === 0;

/** Statuses that an open record can have; see {@link isOpen}. */
export const isOpenStatus = (status: RecordStatus): boolean =>
  status === "queued" || status === "processing" || status === "succeeded";

/** Why a record takes one of the account's two places in flight: a create not answered, or a task that runs. */
export type Flight = "sent" | "accepted";

export function flightOf(record: TaskRecord): Flight | null {
  if (record.status === "unresolved") return "sent";
  const isRunning = record.status === "queued" || record.status === "processing";
  return isRunning && !record.isGone ? "accepted" : null;
}

/** A record as the store keeps it: the value, and the columns that follow from it. Both are written together. */
export interface Row {
  readonly keyId: string;
  readonly recordId: string;
  readonly workId: string;
  readonly origin: string;
  readonly status: RecordStatus;
  readonly isOpen: boolean;
  /** Whether a person's lists show it. */
  readonly isListed: boolean;
  readonly flight: Flight | null;
  readonly spend: { readonly credits: number; readonly atMs: number } | null;
  /** When it was refused, by the wall clock; `null`: it holds something that has to be kept. */
  readonly refusedAtMs: number | null;
  /** Hashed names that the record is found by: its work, its tasks, its files. */
  readonly names: readonly string[];
  readonly createdAtMs: number;
  readonly revision: number;
  /** JSON. */
  readonly value: string;
}

/** The canonical input with the prompt as it was given. */
export const writtenInput = (input: string, writtenPrompt: string | null): string =>
  writtenPrompt === null ? input : JSON.stringify({ ...Object(JSON.parse(input)), prompt: writtenPrompt });

/** A respelled request is found by the text that was given, too. */
function writtenNames({ origin, input, writtenPrompt, take }: TaskRecord): string[] {
  if (input === null || writtenPrompt === null || take === null) return [];
  return [writtenName(workIdOf(origin, writtenInput(input, writtenPrompt), take))];
}

export function rowOf(record: TaskRecord): Row {
  const { keyId, recordId, workId, origin, taskId, status, spend, createdAtMs, revision, shelf } = record;
  return {
    keyId,
    recordId,
    workId,
    origin,
    status,
    isOpen: isOpen(record),
    isListed: shelf === "output",
    flight: flightOf(record),
    spend,
    refusedAtMs: spend === null && record.earlierTaskIds.length === 0 ? (record.refusal?.atMs ?? null) : null,
    names: [
      ...new Set([
        workName(workId),
        ...writtenNames(record),
        ...(taskId === null ? [] : [taskName(origin, taskId)]),
        ...record.files.map(({ path }) => pathName(path)),
        ...record.earlierTaskIds.map((earlier) => earlierTaskName(origin, earlier)),
      ]),
    ],
    createdAtMs,
    revision,
    value: JSON.stringify(record),
  };
}
