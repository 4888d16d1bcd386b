/** Owns the use case behind `generate_audio`: one request, one task, one file; knows no tool and no wording. */
import { quoteServiceText } from "../api/service-text.ts";
import type { AudioInput } from "../contract/audio-input.ts";
import { AudioError } from "../errors.ts";
import { checkFileName } from "../files/file-name.ts";
import { nameAgain, precheckFileName } from "../files/save-audio.ts";
import type { SavedFile, TaskRecord } from "../ledger/record.ts";
import { canonicalInput } from "./canonical-input.ts";
import type { GenerationDeps } from "./deps.ts";
import { findRecordOfWork, newRecord, type Work } from "./find-record.ts";
import { goneError } from "./gone.ts";
import type { Job } from "./job.ts";
import { describeTrouble } from "./job-messages.ts";
import type { Jobs } from "./jobs.ts";
import { findSaved, unsoundError, wantedName } from "./saved-files.ts";
import { type TaskView, viewOf } from "./task-view.ts";
import { type Call, throwIfUnreachable, waitForJob } from "./wait-for-job.ts";
import { unansweredInTime, withinWindow } from "./within-window.ts";

export interface GenerateRequest {
  readonly input: AudioInput;
  readonly take: number;
  readonly fileName: string | null;
}

/** A job left for reasons of its own (a finishing one that a create had joined too late) is started anew. */
const MOST_STARTS = 3;

/**
 * Runs a request to its saved file, or to a handle when the call's window closes first.
 *
 * @throws AudioError every refusal and failure; a task that failed while this call watched is `task_failed`
 */
export async function generate(
  deps: GenerationDeps,
  jobs: Jobs,
  request: GenerateRequest,
  call: Call,
): Promise<TaskView> {
  if (request.fileName !== null) checkFileName(request.fileName);
  const work: Work = {
    input: canonicalInput(request.input),
    take: request.take,
    fileName: request.fileName,
  };
  const fresh = newRecord(deps, work);
  const search = await withinWindow(call, deps.clock, async (signal) => ({
    found: await findRecordOfWork(deps, jobs, work, signal),
  }));
  if (search === null) throw unansweredInTime({ idempotencyKey: fresh.idempotencyKey ?? undefined });
  const { found } = search;
  const record = found?.record ?? fresh;
  const facts = { replayed: record.taskId !== null && record.status !== "failed", notes: found?.notes ?? [] };
  const saved = record.status === "succeeded" ? await findSaved(deps, record, work.fileName) : null;
  if (saved !== null) {
    if (!saved.isSound) throw unsoundError(record, saved);
    const named = await underName(deps, jobs, record, saved, work.fileName);
    return viewOf(record, { ...facts, file: named.file, notes: [...facts.notes, ...named.notes] });
  }
  if (record.isGone) throw goneError(record);
  await deps.folder.ensureWritable();
  if (record.taskId === null && work.fileName !== null) await refuseTakenName(deps, record, work.fileName);
  return await runJob(deps, jobs, record, work, call, facts);
}

async function refuseTakenName(deps: GenerationDeps, record: TaskRecord, fileName: string): Promise<void> {
  const name = wantedName(record, fileName);
  if ((await precheckFileName(deps.folder, name)) === "free") return;
  throw new AudioError(
    "file_exists",
    `The output folder already holds a file named ${name}. Nothing was sent.`,
    {
      idempotencyKey: record.idempotencyKey ?? undefined,
      remedy:
        "Call again with another file_name, or with none; nothing was overwritten. If that file came from this very request, a call without file_name finds the same task, at no further cost.",
    },
  );
}

async function runJob(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  work: Work,
  call: Call,
  facts: { replayed: boolean; notes: readonly string[] },
): Promise<TaskView> {
  for (let starts = 0; starts < MOST_STARTS; starts += 1) {
    const { job, isNew } = jobs.start(record, "create");
    const end = await waitForJob(job, call, deps.clock);
    const replayed = facts.replayed || isReplay(job, isNew);
    switch (end?.kind) {
      case undefined:
        throwIfUnreachable(job, deps.clock);
        return viewOf(job.record, {
          replayed,
          notes: [...facts.notes, ...describeTrouble(job)],
          hold: job.hold,
        });
      case "saved": {
        const named = await underName(deps, jobs, end.record, end.file, work.fileName);
        const notes = [...facts.notes, ...named.notes];
        return viewOf(end.record, { replayed, file: named.file, notes });
      }
      case "failed":
        throw taskFailed(end.record);
      case "error":
        throw end.error;
      case "left":
        call.signal.throwIfAborted();
    }
  }
  throw new AudioError("timeout", "The request could not be started; this server may be stopping.", {
    retryable: true,
    idempotencyKey: record.idempotencyKey ?? undefined,
  });
}

/** Nothing new was reserved by this call when another call, or another process, had the create accepted. */
function isReplay(job: Job, isNew: boolean): boolean {
  if (job.record.taskId === null) return false;
  return !isNew || !job.hasCreated;
}

/** The service's words are quoted: they are data, whatever they ask for. */
function failureReason({ taskError }: TaskRecord): string {
  return taskError === null || taskError.message === ""
    ? "; the service gave no reason."
    : `. The service says: ${quoteServiceText(taskError.message)}`;
}

export function taskFailed(record: TaskRecord): AudioError {
  return new AudioError("task_failed", `Task ${record.taskId ?? "?"} failed${failureReason(record)}`, {
    taskId: record.taskId ?? undefined,
    idempotencyKey: record.idempotencyKey ?? undefined,
  });
}

/**
 * The saved audio under the name that this caller wants; a second name is recorded like the first. Where somebody
 * took the name that the audio was made for, the audio stays under the one that it found, and a note says so.
 */
export async function underName(
  deps: GenerationDeps,
  jobs: Jobs,
  record: TaskRecord,
  file: SavedFile,
  fileName: string | null,
): Promise<{ file: SavedFile; notes: readonly string[] }> {
  if (fileName === null) return { file, notes: [] };
  const name = wantedName(record, fileName);
  let named: SavedFile;
  try {
    named = await nameAgain(file, deps.folder, name);
  } catch (error) {
    const isTaken = error instanceof AudioError && error.code === "file_exists";
    if (!isTaken) throw error;
    const ids = { taskId: record.taskId ?? undefined, idempotencyKey: record.idempotencyKey ?? undefined };
    if (record.fileName !== fileName) throw error.withIds(ids);
    return { file, notes: [`Another file has the name ${name} by now; it was left alone.`] };
  }
  if (named.path === file.path) return { file, notes: [] };
  await jobs.book.update(record.recordId, (before) => ({
    ...before,
    files: [...before.files, named],
  }));
  return { file: named, notes: [] };
}
