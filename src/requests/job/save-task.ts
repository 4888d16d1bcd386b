/** Downloads a succeeded task's audio into the output folder. */
import type { ContentResponse } from "../../api/content.ts";
import { downloadInto } from "../../api/download.ts";
import { computeDelayAfterBreakMs, decideAfterFailedRead } from "../../api/retry.ts";
import { GENERATIONS_PATH } from "../../contract/wire.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import { saveAudio } from "../../files/save-audio.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import type { ChangeOptions } from "../../ledger/ledger.ts";
import type { RequestDeps } from "../deps.ts";
import { chooseFileName } from "../file-names/choose-file-name.ts";
import { isNameFreeOfOtherRecords } from "../file-names/name-owner.ts";
import { findSaved } from "../records/find-saved.ts";
import { parseStoredFormat } from "../records/stored-input.ts";
import { applyEventWithRetry } from "./apply-event-with-retry.ts";
import type { Job } from "./job.ts";
import { NOT_FOUND_RESPONSES_UNTIL_GONE, recordGoneAndBuildError } from "./missing-task.ts";

/** Maximum size of audio. Two minutes of 48 kHz wav are 11 MiB. */
const MAX_AUDIO_BYTES = 64 * 1024 * 1024;

/** Errors that a retry of the download would not fix. */
const NOT_RETRIED = new Set([
  "invalid_api_key",
  "too_large",
  "disk_full",
  "output_not_writable",
  "invalid_file_name",
  "store_unavailable",
]);

/**
 * Saves the job's audio unless it is already saved here. Starts a failed download again until the recovery timeout
 * passes. Within one download, api/download.ts resumes broken transfers.
 *
 * @returns `null` if the service revokes `succeeded`, so the task must be watched again
 * @throws AudioError `disk_full`, `output_not_writable`, `too_large`, `not_found`, `invalid_api_key`, or the last
 *   failure
 */
export async function saveTask(job: Job, deps: RequestDeps): Promise<SavedFile | null> {
  const { clock, timing, random } = deps;
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  const existing = await findSaved(deps, job.record, job.record.fileName);
  if (existing?.matchesFormat === true && !job.mustDownload) return existing;
  let notFoundCount = job.record.isGone ? NOT_FOUND_RESPONSES_UNTIL_GONE - 1 : 0;
  let lastError: AudioError | null = null;
  let failureCount = 0;
  for (;;) {
    try {
      job.setPhase({ kind: "saving", lastError });
      // Bytes that are not audio may come from a proxy. The first try discards such bytes, because the next try may get
      // the audio. If a copy of such bytes exists, an earlier download got them twice, so even the first try keeps
      // them.
      return await saveOnce(job, deps, {
        mayKeepWrongFormat: failureCount > 0 || existing?.matchesFormat === false,
      });
    } catch (error) {
      if (job.signal.aborted || !(error instanceof AudioError)) throw error;
      lastError = error;
      failureCount += 1;
      if (error.code === "too_large") throw await recordTooLargeAndBuildError(job, deps, error);
      if (error.code === "not_ready") {
        await applyEventWithRetry(job, deps, {
          kind: "result_revoked",
          taskId: job.record.taskId ?? "",
          atMs: clock.wallMs(),
        });
        return null;
      }
      if (error.code === "not_found") notFoundCount += 1;
      if (notFoundCount >= NOT_FOUND_RESPONSES_UNTIL_GONE) throw await recordGoneAndBuildError(job, deps);
      if (NOT_RETRIED.has(error.code) || recovery.isOver) throw error;
      const decision = decideAfterFailedRead(error, failureCount, random);
      const delayMs = "delayMs" in decision ? decision.delayMs * timing.timeScale : timing.pollIntervalMs;
      job.setPhase({ kind: "retrying", error, untilMs: clock.steadyMs() + delayMs });
      await clock.sleep(delayMs, job.signal);
    }
  }
}

async function saveOnce(
  job: Job,
  deps: RequestDeps,
  { mayKeepWrongFormat }: { readonly mayKeepWrongFormat: boolean },
): Promise<SavedFile> {
  const { taskId } = job.record;
  if (taskId === null) throw new AudioError("invalid_request", "The record of this task holds no id.");
  const file = await downloadAndPublish(job, deps, taskId, mayKeepWrongFormat, async (published) => {
    // This is the last write of the record, so it also releases the lease.
    const options: ChangeOptions = job.ownsLease ? { lease: "release" } : {};
    await applyEventWithRetry(job, deps, { kind: "saved", file: published }, options);
    job.ownsLease = false;
  });
  job.announce(`Saved ${file.path}`);
  return file;
}

async function downloadAndPublish(
  job: Job,
  deps: RequestDeps,
  taskId: string,
  mayKeepWrongFormat: boolean,
  onPublished: (file: SavedFile) => Promise<void>,
): Promise<SavedFile> {
  const { record } = job;
  return saveAudio({
    onPublished,
    folder: record.isListed ? deps.folder : deps.partsFolder,
    fileName: chooseFileName(record, record.fileName),
    mayBeNamed: (name) => isNameFreeOfOtherRecords(deps, record, name),
    fileToReplace: record.fileToReplace,
    mayKeepWrongFormat,
    format: parseStoredFormat(record).format,
    clock: deps.clock,
    writeAudio: (sink) =>
      downloadInto(sink, (fromByte, signal) => openContent(job, deps, taskId, fromByte, signal), {
        maxBytes: MAX_AUDIO_BYTES,
        clock: deps.clock,
        signal: job.signal,
        computeDelayMs: (breaks, error) => {
          job.setPhase({ kind: "saving", lastError: error });
          return computeDelayAfterBreakMs(error, breaks, deps.random) * deps.timing.timeScale;
        },
      }),
  });
}

/**
 * Sends one content request within the shared read limit. After a 429, starts a cooldown of all reads and then sends
 * the request again, until the recovery timeout passes.
 */
async function openContent(
  job: Job,
  deps: RequestDeps,
  taskId: string,
  fromByte: number,
  signal: AbortSignal,
): Promise<ContentResponse> {
  const { limits, service, clock, timing, random } = deps;
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  for (;;) {
    try {
      return await limits.reads.run(signal, () => service.openContent(taskId, fromByte, signal), {
        onWaiting: (reason, waitMs) =>
          job.setPhase({ kind: "held", reason: `reads_${reason}`, untilMs: clock.steadyMs() + waitMs }),
      });
    } catch (error) {
      if (!(error instanceof AudioError) || signal.aborted) throw error;
      const decision = decideAfterFailedRead(error, 1, random);
      if (decision.kind !== "rate_limited" || recovery.isOver) throw error;
      await limits.startCooldown("reads", decision.retryAfterSeconds);
    }
  }
}

/**
 * Records that the audio exceeds the size limit, and builds the error. The audio stays at the service, and the remedy
 * says how to fetch it there.
 */
async function recordTooLargeAndBuildError(
  job: Job,
  deps: RequestDeps,
  error: AudioError,
): Promise<AudioError> {
  const taskId = job.record.taskId ?? "";
  await applyEventWithRetry(job, deps, { kind: "audio_found_too_large", taskId });
  const { baseUrl } = deps.ledger.identity;
  return new AudioError("too_large", error.message, {
    taskId,
    remedy: `The task and its audio stay at the service. Tell the user that any HTTP client can fetch it: GET ${baseUrl}${GENERATIONS_PATH}/${taskId}/content with the API key as bearer token. Shorter texts give smaller files.`,
  });
}
