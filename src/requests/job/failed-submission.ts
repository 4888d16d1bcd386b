/** Handles a submission that was not accepted: throws, or waits until it may be sent again. */
import { decideAfterFailure, mayHaveCreatedTask, wasNeverSent } from "../../api/retry.ts";
import type { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { SendOutcome } from "../../ledger/rules/api-key-state.ts";
import type { AdmissionWaitResult } from "../../limits/submission-queue.ts";
import type { RequestDeps } from "../deps.ts";
import { toRequestHandle } from "../records/request-handle.ts";
import type { Job } from "./job.ts";
import { findReservedCredits, type ReservedCredits, waitForReturnedCredits } from "./reserved-credits.ts";

/** What bounds and helps a job's wait for its next send. */
export interface ResendWait {
  /** When the job gives up sending. */
  readonly recovery: Deadline;
  /** Resumes tasks that no process works on, because the wait may depend on the end of such a task. */
  readonly resumeOthers: () => void;
}

export type AdmittedSubmission = Extract<AdmissionWaitResult, { kind: "admitted" }>;

const NO_RESERVED_CREDITS = { kind: "none" } as const;

/** A 404 in response to a submission means a wrong address, because no task exists yet. */
const noSuchServiceError = (error: AudioError): AudioError =>
  new AudioError("not_found", error.message, {
    httpStatus: error.httpStatus,
    idempotencyKey: error.idempotencyKey,
    remedy:
      "Ask the user to check that AUDIO_BASE_URL is the service's address (without any path that is not part of it). Nothing was charged.",
  });

/**
 * Adds advice to the error of a refused submission if an earlier send of this submission got no response. The service
 * may have accepted the earlier send, although it refused this one.
 */
const withEarlierSendAdvice = (error: AudioError, record: RequestRecord): AudioError =>
  new AudioError(error.code, error.message, {
    httpStatus: error.httpStatus,
    idempotencyKey: error.idempotencyKey,
    remedy: `An earlier send of this request got no answer and may have been accepted, with 150 credits reserved. Fix the problem above, then repeat the same call, or call download_audio with task_id ${toRequestHandle(record)}: either finds that task and does not pay twice. Do not change text, settings or take instead.`,
  });

/**
 * Classifies a failed submission, records it in the ledger, and waits until the next send is due.
 *
 * @param failureCount number of sends of this job that have failed so far, at least 1
 * @param mayHaveEarlierTask whether the service may have received an earlier send of this job
 * @returns the error that the caller throws if no time is left for another send. After a 429 or a 503 it is `null`,
 *   and the caller then throws `wait_expired`
 * @throws AudioError if another send would give the same result
 */
export async function recordFailureAndAwaitResend(
  job: Job,
  deps: RequestDeps,
  { sendId, record }: AdmittedSubmission,
  error: AudioError,
  failureCount: number,
  mayHaveEarlierTask: boolean,
  { recovery, resumeOthers }: ResendWait,
): Promise<AudioError | null> {
  const { limits, ledger, clock, timing, random, log } = deps;
  const errorWithKey = error.withIds({ idempotencyKey: record.idempotencyKey ?? undefined });
  const decision = decideAfterFailure(errorWithKey, failureCount, random);
  const isUnresolved = mayHaveCreatedTask(error);
  const sendOutcome: SendOutcome = { sendId, outcome: wasNeverSent(error) ? "unsent" : "sent" };
  if (isUnresolved) {
    job.attemptWithLostResponse = record.attempt;
    // The service responded (503) without accepting the submission, so a cancelled job may stop instead of sending
    // again.
    if (decision.kind === "unavailable" && !mayHaveEarlierTask) job.markAsUnsent();
    await limits.pendingWrites.writeNowOrLater("the end of a submission", () =>
      ledger.store.admissions.recordSendOutcome(sendOutcome),
    );
  } else {
    job.record =
      (await recordNotAccepted(job, deps, { kind: "not_accepted", sendId }, sendOutcome)) ?? job.record;
    limits.submissions.wake();
    if (!mayHaveEarlierTask) job.markAsUnsent();
  }
  const reservedCredits =
    error.code === "insufficient_credits"
      ? await findReservedCreditsOrNone(record, deps)
      : NO_RESERVED_CREDITS;
  if (reservedCredits.kind !== "none") {
    job.signal.throwIfAborted();
    job.setPhase({ kind: "held", reason: "credits", untilMs: clock.steadyMs() + recovery.leftMs });
    if (reservedCredits.kind === "reserved") {
      await waitForReturnedCredits(record, deps, reservedCredits.recordIds, {
        deadline: recovery,
        signal: job.signal,
        resumeOthers,
      });
    }
    return errorWithKey;
  }
  if (decision.kind === "stop") {
    log.info(`the service refused a submission: ${error.code}`);
    if (job.record.hasUnresolvedEarlierSend) throw withEarlierSendAdvice(errorWithKey, job.record);
    throw errorWithKey.code === "not_found" ? noSuchServiceError(errorWithKey) : errorWithKey;
  }
  job.signal.throwIfAborted();
  if (decision.kind === "rate_limited") {
    const untilMs = clock.steadyMs() + decision.retryAfterSeconds * 1000 * timing.timeScale;
    job.setPhase({ kind: "held", reason: "cooldown", untilMs });
    await limits.startCooldown("submissions", decision.retryAfterSeconds);
    return null;
  }
  const delayMs = decision.delayMs * timing.timeScale;
  const untilMs = clock.steadyMs() + delayMs;
  if (decision.kind === "unavailable") job.setPhase({ kind: "held", reason: "unavailable", untilMs });
  else job.setPhase({ kind: "retrying", error: errorWithKey, untilMs });
  await clock.sleep(delayMs, job.signal);
  return decision.kind === "unavailable" ? null : errorWithKey;
}

/** Like {@link findReservedCredits}, but returns `none` if the ledger cannot be read, so that the refusal is reported. */
const findReservedCreditsOrNone = async (
  record: RequestRecord,
  deps: RequestDeps,
): Promise<ReservedCredits> =>
  await findReservedCredits(record, deps).catch((error: unknown) => {
    if (!(error instanceof AudioError)) throw error;
    return NO_RESERVED_CREDITS;
  });

/**
 * Records that the service did not accept the submission. If the store is unavailable, the event is written later.
 * Until then, the stored record stays `unresolved`, so admissions still count the submission.
 */
async function recordNotAccepted(
  job: Job,
  { ledger, limits }: RequestDeps,
  event: { readonly kind: "not_accepted"; readonly sendId: string },
  sendOutcome: SendOutcome,
): Promise<Job["record"] | null> {
  const { record } = job;
  let storedRecord: Job["record"] | null = record;
  await limits.pendingWrites.writeNowOrLater("that a submission was not accepted", async () => {
    storedRecord = await ledger.apply(record, event, { sendOutcome });
  });
  return storedRecord;
}
