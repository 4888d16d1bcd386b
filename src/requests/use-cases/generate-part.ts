/** Finds, makes and saves the audio of a narration's part. */
import type { AudioInput } from "../../contract/audio-input.ts";
import { Deadline, runWithTimeout } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import { findNewestExisting } from "../../files/newest-existing.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { deriveRequestFingerprint } from "../../ledger/identity.ts";
import { UNSENT_ATTEMPT } from "../../ledger/lifecycle.ts";
import { isResumable, type RequestRecord } from "../../ledger/record.ts";
import type { CallWithDeadline } from "../call.ts";
import { canonicalizeInput } from "../canonical-input.ts";
import type { RequestDeps } from "../deps.ts";
import { NotWantedError } from "../job/job.ts";
import { type JobRunner, MAX_JOB_STARTS } from "../job/job-runner.ts";
import { describePhase } from "../job/phase.ts";
import { waitForJob } from "../job/wait-for-job.ts";
import { findSaved } from "../records/find-saved.ts";
import { resolveRecord } from "../records/resolve-record.ts";
import { taskFailedError } from "../records/task-failed-error.ts";

export interface PartRequest {
  readonly input: AudioInput;
  /** The text before respelling; `null` or unset if no word is respelled. */
  readonly originalPrompt?: string | null;
  readonly take: number;
}

/** A part whose audio is on this machine. */
export interface SavedPart {
  readonly record: RequestRecord;
  readonly file: SavedFile;
}

/** What narrations can do with their parts. Each part is a single request. */
export interface PartOperations {
  /** Returns the record of the part; `null` if it was never requested. */
  findRecord(request: PartRequest): Promise<RequestRecord | null>;
  /** Returns the part's audio if it is on this machine and unchanged. Does not ask the service. */
  findSaved(request: PartRequest): Promise<SavedPart | null>;
  generate(request: PartRequest, call: PartCall): Promise<SavedPart>;
  /**
   * Whether the text has been paid for, but never with the present pronunciations. If so, this request would cost
   * again.
   */
  hasOtherPronunciation(request: PartRequest): Promise<boolean>;
  awaitSent(request: PartRequest, call: Pick<PartCall, "signal">): Promise<void>;
  /** Returns the ratio of actual to estimated length of this voice's earlier audio; 1 if too little is known. */
  readCalibration(voice: string | null): Promise<number>;
}

export interface PartCall {
  /** Aborts when the narration must stop. Unsent requests are dropped; accepted tasks continue and are saved. */
  readonly signal: AbortSignal;
  /** The narration that pays for the part. */
  readonly narrationId: string;
  /** Called, perhaps several times, after the service has accepted the submission. */
  readonly onAccepted?: () => void;
  /** Called, perhaps several times, if the service reports an unknown status. The sentence describes the status. */
  readonly onUnknownStatus?: (sentence: string) => void;
  /** Whether to download the audio although this machine has a copy. This is set if the copy is damaged. */
  readonly mustDownload?: boolean;
}

/**
 * Waits until the part has ended and is saved, if its task was accepted or its submission is in progress. Does nothing
 * for a part in any other state. Never sends a submission.
 *
 * @throws the signal's reason
 */
export async function awaitSentPart(
  deps: RequestDeps,
  jobs: JobRunner,
  request: PartRequest,
  { signal }: Pick<PartCall, "signal">,
): Promise<void> {
  const record = await selectPartRecord(deps, request);
  const runningJob = record === null ? undefined : jobs.findRunning(record.recordId);
  if (runningJob !== undefined && record?.taskId === null) {
    // Do not join the job as a caller, because a job with a caller sends another submission if the service refuses the
    // first.
    const { leftMs } = startPartDeadline(deps, signal).deadline;
    const timeoutError = (): AudioError =>
      new AudioError("timeout", "A part could not be brought to its end.");
    await runWithTimeout(
      { clock: deps.clock, timeoutMs: leftMs, signal, timeoutError },
      () => runningJob.outcome,
    );
    return;
  }
  if (record === null || record.taskId === null || !isResumable(record)) return;
  const { job } = jobs.start(record, "resume");
  await waitForJob(job, startPartDeadline(deps, signal));
}

/** Builds a call that waits at most twice the recovery timeout. */
function startPartDeadline({ clock, timing }: RequestDeps, signal: AbortSignal): CallWithDeadline {
  const deadline = new Deadline(clock, 2 * timing.recoveryTimeoutMs);
  return { signal, waitMs: deadline.leftMs, onProgress: () => undefined, deadline };
}

/**
 * Finds the record of a part under any API key of this machine. Returns the first of these records that exists:
 *
 * - this key's succeeded record
 * - another key's record whose audio is on this machine
 * - this key's sent record
 * - the newest sent record of another key
 * - this key's unsent record
 *
 * @returns `null` if the part was never requested
 */
export async function selectPartRecord(
  { ledger, folder }: RequestDeps,
  { input, take }: PartRequest,
): Promise<RequestRecord | null> {
  const { baseUrl, apiKeyId } = ledger.identity;
  const records = await ledger.findByFingerprint(
    deriveRequestFingerprint(baseUrl, canonicalizeInput(input), take),
  );
  const ownRecord = records.find((record) => record.apiKeyId === apiKeyId);
  if (ownRecord?.status === "succeeded") return ownRecord;
  for (const record of records) {
    const matchingFiles = record.files.filter(({ matchesFormat }) => matchesFormat);
    if (record !== ownRecord && (await findNewestExisting(matchingFiles, folder.root)) !== null)
      return record;
  }
  if (ownRecord !== undefined && wasSent(ownRecord)) return ownRecord;
  const newest = records.findLast((record) => record !== ownRecord && wasSent(record));
  if (newest === undefined) return ownRecord ?? null;
  // The other key's task succeeded, but its audio is not on this machine and may have to be made again. Return the
  // record without its task, but with its spend.
  return newest.status === "succeeded" ? { ...newest, ...UNSENT_ATTEMPT } : newest;
}

/** Finds the audio of a part on this machine; `null` if there is none. */
export async function findSavedPart(deps: RequestDeps, request: PartRequest): Promise<SavedPart | null> {
  const record = await selectPartRecord(deps, request);
  const file = record === null ? null : await findSaved(deps, record, null);
  return record !== null && file?.matchesFormat === true ? { record, file } : null;
}

const wasSent = ({ status, attempt }: RequestRecord): boolean => status !== "waiting" || attempt > 1;

/**
 * Makes and saves one part. The part is paid for once, like every request. If its audio is already on this machine, in
 * any folder, the service is not asked.
 *
 * @throws AudioError for a refusal, `task_failed`, errors of saving; NotWantedError; the signal's reason
 */
export async function generatePart(
  deps: RequestDeps,
  jobs: JobRunner,
  { input, originalPrompt = null, take }: PartRequest,
  { signal, narrationId, onAccepted, onUnknownStatus, mustDownload = false }: PartCall,
): Promise<SavedPart> {
  const prepared = {
    input: canonicalizeInput(input),
    originalPrompt,
    take,
    fileName: null,
    isListed: false,
  } as const;
  for (let starts = 0; starts < MAX_JOB_STARTS; starts += 1) {
    const { record, file } = await resolveRecord(deps, prepared, signal);
    if (file !== null && !mustDownload) return { record, file };
    await deps.partsFolder.ensureWritable();
    signal.throwIfAborted();
    const { job } = jobs.start(record, "submit", { narrationId, mustDownload });
    const onProgress = (): void => {
      if (job.record.taskId !== null) onAccepted?.();
      const { phase, record: current } = job;
      if (phase.kind === "watching" && phase.unknownStatus !== undefined) {
        onUnknownStatus?.(describePhase(phase, current, deps.clock));
      }
    };
    const outcome = await waitForJob(job, { ...startPartDeadline(deps, signal), onProgress });
    switch (outcome?.kind) {
      case "saved":
        return { record: outcome.record, file: outcome.file };
      case "failed":
        throw taskFailedError(outcome.record);
      case "error":
        throw outcome.error;
      case "not_wanted":
        throw new NotWantedError("the narration wants no more submissions");
      case "no_result":
      case undefined:
        signal.throwIfAborted();
    }
  }
  throw new AudioError("timeout", "A part could not be brought to its end.", { retryable: true });
}
