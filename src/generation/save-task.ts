/** Owns bringing a succeeded task's audio into the output folder, once a place (design 6.7); never creates or polls. */

import { downloadInto } from "../api/download.ts";
import { decideRead, pauseAfterBreakMs } from "../api/retry.ts";
import type { ContentResponse } from "../api/service.ts";
import { GENERATIONS_PATH } from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import { saveAudio } from "../files/save-audio.ts";
import type { SavedFile } from "../ledger/record.ts";
import type { ReadOptions } from "../limits/limits.ts";
import type { GenerationDeps } from "./deps.ts";
import { markGone } from "./gone.ts";
import type { Job } from "./job.ts";
import type { Leases } from "./leases.ts";
import { describeReadWait } from "./read-wait.ts";
import type { RecordBook } from "./record-book.ts";
import { findSaved, formatOf, wantedName } from "./saved-files.ts";

/** Larger audio is not taken (design 7): two minutes of 48 kHz wav are 11 MiB. */
const MAXIMUM_AUDIO_BYTES = 64 * 1024 * 1024;

/** One content request within the shared budget of reads; a 429 pauses everybody's and is waited out here. */
async function openContent(
  job: Job,
  deps: GenerationDeps,
  taskId: string,
  fromByte: number,
  signal: AbortSignal,
): Promise<ContentResponse> {
  const onWaiting: ReadOptions["onWaiting"] = (reason, waitMs) =>
    job.announce(describeReadWait(reason, waitMs));
  const giveUpAtMs = deps.clock.steadyMs() + deps.timing.recoveryMs;
  for (;;) {
    try {
      return await deps.limits.read(signal, () => deps.service.content(taskId, fromByte, signal), {
        onWaiting,
      });
    } catch (error) {
      if (!(error instanceof AudioError) || signal.aborted) throw error;
      const decision = decideRead(error, 1, deps.random);
      if (decision.kind !== "limited" || deps.clock.steadyMs() > giveUpAtMs) throw error;
      await deps.limits.pause("reads", decision.retryAfterSeconds);
    }
  }
}

async function downloadAndPublish(job: Job, deps: GenerationDeps, taskId: string): Promise<SavedFile> {
  const { record } = job;
  return saveAudio({
    folder: deps.folder,
    fileName: wantedName(record, record.fileName),
    // Found free before anything was sent; if somebody took it since, paid audio goes under the next free name.
    nameIsGiven: false,
    format: formatOf(record).format,
    clock: deps.clock,
    download: (sink) =>
      downloadInto(sink, (fromByte, signal) => openContent(job, deps, taskId, fromByte, signal), {
        maxBytes: MAXIMUM_AUDIO_BYTES,
        clock: deps.clock,
        signal: job.signal,
        pauseMs: (breaks, error) => pauseAfterBreakMs(error, breaks, deps.random) * deps.timing.scale,
      }),
  });
}

/** Audio too large for us can still be had: the remedy names the request that fetches it. */
const leftAtService = (deps: GenerationDeps, taskId: string, error: AudioError): AudioError =>
  new AudioError("too_large", error.message, {
    taskId,
    remedy: `The task and its audio stay at the service. Tell the user that any HTTP client can fetch it: GET ${deps.origin}${GENERATIONS_PATH}/${taskId}/content with the API key as bearer token. Shorter texts give smaller files.`,
  });

/**
 * Saves the job's audio here, unless it is here already; other processes of this place are waited for, so that
 * one download serves all of them. Breaks are retried until the recovery window ends.
 *
 * @throws AudioError `not_ready` (the service takes `succeeded` back: watch again), `disk_full`,
 *   `output_not_writable`, `too_large`, `not_found`, `invalid_api_key`, or the last failure
 */
export async function saveTask(
  job: Job,
  deps: GenerationDeps,
  book: RecordBook,
  leases: Leases,
): Promise<SavedFile> {
  const giveUpAtMs = deps.clock.steadyMs() + deps.timing.recoveryMs;
  const lease = `save:${deps.folder.place}:${job.record.recordId}`;
  for (let failures = 0; ; ) {
    const record = await book.get(job.record.recordId);
    if (record !== undefined) job.record = record;
    const existing = await findSaved(deps, job.record, job.record.fileName);
    if (existing !== null) return existing;
    if (!(await leases.take(lease))) {
      job.hold = { reason: "elsewhere", waitMs: deps.timing.followMs };
      await deps.clock.sleep(deps.timing.followMs, job.signal);
      continue;
    }
    try {
      return await saveOnce(job, deps, book);
    } catch (error) {
      if (job.signal.aborted || !(error instanceof AudioError)) throw error;
      failures += 1;
      const decision = decideRead(error, failures, deps.random);
      if (error.code === "not_found") throw await markGone(deps, book, job.record);
      const delayMs = "delayMs" in decision ? decision.delayMs * deps.timing.scale : null;
      if (delayMs === null || deps.clock.steadyMs() + delayMs > giveUpAtMs) throw error;
      job.lastError = error;
      job.announce(`${error.message} Trying again`);
      await deps.clock.sleep(delayMs, job.signal);
    } finally {
      await leases.release(lease);
    }
  }
}

async function saveOnce(job: Job, deps: GenerationDeps, book: RecordBook): Promise<SavedFile> {
  const { taskId, recordId } = job.record;
  if (taskId === null) throw new AudioError("not_found", "The record of this task holds no id.");
  // The lease may have come from somebody who had just finished.
  const fresh = await book.get(recordId);
  const existing = fresh === undefined ? null : await findSaved(deps, fresh, job.record.fileName);
  if (existing !== null) return existing;
  job.announce(`Task ${taskId} has succeeded; downloading the audio`);
  const file = await downloadAndPublish(job, deps, taskId).catch((error: unknown) => {
    throw error instanceof AudioError && error.code === "too_large"
      ? leftAtService(deps, taskId, error)
      : error;
  });
  job.lastError = null;
  job.record = await book.update(recordId, (record) => ({ ...record, files: [...record.files, file] }));
  job.announce(`Saved ${file.path}`);
  return file;
}
