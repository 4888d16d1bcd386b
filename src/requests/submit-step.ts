/** The step that sends the submission of a request, under its idempotency key, until the service has answered it. */
import { randomUUID } from "node:crypto";
import type { ObservedTask } from "../api/parse-task.ts";
import { decideAfterFailure, wasNeverSent } from "../api/retry.ts";
import { mayHaveCreatedTask } from "../api/service-error.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { runWithTimeout } from "../deadline.ts";
import { AudioError, askUser, type ErrorCode } from "../errors.ts";
import { recordSendResult, requestAdmission, type SendResult } from "../ledger/admission.ts";
import { BUDGET_WINDOW_MS, sumSpentCredits } from "../ledger/bills.ts";
import { isAway } from "../ledger/ledger.ts";
import { findAttemptsOfTask, UNSENT_ATTEMPT } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { toStoredError } from "../ledger/stored-error.ts";
import { isRequestWanted } from "../ledger/wishes.ts";
import { type Job, releaseUnusedAdmission, retryFailed, type StepDeps, toObservedPatch } from "./job.ts";
import { buildNote } from "./note.ts";
import { toRequestHandle } from "./request-handle.ts";
import { waitForReturnedCredits } from "./reserved-credits.ts";
import { getIdempotencyKey } from "./stored-input.ts";
import type { Leave } from "./submission-line.ts";

function overBudgetError(budget: number, spentCredits: number): AudioError {
  return new AudioError(
    "budget_exceeded",
    `The credit budget of ${budget} for any 24 hours leaves no room for another task: ${spentCredits} credits are reserved or charged, and each new task reserves ${RESERVED_CREDITS}. Nothing was sent.`,
  );
}

/** Refuses a submission over the budget at once, so that it does not learn of it only after waiting for its turn. */
async function assertWithinBudget({ ledger, line }: StepDeps, row: RequestRow): Promise<void> {
  if (ledger.creditBudget === null || line.isEmpty || row.maybe > 0) return;
  const sinceMs = ledger.clock.wallMs() - BUDGET_WINDOW_MS;
  const spent = await ledger.database.run((db) => sumSpentCredits(db, ledger, sinceMs, row.id));
  if (spent + RESERVED_CREDITS > ledger.creditBudget) throw overBudgetError(ledger.creditBudget, spent);
}

/** The error for a text that was sent while this request waited, typed otherwise or with other pronunciations. */
function repeatedError(other: RequestRow, { is_listed }: RequestRow): AudioError {
  const where = other.payer === null ? "" : ` for narration ${other.payer}`;
  return new AudioError(
    "invalid_request",
    `This text was sent meanwhile${where}; it differs only in quotation marks, blanks, case or pronunciations. Nothing was sent or charged for it here.`,
    {
      remedy:
        is_listed === 1
          ? "Send the same call again: it returns that audio, free."
          : {
              assistant:
                "Call narrate with narration_id and max_credits: the plan says what would be paid for again, and the call after it makes it.",
              terminal: "Run the same command again: the plan says what would be paid for again.",
            },
    },
  );
}

/** Ranks of the line. A send that may have arrived has its slot already, so it must not wait behind others. */
const chooseRank = (row: RequestRow): number => (row.maybe > 0 ? 0 : row.is_listed === 1 ? 1 : 2);

/**
 * Waits in the line until the submission may leave, or must not.
 *
 * @throws AudioError `wait_expired` if its turn does not come within the time of the job
 */
async function waitForLeave(deps: StepDeps, row: RequestRow, sendId: string): Promise<Leave> {
  const { job, ledger, line, clock } = deps;
  const timeoutError = (): AudioError => buildExpiry(job);
  const options = {
    clock,
    timeoutMs: job.submitUntilMs - clock.steadyMs(),
    signal: job.signal,
    timeoutError,
  };
  try {
    return await runWithTimeout(options, (signal) =>
      line.enter(chooseRank(row), signal, async () => {
        await deps.endWishes();
        return await requestAdmission(ledger, row, sendId, job.mayHaveSent);
      }),
    );
  } catch (error) {
    // The ledger may have written the yes before it failed or the work was stopped.
    const released = releaseUnusedAdmission(deps, sendId);
    if (!isAway(error)) await released;
    throw error;
  }
}

/** Sends the submission once it may leave. Returns the row after it; `null` if nobody wants it any more. */
export async function submit(deps: StepDeps, row: RequestRow): Promise<RequestRow | null> {
  const { job, ledger, service, clock, log } = deps;
  if (row.body === null) throw new AudioError("not_found", "This request holds no text that could be sent.");
  if (clock.steadyMs() >= job.submitUntilMs) throw buildExpiry(job);
  await assertWithinBudget(deps, row);
  const sendId = randomUUID();
  const leave = await waitForLeave(deps, row, sendId);
  if (leave.kind === "unwanted" || leave.kind === "over_max_credits") return null;
  if (leave.kind === "repeated") throw repeatedError(leave.other, row);
  if (leave.kind === "over_budget") throw overBudgetError(ledger.creditBudget ?? 0, leave.spentCredits);
  // A send of this job that may have arrived is sent again in any case.
  const mayCallOff = job.isDoubtful && !job.mayHaveSent;
  const isWanted = !mayCallOff || (await isRequestWanted(ledger, row.id).catch(() => false));
  if (job.signal.aborted || !isWanted) {
    await releaseUnusedAdmission(deps, sendId);
    return null;
  }
  const admitted = leave.row;
  // A 503 has counted as a send that may have arrived, but was answered.
  const hadUnanswered = job.mayHaveSent;
  job.mayHaveSent = true;
  job.sendingSinceMs = clock.steadyMs();
  log.info(`request ${row.id} is sent, attempt ${admitted.n}, paid by ${admitted.payer ?? "its callers"}`);
  deps.announce(admitted);
  let task: ObservedTask;
  try {
    task = await service.submit(row.body, getIdempotencyKey(admitted) ?? "", job.sendSignal);
  } catch (thrown) {
    job.sendingSinceMs = null;
    if (!(thrown instanceof AudioError)) throw thrown;
    return await afterRefusal(deps, admitted, sendId, thrown, hadUnanswered);
  }
  job.sendingSinceMs = null;
  for (const deviation of task.deviations) log.warn(`task ${task.taskId}: ${deviation}`);
  // The task id is on disk before it is used. While the ledger cannot be written, only this process knows it.
  const patch = { ...toObservedPatch(task, admitted, clock.wallMs()), maybe: 0, note: null };
  job.unwritten = { ...admitted, ...patch };
  deps.announce(job.unwritten);
  const accepted = await deps.persistRow(() =>
    recordSendResult(ledger, admitted, { sendId, wasSent: true, mayHaveArrived: true }, patch),
  );
  job.unwritten = null;
  job.mayHaveSent = false;
  if (task.status !== "failed" || job.hasLostAnswer) job.newTaskCount += 1;
  log.info(`task ${task.taskId} was accepted for request ${row.id}`);
  if (accepted.owner !== ledger.identity.processId) return null;
  if (accepted.status !== "failed") return accepted;
  return await retryFailed(deps, accepted, !job.hasLostAnswer);
}

/** Answers that only put a submission off. */
const PUT_OFF: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "rate_limit",
  "concurrency_limit",
  "api_unavailable",
  "temporarily_unavailable",
]);

/** The error for a request that the service has not accepted in the time of the job. */
function buildExpiry({ lastError }: Job): AudioError {
  if (lastError !== null && !PUT_OFF.has(lastError.code)) return lastError;
  const why = lastError === null ? "" : ` The last time: ${lastError.message}`;
  return new AudioError("wait_expired", `The service did not accept the request within 65 minutes.${why}`, {
    retryable: true,
    remedy: {
      assistant: "Repeat the same call later: it is sent under the same key, so it never pays twice.",
      terminal: "Run the same command later: it is sent under the same key, so it never pays twice.",
    },
  });
}

/**
 * Refuses a task whose id another text had before: its audio would be that of the other text.
 *
 * @throws ForeignTaskError
 */
export async function assertOwnTask({ ledger }: StepDeps, row: RequestRow): Promise<void> {
  const { task_id, fingerprint, accepted_at_ms: acceptedAtMs } = row;
  if (task_id === null) return;
  // A task that was fetched by its id alone has no text, and may be this one.
  const others = (await findAttemptsOfTask(ledger, task_id)).filter(({ body }) => body !== null);
  const isEarlier = (other: RequestRow): boolean =>
    (other.accepted_at_ms ?? 0) < (acceptedAtMs ?? 0) ||
    (other.accepted_at_ms === acceptedAtMs && other.fingerprint < fingerprint);
  if (!others.some((other) => other.fingerprint !== fingerprint && isEarlier(other))) return;
  throw new ForeignTaskError(
    "unexpected_response",
    `The service answered with task ${task_id}, which is already the task of another request of this ledger. Its audio would be that of the other text.`,
    {
      remedy: {
        assistant:
          "Tell the user that the service gave one id to two texts. Repeat the same call: it asks for its own task under the same key, free. Only if that does not help: another take makes a new task, which is paid for.",
        terminal:
          "The same command asks for its own task once more, free. Another take makes a new task, which is paid for.",
      },
    },
  );
}

/** The id of an accepted task is that of another request. */
class ForeignTaskError extends AudioError {}

/**
 * Forgets the id of an accepted task if it must be wrong: it is another request's, or the service has never known it.
 * The key of the submission still names the task that was made.
 *
 * @returns the row, whose submission is to be sent again under its key; `null` if the id stays
 */
export async function forgetWrongId(
  deps: StepDeps,
  row: RequestRow,
  error: AudioError,
): Promise<RequestRow | null> {
  const { job } = deps;
  if (row.task_id === null || row.body === null || row.status === "saved") return null;
  const ageMs = Math.abs(deps.clock.wallMs() - (row.accepted_at_ms ?? 0));
  // Later the service may have removed the task together with its key, so that a send would make another one.
  const isNew = row.send_id !== null && ageMs < deps.timing.recoveryTimeoutMs && !job.hasAskedForId;
  if (!(error instanceof ForeignTaskError) && !(error.code === "not_found" && isNew)) return null;
  const { payer, payer_run, spent_at_ms, is_paid } = row;
  const unanswered = { ...UNSENT_ATTEMPT, status: "unresolved", maybe: 1, note: null } as const;
  const next = await deps.save(row, { ...unanswered, payer, payer_run, spent_at_ms, is_paid });
  deps.log.warn(`request ${row.id} was given the id of no task of its own, ${row.task_id}`);
  job.newTaskCount = Math.max(0, job.newTaskCount - 1);
  return next;
}

/** Adds the next step to a refusal after which nothing is sent again. */
function adviseAfterRefusal(error: AudioError, row: RequestRow): AudioError {
  // The service may have accepted an earlier send, although it refused this one.
  if (row.maybe > 0)
    return error.withRemedy({
      assistant: `An earlier send of this request got no answer and may have been accepted, with ${RESERVED_CREDITS} credits reserved. Fix the problem above, then repeat the same call, or call download_audio with task_id ${toRequestHandle(row.id)}: either finds that task and does not pay twice. Do not change text, settings or take instead.`,
      terminal: `An earlier send of this request got no answer, and ${RESERVED_CREDITS} credits may be reserved for it. Fix the problem above, and run the same command again: it finds that task, and does not pay twice.`,
    });
  // A 404 in answer to a submission means a wrong address, because no task exists yet.
  return error.code === "not_found"
    ? error.withRemedy(
        askUser(
          "check that AUDIO_BASE_URL is the service's address (without any path that is not part of it)",
          ". Nothing was charged",
        ),
      )
    : error;
}

/** Writes what a refused or unanswered send means, and waits until the next one is due. */
async function afterRefusal(
  deps: StepDeps,
  row: RequestRow,
  sendId: string,
  error: AudioError,
  hadUnanswered: boolean,
): Promise<RequestRow> {
  const { job, ledger, clock, timing, random, log } = deps;
  job.failureCount += 1;
  const decision = decideAfterFailure(error, job.failureCount, random);
  const isForCredits = error.code === "insufficient_credits";
  job.lastError = error;
  const mayHaveArrived = mayHaveCreatedTask(error);
  if (mayHaveArrived) job.hasLostAnswer = true;
  // A 503 is an answer, so nobody has to send it again; but a gateway may have answered for a service that accepted.
  if (!hadUnanswered && (!mayHaveArrived || decision.kind === "unavailable")) job.mayHaveSent = false;
  const delayMs = "delayMs" in decision ? decision.delayMs * timing.timeScale : 0;
  const nowMs = clock.wallMs();
  const note =
    decision.kind === "unavailable" || decision.kind === "retry"
      ? buildNote(
          row,
          {
            kind: decision.kind === "retry" ? "retrying" : "unavailable",
            error: toStoredError(error),
            untilMs: nowMs + delayMs,
          },
          nowMs,
        )
      : isForCredits
        ? buildNote(row, { kind: "credits", untilMs: null }, nowMs)
        : null;
  const result: SendResult = {
    sendId,
    wasSent: !wasNeverSent(error),
    mayHaveArrived,
    ...(decision.kind === "rate_limited" ? { cooldownMs: decision.pauseMs * timing.timeScale } : {}),
  };
  const next = await deps.persistRow(() => recordSendResult(ledger, row, result, { note }));
  if (!mayHaveArrived) deps.line.wake();
  // Meanwhile the process that had sent it before has heard that it was accepted.
  if (next.task_id !== null) return next;
  if (isForCredits && (await waitForReturnedCredits(deps, row))) return next;
  log.info(
    `request ${row.id} was not accepted: ${error.code}, ${decision.kind} after ${Math.round(delayMs)} ms`,
  );
  if (decision.kind === "stop") {
    throw adviseAfterRefusal(error, next);
  }
  job.signal.throwIfAborted();
  if (delayMs > 0) await clock.sleep(delayMs, job.signal);
  return next;
}
