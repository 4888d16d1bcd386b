/**
 * Stores what allows or delays submissions: admissions, rate slots and cooldowns. Also reads the spend that budgets
 * count.
 */
import type { ProcessId } from "../../process-id.ts";
import { toRequestLookupKey } from "../identity.ts";
import type { RecordRow } from "../record.ts";
import {
  type AdmissionDecision,
  type AdmissionLimits,
  decideAdmission,
  isRepeatedAdmission,
} from "../rules/admission.ts";
import {
  type ApiKeyState,
  type SendOutcome,
  withCooldown,
  withoutOldRateSlots,
  withRateSlot,
  withSendOutcome,
} from "../rules/api-key-state.ts";
import { sumBilledCredits } from "../rules/bill.ts";
import { hasLongExpired } from "../rules/concurrency-slots.ts";
import { renewLease } from "../rules/lease.ts";
import { isMcpTaskWanted } from "../rules/mcp-task.ts";
import { computeLastBucketBefore, SPEND_RETENTION_MS } from "../rules/spend.ts";
import {
  buildClampConcurrencySlotStatement,
  buildDeleteSpendStatement,
  buildFreeConcurrencySlotStatement,
  buildSelectAdmissionStatements,
  buildSelectSpentCreditsStatement,
  parseLoadedAdmission,
  parseSpentCredits,
} from "./admission-rows.ts";
import type { LedgerScope } from "./ledger-scope.ts";
import type { LedgerTransactions } from "./ledger-transactions.ts";
import { buildAddToBillStatement, parseAdmissionFields } from "./narration-rows.ts";
import { buildDeleteRefusedStatements, buildSaveRecordStatements } from "./record-rows.ts";
import type { SqlEngine } from "./sql-engine.ts";

export interface AdmissionRequest extends AdmissionLimits {
  /** The record to store if the submission is admitted: `unresolved`, with its reservation in `spend`. */
  readonly admittedRow: RecordRow;
  readonly expectedRevision: number;
  /**
   * The id of the send, chosen by the caller. If the answer is lost, the admission can be repeated or released by this
   * id.
   */
  readonly sendId: string;
  /** The narration that the submission is sent for and that pays for it; `null` for a direct request. */
  readonly narrationId: string | null;
  /**
   * Whether every caller that waits has an MCP task. If so, the submission is no longer wanted as soon as all MCP
   * tasks of its record are cancelled.
   */
  readonly hasOnlyMcpTaskCallers?: boolean;
}

export interface AdmissionStoreOptions {
  readonly engine: SqlEngine;
  readonly transactions: LedgerTransactions;
  readonly scope: LedgerScope;
  readonly processId: ProcessId;
  readonly wallMs: () => number;
}

/**
 * How long the records of refused requests are kept. They need not be kept longer, because they contain nothing but the
 * reason of the refusal.
 */
const REFUSAL_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * Admits submissions, and stores their outcomes and the cooldowns. All processes with the same API key and ledger share
 * this data, so that together they keep within the limits of the service. The budget counts the spend under all API
 * keys of the service.
 */
export class AdmissionStore {
  readonly #options: AdmissionStoreOptions;

  constructor(options: AdmissionStoreOptions) {
    this.#options = options;
  }

  /**
   * Asks {@link decideAdmission}. If the submission is admitted, takes a rate slot and a concurrency slot, and writes
   * the record.
   */
  admit(request: AdmissionRequest): Promise<AdmissionDecision> {
    const { transactions, scope, processId } = this.#options;
    const {
      admittedRow,
      expectedRevision,
      sendId,
      budget,
      limitWindowMs,
      narrationId,
      hasOnlyMcpTaskCallers = false,
    } = request;
    const { apiKeyId, recordId, requestFingerprint } = admittedRow;
    const wallMs = this.#options.wallMs();
    const lastBucket = computeLastBucketBefore(wallMs, budget?.windowMs ?? 0);
    return transactions.run<AdmissionDecision>({
      durability: "survives_power_cut",
      mustLockService: budget !== null,
      narrationId,
      loadStatements: buildSelectAdmissionStatements(scope, admittedRow, narrationId, lastBucket),
      decide: (rows, before, nowSteadyMs, narration) => {
        const { loaded, otherConcurrencySlots, spentInWindowCredits, openMcpTasks, bill } =
          parseLoadedAdmission(rows, recordId, lastBucket);
        const { stored } = loaded;
        const state = withoutOldRateSlots(before, limitWindowMs, nowSteadyMs);
        const facts = {
          record: stored,
          state,
          otherConcurrencySlots: otherConcurrencySlots.map(({ concurrencySlot }) => concurrencySlot),
          spentInWindowCredits,
          // A submission that may have reached the service stays wanted, even if every caller cancels.
          isSubmissionWanted:
            !hasOnlyMcpTaskCallers || stored?.status !== "waiting" || openMcpTasks.some(isMcpTaskWanted),
          narration:
            narrationId === null
              ? null
              : {
                  ...parseAdmissionFields(narration?.state ?? ""),
                  lease: narration?.lease ?? null,
                  billedCredits: sumBilledCredits(bill, apiKeyId, toRequestLookupKey(requestFingerprint)),
                },
        };
        const requested = {
          sendId,
          owner: processId,
          expectedRevision,
          admittedRecord: {
            recordJson: admittedRow.recordJson,
            spendCredits: admittedRow.spend?.credits ?? 0,
          },
          limits: request,
        };
        const result = decideAdmission(requested, facts, nowSteadyMs);
        // A time in the future comes from a clock that has started again. Set it to the present, so that the slot expires.
        const clampStatements = otherConcurrencySlots
          .filter(({ concurrencySlot }) => (concurrencySlot.sinceSteadyMs ?? 0) > nowSteadyMs)
          .map((other) => buildClampConcurrencySlotStatement(apiKeyId, other.recordId, nowSteadyMs));
        if (result.kind !== "admitted" || isRepeatedAdmission(requested, facts)) {
          return { result, saveStatements: clampStatements };
        }
        const expiredSlots = otherConcurrencySlots.filter(({ concurrencySlot }) =>
          hasLongExpired(concurrencySlot, state, request, nowSteadyMs),
        );
        return {
          result,
          state: withRateSlot(state, { sendId, owner: processId }, nowSteadyMs),
          saveStatements: [
            ...buildSaveRecordStatements(loaded, admittedRow, {
              // Each send restarts the time of the concurrency slot.
              concurrencySlot: {
                state: admittedRow.concurrencySlotState,
                sinceSteadyMs: nowSteadyMs,
                owner: processId,
              },
              lease: renewLease(stored?.lease ?? null, processId, nowSteadyMs),
            }),
            ...(narrationId === null
              ? []
              : [buildAddToBillStatement(scope, narrationId, toRequestLookupKey(requestFingerprint))]),
            ...clampStatements,
            ...buildDeleteRefusedStatements(apiKeyId, wallMs - REFUSAL_RETENTION_MS),
            ...expiredSlots.map((other) => buildFreeConcurrencySlotStatement(apiKeyId, other.recordId)),
            buildDeleteSpendStatement(scope.baseUrl, computeLastBucketBefore(wallMs, SPEND_RETENTION_MS)),
          ],
        };
      },
    });
  }

  /** Sums the credits that the budget counts now, over all keys of the service. */
  async sumSpentCredits(windowMs: number): Promise<number> {
    const { engine, scope, wallMs } = this.#options;
    const lastBucket = computeLastBucketBefore(wallMs(), windowMs);
    const [rows = []] = await engine.read([buildSelectSpentCreditsStatement(scope.baseUrl, lastBucket)]);
    return parseSpentCredits(rows);
  }

  /** Stores whether an admitted submission was sent, and frees its rate slot if it was not. */
  recordSendOutcome(sendOutcome: SendOutcome): Promise<void> {
    return this.#changeState((state, nowSteadyMs) => withSendOutcome(state, sendOutcome, nowSteadyMs));
  }

  /**
   * Starts a cooldown: for `ms` milliseconds, no process sends submissions under this API key. If a running cooldown
   * ends later, keeps the running cooldown.
   */
  startCooldown(ms: number): Promise<void> {
    return this.#changeState((state, nowSteadyMs) => withCooldown(state, ms, nowSteadyMs));
  }

  #changeState(change: (state: ApiKeyState, nowSteadyMs: number) => ApiKeyState): Promise<void> {
    return this.#options.transactions.run({
      durability: "survives_process_kill",
      loadStatements: [],
      decide: (_rows, state, nowSteadyMs) => ({ result: undefined, state: change(state, nowSteadyMs) }),
    });
  }
}
