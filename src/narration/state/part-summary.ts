/** Summarizes the parts of a narration. The status of a part is read from its record, and is stored nowhere else. */
import { chargeForSeconds, RESERVED_CREDITS } from "../../contract/billing.ts";
import { toRequestLookupKey } from "../../ledger/identity.ts";
import { deriveConcurrencySlotState, type RequestRecord } from "../../ledger/record.ts";
import type { PartOperations } from "../../requests/use-cases/generate-part.ts";
import type { NarrationBill } from "./narration-bill.ts";
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { buildPartRequest } from "./part-request.ts";

export type PartRecordStatus = "not_started" | "running" | "saved" | "failed";

export interface PartSummary {
  /** Statuses in the order of the plan. */
  readonly statuses: readonly PartRecordStatus[];
  readonly records: readonly (RequestRecord | null)[];
  readonly alreadyPaidCount: number;
  /** Charges of the tasks on the narration's bill. */
  readonly chargedCredits: number;
  /** Reservations of the running tasks on the narration's bill. */
  readonly reservedCredits: number;
  /**
   * The charges so far, plus the likely charges of the missing parts. Equal parts count once, because they share one
   * task.
   */
  readonly estimatedCredits: number;
  /** The likely charge of running tasks. */
  readonly pendingChargeCredits: number;
  /** Reservations of running tasks that no part needs now, because another take was chosen. */
  readonly unneededReservedCredits: number;
  /** Number of tasks whose audio is not saved yet, including the running tasks. Equal parts count once. */
  readonly unfinishedTaskCount: number;
  readonly estimatedSeconds: number;
  readonly savedSeconds: number;
  /**
   * Length and likely charge of each part, in the order of the plan. The charge is 0 for a part that is already paid.
   * Of equal parts, only the first has a charge.
   */
  readonly estimates: readonly PartEstimate[];
}

export interface PartEstimate {
  readonly seconds: number;
  readonly credits: number;
}

/** Maximum number of records that are read at a time. */
const MAX_CONCURRENT_READS = 64;

/**
 * Returns the ratio of actual to estimated length of the parts with audio, limited to the range from 1/3 to 3; `null`
 * if no part has audio yet. Estimates and the suggested `max_credits` use this ratio.
 */
function computeOwnCalibration(plan: StoredPlan, records: readonly (RequestRecord | null)[]): number | null {
  let estimated = 0;
  let actual = 0;
  plan.parts.forEach((part, index) => {
    const seconds = records[index]?.audioSeconds ?? null;
    if (seconds === null) return;
    estimated += part.estimatedSeconds;
    actual += seconds;
  });
  return estimated === 0 ? null : Math.min(3, Math.max(1 / 3, actual / estimated));
}

/**
 * Derives the status of a part from its record; `null` means that the part was never requested. A task that has
 * succeeded counts as `running` until its audio is saved. The file of a `saved` part may be missing by now.
 */
export function derivePartStatus(record: RequestRecord | null): PartRecordStatus {
  if (record === null) return "not_started";
  if (record.status === "succeeded" && record.files.some(({ matchesFormat }) => matchesFormat))
    return "saved";
  const isLost = record.isGone || record.isTooLarge || record.files.length > 0;
  if (record.status === "failed" || isLost) return "failed";
  return deriveConcurrencySlotState(record) !== null || record.status === "succeeded"
    ? "running"
    : "not_started";
}

/** Returns the charges of a record's attempts. A running task does not count, because it is charged when it ends. */
export const sumRecordCharge = (record: RequestRecord): number =>
  deriveConcurrencySlotState(record) === null ? (record.spend?.credits ?? 0) : record.earlierCredits;

async function readRecords(
  parts: PartOperations,
  plan: StoredPlan,
  state: Pick<NarrationState, "retakes">,
): Promise<(RequestRecord | null)[]> {
  const records: (RequestRecord | null)[] = [];
  for (let from = 0; from < plan.parts.length; from += MAX_CONCURRENT_READS) {
    const some = plan.parts.slice(from, from + MAX_CONCURRENT_READS);
    const pendingRecords = some.map((_, offset) =>
      parts.findRecord(buildPartRequest(plan, state, from + offset)),
    );
    records.push(...(await Promise.all(pendingRecords)));
  }
  return records;
}

/** Reads the records of all parts once, and summarizes them. */
export async function summarizeParts(
  parts: PartOperations,
  plan: StoredPlan,
  state: NarrationState,
  bill: NarrationBill,
): Promise<PartSummary> {
  const records = await readRecords(parts, plan, state);
  const partsWithProblems = new Set(state.problems.map(({ partIndex }) => partIndex));
  // A saved part with a problem, such as audio that cannot be joined, counts as failed.
  const statuses = records.map((record, index) => {
    const status = derivePartStatus(record);
    return status === "saved" && partsWithProblems.has(index) ? "failed" : status;
  });
  const calibration =
    computeOwnCalibration(plan, records) ?? (await parts.readCalibration(plan.settings.voice ?? null));
  const seenRequests = new Set<string>();
  const partSummary = {
    alreadyPaidCount: 0,
    chargedCredits: bill.chargedCredits,
    reservedCredits: bill.reservedCredits,
    estimatedCredits: bill.chargedCredits,
    estimatedSeconds: 0,
    savedSeconds: 0,
    unfinishedTaskCount: 0,
    pendingChargeCredits: 0,
    unneededReservedCredits: bill.reservedCredits,
  };
  const estimates: PartEstimate[] = [];
  plan.parts.forEach((part, index) => {
    const record = records[index] ?? null;
    const isSaved = statuses[index] === "saved";
    const seconds = record?.audioSeconds ?? part.estimatedSeconds * calibration;
    partSummary.estimatedSeconds += seconds + part.pauseAfterSeconds;
    if (isSaved) partSummary.savedSeconds += record?.audioSeconds ?? 0;
    if (
      isSaved &&
      record !== null &&
      !bill.chargedByRequest.has(toRequestLookupKey(record.requestFingerprint))
    )
      partSummary.alreadyPaidCount += 1;
    const requestJson = JSON.stringify(buildPartRequest(plan, state, index));
    const isToPay = !isSaved && !seenRequests.has(requestJson);
    const credits = isToPay ? chargeForSeconds(part.estimatedSeconds * calibration) : 0;
    estimates.push({ seconds: seconds + part.pauseAfterSeconds, credits });
    if (!isToPay) return;
    seenRequests.add(requestJson);
    partSummary.unfinishedTaskCount += 1;
    partSummary.estimatedCredits += credits;
    if (
      record === null ||
      deriveConcurrencySlotState(record) === null ||
      !bill.chargedByRequest.has(toRequestLookupKey(record.requestFingerprint))
    )
      return;
    partSummary.pendingChargeCredits += credits;
    partSummary.unneededReservedCredits -= RESERVED_CREDITS;
  });
  return {
    ...partSummary,
    estimatedCredits: Math.round(partSummary.estimatedCredits),
    pendingChargeCredits: Math.round(partSummary.pendingChargeCredits),
    unneededReservedCredits: Math.max(0, partSummary.unneededReservedCredits),
    statuses,
    records,
    estimates,
  };
}
