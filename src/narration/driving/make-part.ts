/** Makes one part of a narration, or waits for its task, and returns the outcome. */
import { AudioError, type ErrorCode, internalError } from "../../errors.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { NotWantedError } from "../../requests/job/job.ts";
import type { PartCall, PartOperations, PartRequest } from "../../requests/use-cases/generate-part.ts";
import type { NarrationProblem } from "../state/narration-state.ts";
import { derivePartStatus, sumRecordCharge } from "../state/part-summary.ts";
import type { PartState } from "./driver-step.ts";
import { buildProblem, buildUnusableAudioProblem, concernsOnePart } from "./part-problems.ts";
import { STATES_BY_STATUS } from "./part-table.ts";

export type PartOutcome =
  /** The work on the part ended without an error, or was aborted. `state` is the state of the part after that. */
  | { readonly kind: "ended"; readonly state: PartState }
  | { readonly kind: "failed"; readonly problem: NarrationProblem; readonly isRefunded: boolean }
  /** The credits do not suffice now, but may suffice when another running part ends. */
  | { readonly kind: "out_of_credits"; readonly error: AudioError }
  /** The error concerns the whole narration. */
  | { readonly kind: "blocked"; readonly error: unknown };

/**
 * Errors that may disappear when a running part ends, because credits that were reserved but not charged then become
 * free.
 */
const CREDIT_ERROR_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "budget_exceeded",
  "max_credits_reached",
]);

/**
 * Makes and saves a part.
 *
 * @throws the errors of `findRecord`
 */
export async function makePart(
  partOperations: PartOperations,
  partIndex: number,
  request: PartRequest,
  call: PartCall,
): Promise<PartOutcome | { readonly kind: "not_wanted" }> {
  try {
    await partOperations.generate(request, call);
    return { kind: "ended", state: "saved" };
  } catch (error) {
    if (error instanceof NotWantedError) return { kind: "not_wanted" };
    if (call.signal.aborted) return await readOutcome(partOperations, request);
    const audioError = error instanceof AudioError ? error : internalError(error);
    if (CREDIT_ERROR_CODES.has(audioError.code)) return { kind: "out_of_credits", error: audioError };
    if (!concernsOnePart(audioError)) return { kind: "blocked", error: audioError };
    const record = await partOperations.findRecord(request);
    const isRefunded =
      audioError.code === "task_failed" && (record === null || sumRecordCharge(record) === 0);
    return { kind: "failed", problem: buildPartProblem(record, partIndex, audioError), isRefunded };
  }
}

/** Waits for a part whose submission was already sent, until the part is saved. Sends no submission. */
export async function finishSentPart(
  partOperations: PartOperations,
  request: PartRequest,
  signal: AbortSignal,
): Promise<PartOutcome> {
  await partOperations.awaitSent(request, { signal });
  const state = await readState(partOperations, request);
  // If the part is still `sent`, return `to_do`, because the driver would wait again and again for a `sent` part.
  return { kind: "ended", state: state === "sent" ? "to_do" : state };
}

/** Reads the state of a part whose work ended without a result. */
export async function readOutcome(
  partOperations: PartOperations,
  request: PartRequest,
): Promise<PartOutcome> {
  return { kind: "ended", state: await readState(partOperations, request) };
}

async function readState(partOperations: PartOperations, request: PartRequest): Promise<PartState> {
  return STATES_BY_STATUS[derivePartStatus(await partOperations.findRecord(request))];
}

/**
 * Builds the problem of a failed part. If the part is paid, the problem says that the audio is unusable, because only
 * another take helps.
 */
export function buildPartProblem(
  record: RequestRecord | null,
  partIndex: number,
  error: AudioError,
): NarrationProblem {
  const isPaid = record !== null && (record.status === "succeeded" || record.isGone);
  return isPaid ? buildUnusableAudioProblem(error.message, partIndex) : buildProblem(error, partIndex);
}
