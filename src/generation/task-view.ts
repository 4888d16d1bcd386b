/** What a use case hands to its tool: a task as one call sees it. */
import type { OutputFormat } from "../contract/audio-format.ts";
import type { Billing, TaskStatus } from "../contract/audio-task.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { TaskRecord } from "../ledger/record.ts";
import { formatOf } from "./saved-files.ts";

/** Audio on disk, verified when it was saved. */
export interface SavedAudio {
  readonly path: string;
  readonly format: OutputFormat;
  readonly sampleRateHz: number;
  readonly durationSeconds: number | null;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface TaskView {
  readonly taskId: string | null;
  readonly status: "waiting" | TaskStatus;
  readonly take: number | null;
  readonly idempotencyKey: string | null;
  /** This call attached to an existing task: nothing new was reserved by it. */
  readonly replayed: boolean;
  readonly billing: Billing | null;
  readonly audioSeconds: number | null;
  readonly audio: SavedAudio | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What is going on with a task that has not come to its file yet, in one sentence. */
  readonly activity: string | null;
  /** Things worth saying beside the usual, in whole sentences. */
  readonly notes: readonly string[];
}

export function savedAudio(record: TaskRecord, file: SavedFile): SavedAudio {
  const { format, sampleRateHz } = formatOf(record);
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

/** A record as a call sees it; a claim not answered yet is `waiting`, whether it was sent or not. */
export function viewOf(record: TaskRecord, facts: ViewFacts): TaskView {
  return {
    taskId: record.taskId,
    status: record.status === "unresolved" ? "waiting" : record.status,
    take: record.take,
    idempotencyKey: record.idempotencyKey,
    replayed: facts.replayed,
    billing: record.billing,
    audioSeconds: record.audioSeconds,
    audio: facts.file == null ? null : savedAudio(record, facts.file),
    error: record.taskError,
    activity: facts.activity ?? null,
    notes: facts.notes ?? [],
  };
}
