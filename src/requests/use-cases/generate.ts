/** Prepares and runs one request for `generate_audio`. `requests.ts` first looks for a near duplicate. */
import type { Clock } from "../../clock.ts";
import type { AudioInput } from "../../contract/audio-input.ts";
import { Deadline, runWithTimeout } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import { assertFileName } from "../../files/file-name.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { SaveOptions } from "../../ledger/rules/save-options.ts";
import { describeRespelledWords, type Pronunciation } from "../../pronunciation.ts";
import { describeLanguageMismatch } from "../../text-language.ts";
import { type Call, type CallWithDeadline, startDeadline } from "../call.ts";
import { canonicalizeInput } from "../canonical-input.ts";
import type { RequestDeps } from "../deps.ts";
import { readCalibration } from "../estimate-calibration.ts";
import { chooseNameAndReplacement, saveUnderName } from "../file-names/file-name-conflicts.ts";
import type { Job, JobOutcome } from "../job/job.ts";
import { type JobRunner, MAX_JOB_STARTS } from "../job/job-runner.ts";
import { describePhase } from "../job/phase.ts";
import { canReturnWithoutAudio, throwIfUnreachable, waitForJob } from "../job/wait-for-job.ts";
import { explainCredits, isUnexplainedCreditError } from "../records/explain-credits.ts";
import { findOtherPronunciation } from "../records/other-pronunciation.ts";
import { buildRequestView, type RequestView } from "../records/request-view.ts";
import {
  buildNewRecord,
  type PreparedRequest,
  type ResolvedRecord,
  resolveRecord,
} from "../records/resolve-record.ts";
import { respellInput } from "../records/respelled-input.ts";
import { buildSavedView } from "../records/saved-view.ts";
import { parseStoredInput } from "../records/stored-input.ts";
import { taskFailedError } from "../records/task-failed-error.ts";

export interface GenerateRequest extends SaveOptions {
  readonly input: AudioInput;
  readonly pronunciations?: readonly Pronunciation[];
  readonly take: number;
}

/**
 * Makes all checks of a request that need no ledger. Returns the request with everything that identifies it in the
 * ledger.
 *
 * @throws AudioError `invalid_file_name`, `request_too_large`
 */
export function prepareRequest({
  input,
  pronunciations = [],
  take,
  fileName,
}: GenerateRequest): PreparedRequest {
  if (fileName !== null) assertFileName(fileName);
  const { input: spoken, originalPrompt, words: replacedWords } = respellInput(input, pronunciations);
  return {
    input: canonicalizeInput(spoken),
    originalPrompt,
    notes: [
      ...describeRespelledWords(replacedWords),
      ...describeLanguageMismatch(input.prompt, input.voice ?? ""),
    ],
    take,
    fileName,
    isListed: true,
  };
}

/**
 * Maximum wait of a repeated call after the client gave up the first call. With this maximum, the repeated call returns
 * within 2 s.
 */
const REPEAT_WAIT_MS = 1500;

/**
 * Runs a request until its audio is saved, or returns a handle if the call's wait ends first.
 *
 * @throws AudioError for every refusal and failure; `task_failed` if the task failed during this call
 */
export async function runRequest(
  deps: RequestDeps,
  jobs: JobRunner,
  prepared: PreparedRequest,
  saveOptions: SaveOptions,
  givenCall: Call,
): Promise<RequestView> {
  const call = startDeadline(givenCall, deps.clock);
  const { idempotencyKey } = buildNewRecord(deps, prepared);
  for (let starts = 0; starts < MAX_JOB_STARTS; starts += 1) {
    const resolved = await resolveWithinWait(deps, prepared, call, idempotencyKey);
    const view = await runRecord(deps, jobs, saveOptions, resolved, call);
    if (view !== null) return view;
    call.signal.throwIfAborted();
  }
  throw new AudioError("timeout", "The request could not be started; this server may be stopping.", {
    retryable: true,
    idempotencyKey: idempotencyKey ?? undefined,
  });
}

async function resolveWithinWait(
  deps: RequestDeps,
  prepared: PreparedRequest,
  call: CallWithDeadline,
  idempotencyKey: string | null,
): Promise<ResolvedRecord> {
  return await runWithTimeout(
    {
      clock: deps.clock,
      timeoutMs: call.deadline.leftMs,
      signal: call.signal,
      timeoutError: () =>
        callTimedOutError(deps.ledger.store.outage, { idempotencyKey: idempotencyKey ?? undefined }),
    },
    async (signal) => {
      const exactMatch = await resolveRecord(deps, prepared, signal, call.deadline);
      const otherPronunciation = await findOtherPronunciation(
        deps,
        prepared,
        exactMatch,
        signal,
        call.deadline,
      );
      return otherPronunciation ?? { ...exactMatch, notes: [...(prepared.notes ?? []), ...exactMatch.notes] };
    },
  );
}

/**
 * Returns the error for a call whose time ended before the service could be asked.
 *
 * @param currentError the current error of the ledger, which is returned instead of a time-out; `null` if the ledger
 *   has no error
 */
export function callTimedOutError(
  currentError: AudioError | null,
  ids: { taskId?: string; idempotencyKey?: string | undefined },
): AudioError {
  if (currentError !== null) return currentError.withIds(ids);
  return new AudioError("timeout", "The service could not be asked within the time of this call.", {
    retryable: true,
    ...ids,
  });
}

/**
 * Returns the saved audio of a record, or runs its job and waits for it. Returns `null` if the job ended without a
 * result, so that the record must be looked up again.
 */
async function runRecord(
  deps: RequestDeps,
  jobs: JobRunner,
  saveOptions: SaveOptions,
  { record, file, notes }: ResolvedRecord,
  call: CallWithDeadline,
): Promise<RequestView | null> {
  if (file !== null) {
    const listedRecord = await markListed(deps, record);
    const namedFile = await saveUnderName(deps, listedRecord, file, saveOptions);
    return await buildSavedView(deps, listedRecord, { replayed: true, file: namedFile, notes }, saveOptions);
  }
  const wasKnown = record.taskId !== null && record.status !== "failed";
  const { job, isNew } = await startJob(deps, jobs, saveOptions, record, call);
  const outcome = await waitForOutcome(deps, job, isNew, call);
  const replayed = wasKnown || (job.record.taskId !== null && (!isNew || job.newTaskCount === 0));
  switch (outcome?.kind) {
    case undefined:
      throwIfUnreachable(job, deps.clock);
      if (call.mcpTaskPreparation === undefined) job.keepRunning();
      return buildRequestView(job.record, { replayed, notes, activity: describeActivity(job, deps) });
    case "saved": {
      const namedFile = await saveUnderName(deps, outcome.record, outcome.file, saveOptions);
      return await buildSavedView(deps, outcome.record, { replayed, file: namedFile, notes }, saveOptions);
    }
    case "failed":
      throw taskFailedError(outcome.record);
    case "error":
      throw await addEstimateToCreditError(deps, outcome.error, job.record);
    case "no_result":
    case "not_wanted":
      return null;
  }
}

/**
 * Checks that the audio of a record can be saved. Then starts the job of the record, or joins the job that already
 * runs.
 */
async function startJob(
  deps: RequestDeps,
  jobs: JobRunner,
  saveOptions: SaveOptions,
  record: RequestRecord,
  call: CallWithDeadline,
): Promise<{ job: Job; isNew: boolean }> {
  await deps.folder.ensureWritable();
  const name = await chooseNameAndReplacement(deps, record, saveOptions);
  call.signal.throwIfAborted();
  const preparedRecord = { ...(await markListed(deps, record)), ...name };
  const recordToStart = (await call.mcpTaskPreparation?.prepare(preparedRecord)) ?? preparedRecord;
  return jobs.start(recordToStart, "submit", {
    mayRetryEarlierTask: call.mcpTaskPreparation?.isResumed !== true,
  });
}

/**
 * Waits for the outcome of a job within the time of the call. Returns `null` if the call must return while the job is
 * running.
 */
async function waitForOutcome(
  deps: RequestDeps,
  job: Job,
  isNew: boolean,
  call: CallWithDeadline,
): Promise<JobOutcome | null> {
  const mayReturnEarly = call.waitMs > 0 ? () => false : () => canReturnWithoutAudio(job, deps.clock);
  // Return a handle soon if this call repeats a call that the client probably gave up, because the client may give up
  // again after the same time.
  const isLikelyClientRetry = call.mcpTaskPreparation === undefined && !isNew && job.takeLikelyRetry();
  const waitingCall = isLikelyClientRetry ? withShorterWait(call, REPEAT_WAIT_MS, deps.clock) : call;
  return (await waitForJob(job, waitingCall, mayReturnEarly)) ?? (await waitUntilStored(job, call, deps));
}

/** Maximum wait for the ledger. The ledger itself throws within 5 s, so its error arrives before this limit. */
const LEDGER_ANSWER_TIMEOUT_MS = 6000;

/**
 * Waits until the ledger has the record, even beyond the call's own wait, because a handle is returned only for a
 * stored record.
 */
async function waitUntilStored(
  job: Job,
  call: CallWithDeadline,
  { clock, ledger }: RequestDeps,
): Promise<JobOutcome | null> {
  const isStored = (): boolean => job.record.revision > 0 || job.phase.kind !== "starting";
  if (isStored()) return null;
  const deadline = new Deadline(clock, LEDGER_ANSWER_TIMEOUT_MS);
  const outcome = await waitForJob(job, { ...call, deadline }, isStored);
  if (outcome !== null || isStored()) return outcome;
  const idempotencyKey = job.record.idempotencyKey ?? undefined;
  throw callTimedOutError(ledger.store.outage, { idempotencyKey });
}

/**
 * Adds the estimated cost to an `insufficient_credits` error. The estimate uses the lengths of earlier tasks, which are
 * read from the ledger only for this error.
 */
async function addEstimateToCreditError(
  deps: RequestDeps,
  error: AudioError,
  record: RequestRecord,
): Promise<AudioError> {
  const input = parseStoredInput(record);
  if (input === null || !isUnexplainedCreditError(error)) return error;
  return explainCredits(error, input, await readCalibration(deps, input.voice));
}

/** Makes a narration's part appear in lists, because a call requested it directly. */
async function markListed({ ledger }: RequestDeps, record: RequestRecord): Promise<RequestRecord> {
  if (record.isListed) return record;
  return (await ledger.apply(record, { kind: "listed" })) ?? record;
}

const withShorterWait = (call: CallWithDeadline, ms: number, clock: Clock): CallWithDeadline => ({
  ...call,
  deadline: new Deadline(clock, Math.min(ms, call.deadline.leftMs)),
});

/** Describes a job to a caller that stops waiting; `null` if the status of the task is enough. */
export function describeActivity(
  { phase, record }: Job,
  { clock }: Pick<RequestDeps, "clock">,
): string | null {
  // These phases need no description, because the status of the task is enough.
  const isPlain =
    (phase.kind === "watching" && phase.unknownStatus === undefined) ||
    (phase.kind === "saving" && phase.lastError === null);
  return isPlain ? null : describePhase(phase, record, clock);
}
