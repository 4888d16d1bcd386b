/** The view of a task that a use case returns to its tool. */
import type { OutputFormat } from "../../contract/audio-format.ts";
import type { Billing, TaskStatus } from "../../contract/audio-task.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { toRequestHandle } from "./request-handle.ts";
import { parseStoredFormat, parseStoredInput } from "./stored-input.ts";

/** Audio on disk. */
export interface SavedAudio {
  readonly path: string;
  readonly format: OutputFormat;
  readonly sampleRateHz: number;
  readonly durationSeconds: number | null;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface RequestView {
  readonly taskId: string | null;
  /** The handle is set even while there is no task id; `null` for a task that is not in this ledger. */
  readonly requestHandle: string | null;
  readonly status: "waiting" | TaskStatus;
  /** Whether the submission of a `waiting` task was sent and has no response yet. */
  readonly isUnresolved: boolean;
  readonly take: number | null;
  /** Id of a preset voice, or a description of the voice source; `null` if unknown. */
  readonly voice: string | null;
  readonly idempotencyKey: string | null;
  /** Whether this call found an existing task and reserved nothing new. */
  readonly replayed: boolean;
  readonly billing: Billing | null;
  readonly audioSeconds: number | null;
  readonly audio: SavedAudio | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** One sentence about an unfinished task; `null` if the status is enough. */
  readonly activity: string | null;
  /** Additional sentences for the result. */
  readonly notes: readonly string[];
}

/**
 * Describes a saved file of a record. `durationSeconds` is the duration that the service states; `null` if it states
 * none.
 */
export function buildSavedAudio(record: RequestRecord, file: SavedFile): SavedAudio {
  const { format, sampleRateHz } = parseStoredFormat(record);
  return {
    path: file.path,
    format,
    sampleRateHz,
    durationSeconds: record.output?.durationSeconds ?? record.audioSeconds,
    sizeBytes: file.sizeBytes,
    sha256: file.sha256,
  };
}

export interface ViewFacts {
  readonly file?: SavedFile | null;
  readonly replayed: boolean;
  readonly activity?: string | null;
  readonly notes?: readonly string[];
}

/** Builds the view of a record. Reports `unresolved` as `waiting`. */
export function buildRequestView(record: RequestRecord, facts: ViewFacts): RequestView {
  return {
    taskId: record.taskId,
    requestHandle: toRequestHandle(record),
    status: record.status === "unresolved" ? "waiting" : record.status,
    isUnresolved: record.status === "unresolved",
    take: record.take,
    voice: parseStoredInput(record)?.voice ?? null,
    idempotencyKey: record.idempotencyKey,
    replayed: facts.replayed,
    billing: record.billing,
    audioSeconds: record.audioSeconds,
    audio: facts.file == null ? null : buildSavedAudio(record, facts.file),
    error: record.taskError,
    activity: facts.activity ?? null,
    notes: facts.notes ?? [],
  };
}
