/** Owns what the ledger remembers of one request: its schema, version and status words; knows no database. */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../contract/audio-format.ts";
import { billingSchema } from "../contract/audio-task.ts";

export const RECORD_VERSION = 1;

/**
 * `waiting`: claimed, nothing sent yet. `unresolved`: a create was sent and its answer never seen.
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

/** One copy of the audio on one machine: `place` is machine and output folder, so that a store can be shared. */
const savedFileSchema = z.object({
  place: z.string(),
  path: z.string(),
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
  savedAtMs: z.number(),
  /** False for bytes that do not look like their format: kept as `.bin`, reported, never handed out as audio. */
  isSound: z.boolean(),
});
export type SavedFile = z.infer<typeof savedFileSchema>;

export const taskRecordSchema = z.object({
  version: z.literal(RECORD_VERSION),
  recordId: z.string(),
  /** Same input and take at one origin, whatever the account. */
  workId: z.string(),
  origin: z.string(),
  /** Keyed hash of the API key, never the key. */
  fingerprint: z.string(),
  /** Canonical AudioInput, the exact bytes that are hashed and sent; `null` for a task made elsewhere. */
  input: z.string().nullable(),
  take: z.int().positive().nullable(),
  attempt: z.int().positive(),
  idempotencyKey: z.string().nullable(),
  status: z.enum(RECORD_STATUSES),
  taskId: z.string().nullable(),
  /** The service answered 404 for a task id that it had given us. */
  isGone: z.boolean(),
  billing: billingSchema.nullable(),
  audioSeconds: z.number().positive().nullable(),
  output: z
    .object({
      format: z.enum(OUTPUT_FORMATS),
      sampleRateHz: z.literal(SAMPLE_RATES),
      durationSeconds: z.number().positive(),
    })
    .nullable(),
  /** Of the task, when it failed; already cleaned. */
  taskError: z.object({ code: z.string(), message: z.string() }).nullable(),
  fileName: z.string().nullable(),
  files: z.array(savedFileSchema),
  createdAtMs: z.number(),
  sentAtMs: z.number().nullable(),
  acceptedAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
  polledAtMs: z.number().nullable(),
});
export type TaskRecord = z.infer<typeof taskRecordSchema>;
