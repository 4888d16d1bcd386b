/** The step that downloads the audio of a succeeded task into the output folder. */
import { basename, dirname } from "node:path";
import type { ContentResponse } from "../api/content.ts";
import { downloadInto } from "../api/download.ts";
import { computeDelayAfterBreakMs, decideAfterFailure } from "../api/retry.ts";
import { SIGNED_FORMATS } from "../contract/audio-format.ts";
import { isRunning, type TaskStatus } from "../contract/audio-task.ts";
import { buildTaskPath } from "../contract/wire.ts";
import { Deadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { planReplacement } from "../files/replace.ts";
import { type SavedFile, saveAudio } from "../files/save-audio.ts";
import { isIntact } from "../files/saved-copies.ts";
import { removeIfPresent } from "../files/temporary-file.ts";
import { deleteFiles, listFiles, replaceShortAudio } from "../ledger/file-rows.ts";
import { runTransaction } from "../ledger/open-transaction.ts";
import { writeAsDriver } from "../ledger/request-rows.ts";
import type { FileRow, RequestRow } from "../ledger/schema.ts";
import { toStoredError } from "../ledger/stored-error.ts";
import { endWishesFor } from "../ledger/wishes.ts";
import { isNameFreeOfOthers, parseFileToReplace } from "./audio-names.ts";
import { type StepDeps, writeNote } from "./job.ts";
import {
  chooseFileName,
  findSavedAudio,
  isShort,
  toFileRow,
  toSavedFile,
  wrongFormatError,
} from "./saved-audio.ts";
import { parseStoredFormat, parseStoredInput } from "./stored-input.ts";
import { goneError, pauseReadsAfter, queryTask, waitForRead } from "./watch-step.ts";

/** Two minutes of 48 kHz wav are 11 MiB. */
const MAX_AUDIO_BYTES = 64 * 1024 * 1024;

/** Errors that another download would not mend. */
const NOT_RETRIED: ReadonlySet<string> = new Set([
  "invalid_api_key",
  "too_large",
  "disk_full",
  "output_not_writable",
  "invalid_file_name",
  "store_unavailable",
]);

/**
 * Saves the audio of a request unless it is here. A failed download begins again until 65 minutes have passed; within
 * one download, api/download.ts resumes broken transfers.
 *
 * @returns the row if the service takes `succeeded` back, so that the task is watched again; `null` once it is saved
 * @throws AudioError `disk_full`, `output_not_writable`, `too_large`, `not_found`, `invalid_api_key`, or the last
 *   failure
 */
export async function saveAudioOf(deps: StepDeps, saved: RequestRow): Promise<RequestRow | null> {
  const { job, clock, timing, random, ledger } = deps;
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  let row = saved;
  if ((await findSavedAudio(deps, [row], row.file_name)) !== null) return null;
  const files = await listFiles(ledger, [row.id]);
  const hasWrongFormat = files.some(({ kind }) => kind === "unusable");
  const shortFile = files.find(isShort) ?? null;
  for (let failureCount = 0; ; ) {
    try {
      // Bytes that are not audio may come from a proxy, so the first try drops them.
      const file = await download(deps, row, {
        mayKeepWrongFormat: failureCount > 0 || hasWrongFormat,
        mayKeepShort: failureCount > 0 || shortFile !== null,
        shortFile,
      });
      if (file.matchesFormat) return null;
      await removeSameBytes(deps, files, file);
      throw wrongFormatError(row, file.path);
    } catch (thrown) {
      if (job.signal.aborted || !(thrown instanceof AudioError)) throw thrown;
      let error = thrown;
      failureCount += 1;
      if (error.code === "unexpected_response" && error.remedy !== undefined) throw error;
      if (error.code === "too_large") throw withFetchAdvice(error, row);
      if (error.code === "not_found" || error.code === "not_ready") {
        const status = await queryStatus(deps, row);
        if (status === "unknown" && error.code === "not_found") throw goneError(row);
        if (isRunning(status) || status === "failed") return await revoke(deps, row);
        error = audioNotThereError(row, error);
      }
      if (NOT_RETRIED.has(error.code) || recovery.isOver) throw error;
      const decision = decideAfterFailure(error, failureCount, random);
      const delayMs = "delayMs" in decision ? decision.delayMs * timing.timeScale : timing.pollIntervalMs;
      row = await noteFailure(deps, row, error, delayMs);
      await clock.sleep(delayMs, job.signal);
    }
  }
}

/** Removes older copies of bytes of no format, so that each look at them leaves one file. */
async function removeSameBytes(
  { ledger, folder }: StepDeps,
  files: readonly FileRow[],
  { path, sha256 }: SavedFile,
): Promise<void> {
  for (const file of files) {
    if (file.kind !== "unusable" || file.sha256 !== sha256 || file.path === path) continue;
    if (!(await isIntact(toSavedFile(file), folder.root))) continue;
    await removeIfPresent(file.path);
    await deleteFiles(ledger, [file]);
  }
}

/** The content endpoint may answer 404 or 409 for a while after `succeeded`, because its copies lag. */
const audioNotThereError = (row: RequestRow, { httpStatus }: AudioError): AudioError =>
  new AudioError(
    "network_error",
    `The service says that task ${row.task_id ?? "?"} has succeeded, but its audio is not there yet.`,
    {
      httpStatus,
      retryable: true,
      remedy: {
        assistant:
          "Call download_audio with this task_id in a minute; downloading is free. The server goes on trying meanwhile.",
        terminal: "Run the same command again in a minute: it fetches the audio free.",
      },
    },
  );

/**
 * Asks how a task stands whose audio was answered with 404 or 409.
 *
 * @returns `unknown` if the service does not know the task either; `null` if it cannot be asked
 */
async function queryStatus(
  deps: StepDeps,
  { task_id: taskId }: RequestRow,
): Promise<TaskStatus | "unknown" | null> {
  if (taskId === null) return null;
  const { signal } = deps.job;
  try {
    await waitForRead(deps, false, signal, () => undefined);
    return (await queryTask(deps, taskId, signal)).status;
  } catch (error) {
    if (signal.aborted || !(error instanceof AudioError)) throw error;
    return error.code === "not_found" ? "unknown" : null;
  }
}

const noteFailure = (
  deps: StepDeps,
  row: RequestRow,
  error: AudioError,
  delayMs: number,
): Promise<RequestRow> =>
  writeNote(deps, row, {
    kind: "download",
    error: toStoredError(error),
    untilMs: deps.clock.wallMs() + delayMs,
  });

/** The service took `succeeded` back: the task runs again, or has failed. */
async function revoke(deps: StepDeps, row: RequestRow): Promise<RequestRow> {
  const taken = { status: "processing", finished_at_ms: null, charged_credits: null, note: null } as const;
  const next = await deps.save(row, taken);
  await deps.clock.sleep(deps.timing.pollIntervalMs, deps.job.signal);
  return next;
}

interface DownloadOptions {
  readonly mayKeepWrongFormat: boolean;
  readonly mayKeepShort: boolean;
  /** A file of an earlier download that is too short. The audio takes its place. */
  readonly shortFile: FileRow | null;
}

async function download(
  deps: StepDeps,
  row: RequestRow,
  { mayKeepWrongFormat, mayKeepShort, shortFile }: DownloadOptions,
): Promise<SavedFile> {
  const { clock, ledger, log } = deps;
  const folder = row.is_listed === 1 ? deps.folder : deps.partsFolder;
  const isInPlace = shortFile !== null && dirname(shortFile.path) === folder.root;
  const fileToReplace = isInPlace
    ? await planReplacement(folder, basename(shortFile.path), {
        sizeBytes: shortFile.size_bytes,
        sha256: shortFile.sha256,
      })
    : parseFileToReplace(row);
  // Load this module on first use, because it needs the audio formats.
  const { measureIfShort } = await import("../audio/audio-length.ts");
  const statedSeconds = row.output_seconds ?? row.audio_seconds;
  const stated = parseStoredFormat(row);
  const input = parseStoredInput(row);
  const asked = input ?? stated;
  // Of two rates, the lower one gives the longer audio, which is not taken for short by mistake.
  const sampleRateHz = Math.min(stated.sampleRateHz, asked.sampleRateHz);
  const file = await saveAudio({
    folder,
    fileName: isInPlace ? basename(shortFile.path) : chooseFileName(row, row.file_name),
    mayKeepShort,
    measureIfShort: (path, format) => measureIfShort(path, { format, sampleRateHz, statedSeconds }),
    mayBeNamed: (name) => isNameFreeOfOthers(deps, row, fileToReplace, name),
    fileToReplace,
    mayKeepWrongFormat,
    // A part is joined with others of the narration's format.
    mayKeepOtherFormat: row.is_listed === 1,
    format: asked.format,
    // What a task from outside was asked for is not known.
    otherFormats: input === null ? SIGNED_FORMATS : [stated.format],
    clock,
    onPublished: async (published, format) => {
      await deps.persist(() =>
        runTransaction(ledger, async (open) => {
          const { tx } = open;
          await replaceShortAudio(tx, toFileRow(row.id, published));
          // The last write of the row also gives the lease back, and ends the wishes for it.
          await writeAsDriver(open, row, {
            status: "saved",
            note: null,
            replaces: null,
            output_format: format,
            ...(published.matchesFormat ? { owner: null, lease_until_steady_ms: 0 } : {}),
          });
          await endWishesFor(tx, [row.id]);
        }),
      );
    },
    writeAudio: (sink) =>
      downloadInto(sink, (fromByte, signal) => openContent(deps, row, fromByte, signal), {
        maxBytes: MAX_AUDIO_BYTES,
        clock,
        signal: deps.job.signal,
        computeDelayMs: (breaks, error) => {
          const delayMs = computeDelayAfterBreakMs(error, breaks, deps.random) * deps.timing.timeScale;
          void noteFailure(deps, row, error, delayMs).catch(() => undefined);
          return delayMs;
        },
      }),
  });
  log.info(`task ${row.task_id} was saved as ${file.path}`);
  return file;
}

/** Sends one content request within the limit of reads. After a 429 it is sent again once the pause is over. */
async function openContent(
  deps: StepDeps,
  row: RequestRow,
  fromByte: number,
  signal: AbortSignal,
): Promise<ContentResponse> {
  const { service, clock, timing } = deps;
  const { task_id: taskId } = row;
  if (taskId === null) throw new AudioError("invalid_request", "The row of this task holds no id.");
  const recovery = new Deadline(clock, timing.recoveryTimeoutMs);
  for (let failureCount = 1; ; failureCount += 1) {
    let isHeld = false;
    await waitForRead(deps, false, signal, async (reason, waitMs) => {
      isHeld = true;
      await writeNote(deps, row, { kind: `reads_${reason}`, untilMs: clock.wallMs() + waitMs });
    });
    if (isHeld) await deps.save(row, { note: null });
    try {
      return await service.openContent(taskId, fromByte, signal);
    } catch (error) {
      if (!(error instanceof AudioError) || signal.aborted) throw error;
      if (!(await pauseReadsAfter(deps, error, failureCount)) || recovery.isOver) throw error;
    }
  }
}

/** The audio stays at the service, and the remedy says how to fetch it there. */
function withFetchAdvice(error: AudioError, row: RequestRow): AudioError {
  const how = `any HTTP client can fetch it: GET ${row.base_url}${buildTaskPath(row.task_id ?? "")}/content with the API key as bearer token. Shorter texts give smaller files.`;
  return error.withRemedy({
    assistant: `The task and its audio stay at the service. Tell the user that ${how}`,
    terminal: `The task and its audio stay at the service: ${how}`,
  });
}
