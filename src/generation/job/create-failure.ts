/** What becomes of a create that was not accepted: given up, or to be sent again after the wait that happens here. */
import { decideCreate, mayHaveArrived, wasNeverSent } from "../../api/retry.ts";
import { AudioError } from "../../errors.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { SlotRelease } from "../../ledger/rules/api-key-state.ts";
import type { CreateGrant } from "../../limits/limits.ts";
import type { GenerationDeps } from "../deps.ts";
import { handleOf } from "../handle.ts";
import { creditHolders, waitForCredits } from "./credit-holders.ts";
import type { Job } from "./job.ts";

export type Admitted = Extract<CreateGrant, { kind: "admitted" }>;

/** A 404 to a create is about the address: there is no task yet that could be unknown. */
const noSuchService = (error: AudioError): AudioError =>
  new AudioError("not_found", error.message, {
    httpStatus: error.httpStatus,
    idempotencyKey: error.idempotencyKey,
    remedy:
      "Ask the user to check that AUDIO_BASE_URL is the service's address (without any path that is not part of it). Nothing was charged.",
  });

/** A refusal of a repeat says nothing of the send before it, whose answer was never seen. */
const mayBeTaken = (error: AudioError, record: TaskRecord): AudioError =>
  new AudioError(error.code, error.message, {
    httpStatus: error.httpStatus,
    idempotencyKey: error.idempotencyKey,
    remedy: `An earlier sending of this very request was never answered: it may have been accepted, with 150 credits reserved. Mend what is said above, then repeat the same call, or call download_audio with task_id ${handleOf(record)}: either finds that task and does not pay twice. Do not change text, settings or take instead.`,
  });

/**
 * Sorts a failed create, tells the ledger, and waits out what has to be waited for.
 *
 * @param tries how many creates this job has sent
 * @param hadBeenSent whether an earlier send of this job may have arrived
 * @returns what went wrong on the way to the service; `null` where it answered
 * @throws AudioError where another send would bring nothing else
 */
export async function handleCreateFailure(
  job: Job,
  deps: GenerationDeps,
  { send, record }: Admitted,
  error: AudioError,
  tries: number,
  hadBeenSent: boolean,
): Promise<AudioError | null> {
  const { limits, ledger, clock, timing, random, log } = deps;
  const known = error.withIds({ idempotencyKey: record.idempotencyKey ?? undefined });
  const holders = error.code === "insufficient_credits" ? await creditHolders(record, deps) : null;
  const decision = holders === null ? decideCreate(known, tries, random) : ({ kind: "credits" } as const);
  const isUnknown = mayHaveArrived(error);
  const slot: SlotRelease = { slotId: send, outcome: wasNeverSent(error) ? "unsent" : "counts" };
  if (isUnknown) {
    job.unansweredAttempt = record.attempt;
    // An answer all the same: whoever has cancelled is not made to pay by another send.
    if (decision.kind === "unavailable" && !hadBeenSent) job.clearSent();
    await limits.report("the end of a create", () => ledger.store.releaseSlot(slot));
  } else {
    job.record = (await notTaken(job, deps, { kind: "notTaken", send }, slot)) ?? job.record;
    limits.freed();
    if (!hadBeenSent) job.clearSent();
  }
  if (decision.kind === "stop") {
    log.info(`the service refused a create: ${error.code}`);
    if (job.record.mayHaveArrived) throw mayBeTaken(known, job.record);
    throw known.code === "not_found" ? noSuchService(known) : known;
  }
  job.signal.throwIfAborted();
  if (decision.kind === "limited") {
    const untilMs = clock.steadyMs() + decision.retryAfterSeconds * 1000 * timing.scale;
    job.enter({ kind: "held", reason: "paused", untilMs });
    await limits.pause("creates", decision.retryAfterSeconds);
    return null;
  }
  if (decision.kind === "credits") {
    job.enter({ kind: "held", reason: "credits", untilMs: clock.steadyMs() + timing.recoveryMs });
    if (holders !== null) await waitForCredits(record, deps, holders, job.signal);
    return known;
  }
  const delayMs = decision.delayMs * timing.scale;
  const untilMs = clock.steadyMs() + delayMs;
  if (decision.kind === "unavailable") job.enter({ kind: "held", reason: "unavailable", untilMs });
  else job.enter({ kind: "retrying", error: known, untilMs });
  await clock.sleep(delayMs, job.signal);
  return decision.kind === "unavailable" ? null : known;
}

/** The store may be away: then it is told later, and the next admission goes by what is stored. */
async function notTaken(
  job: Job,
  { ledger, limits }: GenerationDeps,
  event: { readonly kind: "notTaken"; readonly send: string },
  slot: SlotRelease,
): Promise<Job["record"] | null> {
  const { record } = job;
  let stored: Job["record"] | null = record;
  await limits.report("that a create was not taken", async () => {
    stored = await ledger.apply(record, event, { slot });
  });
  return stored;
}
