/** What a use case hands to its tool: a task as one call sees it. */
import type { OutputFormat } from "../contract/audio-format.ts";
import type { Billing, TaskStatus } from "../contract/audio-task.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { TaskRecord } from "../ledger/record.ts";
import { handleOf } from "./handle.ts";
import { formatOf, storedInput } from "./saved-files.ts";

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
  /** Names the record, also while it has no task id; `null` for a task that this ledger does not hold. */
  readonly handle: string | null;
  readonly status: "waiting" | TaskStatus;
  /** While it is `waiting`: a create was sent, and its answer not seen. */
  readonly wasSent: boolean;
  readonly take: number | null;
  /** A preset's id, or in words what stands in for one; `null` where that is not known. */
  readonly voice: string | null;
  readonly idempotencyKey: string | null;
  /** This call attached to an existing task: nothing new was reserved by it. */
  readonly replayed: boolean;
  readonly billing: Billing | null;
  readonly audioSeconds: number | null;
  readonly audio: SavedAudio | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What is going on with a task that has not come to its file yet, in one sentence; `null`: what its status says. */
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
    handle: handleOf(record),
    status: record.status === "unresolved" ? "waiting" : record.status,
    wasSent: record.status === "unresolved",
    take: record.take,
    voice: storedInput(record)?.voice ?? null,
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
