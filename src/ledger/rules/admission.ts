/** Decides whether a submission may be sent. No other code permits spending. Pure: uses no store and no clock. */
import type { ProcessId } from "../../process-id.ts";
import {
  type ApiKeyState,
  computeCooldownLeftMs,
  computeRateWaitMs,
  isRateSlotPending,
} from "./api-key-state.ts";
import { type ConcurrencySlot, listConcurrencySlotExpiriesMs } from "./concurrency-slots.ts";
import { findLeaseOwner, type Lease } from "./lease.ts";

/** The limits that apply to a submission. */
export interface AdmissionLimits {
  readonly maxSubmissions: number;
  readonly limitWindowMs: number;
  readonly maxConcurrentTasks: number;
  /** How long an unresolved submission keeps its concurrency slot after its process was last seen alive. */
  readonly unresolvedSlotTtlMs: number;
  /** Maximum spend of all records of the service within a window of wall-clock time; `null` for no budget. */
  readonly budget: { readonly credits: number; readonly windowMs: number } | null;
}

/** The facts about the narration that a submission is sent for. */
export interface NarrationFacts {
  /** Whether the narration is running: it was started, and it was neither stopped nor completed. */
  readonly isNarrationWanted: boolean;
  /** The most credits that the narration may cost. */
  readonly maxCredits: number;
  readonly lease: Lease | null;
  /** The credits that are reserved or charged for the narration's other requests. */
  readonly billedCredits: number;
}

export interface SubmissionToAdmit {
  readonly sendId: string;
  readonly owner: ProcessId;
  readonly expectedRevision: number;
  /** The record to store if the submission is admitted: `unresolved`, with its reservation in `spendCredits`. */
  readonly admittedRecord: { readonly recordJson: string; readonly spendCredits: number };
  readonly limits: AdmissionLimits;
}

/** The state of the ledger at the time of the decision. */
export interface AdmissionFacts {
  /** The stored record; `undefined` if there is none. */
  readonly record:
    | { readonly revision: number | null; readonly recordJson: string; readonly lease: Lease | null }
    | undefined;
  readonly state: ApiKeyState;
  /** The concurrency slots that the API key's other records have taken. */
  readonly otherConcurrencySlots: readonly ConcurrencySlot[];
  /** The spend of the service within the budget's window, without the spend of this record. */
  readonly spentInWindowCredits: number;
  /** Whether a call or an MCP task still wants the submission. */
  readonly isSubmissionWanted: boolean;
  /** `null` for a direct request, which belongs to no narration. */
  readonly narration: NarrationFacts | null;
}

export type AdmissionWaitReason = "cooldown" | "rate" | "concurrency";

export type AdmissionDecision =
  | { readonly kind: "admitted" }
  /** The record has changed, or another process has its lease. `recordJson`: the record as stored now. */
  | { readonly kind: "conflict"; readonly recordJson: string | undefined; readonly isLeaseLost: boolean }
  /** Every MCP task was cancelled, or the narration was stopped, or another process drives the narration. */
  | { readonly kind: "not_wanted" }
  | { readonly kind: "over_max_credits"; readonly maxCredits: number; readonly billedCredits: number }
  | { readonly kind: "over_budget"; readonly spentInWindowCredits: number }
  /**
   * `waitMs`: milliseconds until the next request for admission. For `concurrency` this is a maximum, because a task
   * may end earlier.
   */
  | { readonly kind: "wait"; readonly reason: AdmissionWaitReason; readonly waitMs: number };

/** Whether the admission is already stored. This happens if the response to an earlier try was lost. */
export function isRepeatedAdmission(
  { sendId, admittedRecord }: SubmissionToAdmit,
  { record, state }: AdmissionFacts,
): boolean {
  return record?.recordJson === admittedRecord.recordJson && isRateSlotPending(state, sendId);
}

/**
 * Checks in this order: record and lease, whether the submission is wanted, narration, budget, cooldown, rate,
 * concurrency slots. Only the last three return a time to wait. They come last, so that a submission that will be
 * refused does not wait first.
 */
export function decideAdmission(
  request: SubmissionToAdmit,
  facts: AdmissionFacts,
  nowSteadyMs: number,
): AdmissionDecision {
  if (isRepeatedAdmission(request, facts)) return { kind: "admitted" };
  const { owner, expectedRevision, admittedRecord, limits, sendId } = request;
  const { record, state, otherConcurrencySlots, spentInWindowCredits, isSubmissionWanted, narration } = facts;

  const leasedBy = findLeaseOwner(record?.lease ?? null, nowSteadyMs);
  const isLeaseLost = leasedBy !== null && leasedBy !== owner;
  if (record?.revision !== expectedRevision || isLeaseLost) {
    return { kind: "conflict", recordJson: record?.recordJson, isLeaseLost };
  }
  if (!isSubmissionWanted) return { kind: "not_wanted" };
  const narrationDecision =
    narration === null ? null : checkNarration(narration, admittedRecord.spendCredits, owner, nowSteadyMs);
  if (narrationDecision !== null) return narrationDecision;
  if (limits.budget !== null && spentInWindowCredits + admittedRecord.spendCredits > limits.budget.credits) {
    return { kind: "over_budget", spentInWindowCredits };
  }
  const cooldownMs = computeCooldownLeftMs(state, nowSteadyMs);
  if (cooldownMs > 0) return { kind: "wait", reason: "cooldown", waitMs: cooldownMs };
  const rateMs = computeRateWaitMs(state, { ...limits, exceptSendId: sendId }, nowSteadyMs);
  if (rateMs > 0) return { kind: "wait", reason: "rate", waitMs: rateMs };
  const slotExpiriesMs = listConcurrencySlotExpiriesMs(otherConcurrencySlots, state, limits, nowSteadyMs);
  // The expiry times are sorted, the soonest first. When the selected slot expires, `maxConcurrentTasks - 1` slots stay
  // occupied, so that one is free.
  const concurrencySlotFreeAtMs = slotExpiriesMs[slotExpiriesMs.length - limits.maxConcurrentTasks];
  if (concurrencySlotFreeAtMs !== undefined) {
    return { kind: "wait", reason: "concurrency", waitMs: concurrencySlotFreeAtMs - nowSteadyMs };
  }
  return { kind: "admitted" };
}

/** Returns the decision against the submission; `null` if its narration allows it. */
function checkNarration(
  { isNarrationWanted, maxCredits, lease, billedCredits }: NarrationFacts,
  spendCredits: number,
  owner: ProcessId,
  nowSteadyMs: number,
): AdmissionDecision | null {
  const drivenBy = findLeaseOwner(lease, nowSteadyMs);
  if (!isNarrationWanted || (drivenBy !== null && drivenBy !== owner)) return { kind: "not_wanted" };
  if (billedCredits + spendCredits > maxCredits)
    return { kind: "over_max_credits", maxCredits, billedCredits };
  return null;
}
