/** Brings a claimed record to a task id: its turn, the create, and its repeats under the same key. */
import type { ObservedTask } from "../../api/service.ts";
import { Deadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { SlotRelease } from "../../ledger/rules/api-key-state.ts";
import type { CreateGrant } from "../../limits/limits.ts";
import type { GenerationDeps } from "../deps.ts";
import { type Admitted, handleCreateFailure } from "./create-failure.ts";
import { type Job, NotWantedError } from "./job.ts";
import { persist } from "./persist.ts";

/**
 * Sends the record's create until the service has taken it, refused it, or the recovery window has ended.
 *
 * @param onInFlightFull told when tasks in flight hold the create back, so that orphaned ones get watched
 * @returns whether this job's create was answered, or another process had the task made
 * @throws AudioError the service's refusal, `budget_exceeded`, `store_unavailable`, or the last failure
 */
export async function createTask(
  job: Job,
  deps: GenerationDeps,
  onInFlightFull: () => void,
): Promise<"answered" | "elsewhere"> {
  const giveUp = new Deadline(deps.clock, deps.timing.recoveryMs);
  let lastError: AudioError | null = null;
  for (let tries = 1; !giveUp.isOver; ) {
    job.signal.throwIfAborted();
    const grant = await takeTurn(job, deps, giveUp, onInFlightFull);
    if (grant === null) break;
    if (grant.kind !== "admitted") {
      await reloadRecord(job, deps, grant);
      if (job.record.taskId !== null) return "elsewhere";
      continue;
    }
    lastError = await send(job, deps, grant, tries);
    tries += 1;
    if (job.record.taskId !== null) return "answered";
  }
  throw (
    lastError ??
    new AudioError("wait_expired", "The service did not take the request within the recovery window.", {
      retryable: true,
      idempotencyKey: job.record.idempotencyKey ?? undefined,
      remedy: "Repeat the same call later: it is sent under the same key, so it never pays twice.",
    })
  );
}

/** `null`: its turn did not come in time. */
async function takeTurn(
  job: Job,
  { limits, clock }: GenerationDeps,
  giveUp: Deadline,
  onInFlightFull: () => void,
): Promise<CreateGrant | null> {
  const expiry = new AbortController();
  const settled = new AbortController();
  giveUp.passed(settled.signal).then(
    () => expiry.abort(),
    () => undefined,
  );
  const signal = AbortSignal.any([job.signal, expiry.signal]);
  try {
    const grant = await limits.admitCreate({
      record: job.record,
      // What may have arrived is seen through: its credits are held already.
      narrationId: () => (job.mayHaveBeenSent ? null : job.narrationId),
      isForHandles: () => job.isForHandles,
      signal,
      onWaiting: (reason, waitMs) => {
        job.enter({ kind: "held", reason, untilMs: clock.steadyMs() + waitMs });
        if (reason === "in_flight") onInFlightFull();
      },
    });
    // The caller may have cancelled while the ledger was writing: nothing has been sent yet.
    if (job.signal.aborted) await limits.giveBack(grant);
    job.signal.throwIfAborted();
    return grant;
  } catch (error) {
    if (expiry.signal.aborted && !job.signal.aborted) return null;
    throw error;
  } finally {
    settled.abort("settled");
  }
}

/** Another process was at this record: what became of it is looked at. */
async function reloadRecord(
  job: Job,
  { ledger }: GenerationDeps,
  grant: Exclude<CreateGrant, Admitted>,
): Promise<void> {
  if (grant.kind === "not_wanted") throw new NotWantedError("nobody wants the create any more");
  if (grant.isLeaseLost) job.stop();
  job.signal.throwIfAborted();
  if (grant.record === null) {
    // It was refused and forgotten under somebody else's lease: this is a new claim of the same request.
    const { record, isOurs } = await ledger.claim(job.record);
    if (!isOurs) job.stop();
    job.signal.throwIfAborted();
    job.record = record;
  } else job.record = grant.record;
}

/**
 * Sends once. Where it was not accepted, whatever had to be waited for has been.
 *
 * @returns what went wrong on the way to the service; `null` when it answered
 */
async function send(
  job: Job,
  deps: GenerationDeps,
  grant: Admitted,
  tries: number,
): Promise<AudioError | null> {
  const { service, limits, clock } = deps;
  job.record = grant.record;
  const { input, idempotencyKey: key, attempt } = grant.record;
  if (input === null || key === null) {
    await limits.giveBack(grant);
    throw new AudioError("not_found", "This record holds no request that could be sent.");
  }
  const hadBeenSent = job.mayHaveBeenSent;
  job.mayHaveBeenSent = true;
  // From here to the request nothing is waited for: a cancel comes before it, or after.
  job.enter({ kind: "sending", sinceMs: clock.steadyMs(), before: job.phase });
  const slot: SlotRelease = { slotId: grant.send, outcome: "counts" };
  let task: ObservedTask;
  try {
    task = await service.create(input, key, job.sendSignal);
  } catch (error) {
    limits.ended(grant.send);
    if (!(error instanceof AudioError)) {
      await limits.report("the end of a create", () => deps.ledger.store.releaseSlot(slot));
      throw error;
    }
    return await handleCreateFailure(job, deps, grant, error, tries, hadBeenSent);
  }
  limits.ended(grant.send);
  for (const oddity of task.oddities) deps.log.warn(`task ${task.taskId}: ${oddity}`);
  // A failed task that answers the first send was some earlier call's; after a lost answer it may be this one's.
  if (task.status !== "failed" || job.unansweredAttempt === attempt) job.newTasks += 1;
  // The task id before anything else happens.
  await persist(job, deps, { kind: "observed", attempt, task, atMs: clock.wallMs() }, { slot });
  job.mayHaveBeenSent = false;
  if (job.record.taskId !== null && job.record.taskId !== task.taskId) {
    deps.log.error(`the service answered one key with two tasks, ${job.record.taskId} and ${task.taskId}`);
  }
  job.signal.throwIfAborted();
  job.announce(`Accepted as task ${task.taskId}; 150 credits are reserved.`);
  return null;
}
