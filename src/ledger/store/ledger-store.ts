/** Stores records and their leases. Gives access to the stores of everything else in the ledger. */
import Keyv from "keyv";
import type { AudioError } from "../../errors.ts";
import type { ProcessId } from "../../process-id.ts";
import { type ApiKeyId, isTaskLookupKey } from "../identity.ts";
import type { RecordRow } from "../record.ts";
import { type SendOutcome, withHeartbeat, withSendOutcome } from "../rules/api-key-state.ts";
import { deriveConcurrencySlotAfterWrite } from "../rules/concurrency-slots.ts";
import type { Durability } from "../rules/durability.ts";
import { acquireLease, type Lease, releaseLease, renewLease } from "../rules/lease.ts";
import { endMcpTasksOfRequeuedRecord, type FailedAttempt } from "../rules/mcp-task.ts";
import { AdmissionStore } from "./admission-store.ts";
import { DOCUMENT_KEYV_OPTIONS, KeyvDocuments } from "./keyv-documents.ts";
import type { LedgerScope } from "./ledger-scope.ts";
import { LedgerTransactions } from "./ledger-transactions.ts";
import {
  buildSaveMcpTaskStatement,
  buildSelectOpenMcpTasksStatement,
  parseMcpTaskRows,
} from "./mcp-task-rows.ts";
import { McpTaskStore } from "./mcp-task-store.ts";
import { NarrationStore } from "./narration-store.ts";
import {
  buildDeleteRecordStatements,
  buildSaveLeaseStatement,
  buildSaveRecordStatements,
  buildSelectRecordStatements,
  leaseRowSchema,
  parseLoadedRecord,
  parseRecordJsonRows,
  RECORD_RESULT_COUNT,
  type RecordKey,
} from "./record-rows.ts";
import { RecordSearch } from "./record-search.ts";
import { type Rows, type SqlEngine, type Statement, sql } from "./sql-engine.ts";

/**
 * The API key whose ledger is opened, and the process that opens it. The store applies the limits of this API key, and
 * takes the leases for this process.
 */
export interface LedgerIdentity {
  readonly baseUrl: string;
  readonly apiKeyId: ApiKeyId;
  readonly processId: ProcessId;
}

export interface LeaseRequest {
  /** The row to write if the record does not exist yet. */
  readonly row: RecordRow;
  readonly leaseTtlMs: number;
  /** A lease owner that is known to be dead. Its lease is taken over at once. */
  readonly deadOwner?: ProcessId;
}

export interface LeaseResult {
  /** The owner of the lease now. Equals this process if the lease could be acquired. */
  readonly leaseOwner: ProcessId;
  /** The record as it is stored now. */
  readonly recordJson: string;
}

export interface RecordWrite extends RecordKey {
  /** The revision that the stored record must have; `null` for a new record. */
  readonly expectedRevision: number | null;
  /** The new row; `null` removes the record. */
  readonly newRow: RecordRow | null;
  readonly durability: Durability;
  /** The attempt that a new call replaces. The write also ends the MCP tasks of that attempt. */
  readonly failedAttempt?: FailedAttempt | undefined;
  /** The outcome of a send. It is stored even if the record is not written. */
  readonly sendOutcome?: SendOutcome | undefined;
  /** Whether status, task and spend stay unchanged. If so, the sums stay unchanged, too. False if unknown. */
  readonly isSpendUnchanged?: boolean;
  /** Whether this process's lease is renewed (the default) or released with the write. */
  readonly lease?: "renew" | "release" | undefined;
}

/**
 * Whether the record was written. If it was not, `recordJson` is the stored record; `undefined` if no record is stored.
 */
export type RecordWriteResult =
  | { readonly isWritten: true }
  | { readonly isWritten: false; readonly recordJson: string | undefined };

export interface LedgerStoreOptions {
  readonly engine: SqlEngine;
  readonly identity: LedgerIdentity;
  /** This machine's id. A record is visible if this machine has used the record's API key. */
  readonly machineId: string;
  readonly wallMs: () => number;
}

/**
 * Each change is one transaction: it loads rows, decides by the pure functions in rules/, and saves rows.
 *
 * Limit windows, leases and concurrency slots use the engine's steady clock. The budget uses the wall clock, because
 * spend must still count after a reboot. Changes that affect money are on the disk before a method's promise resolves
 * (see rules/durability.ts).
 */
export class LedgerStore {
  /** The documents: plans of narrations, and copies of damaged records. */
  readonly documents: Keyv<unknown>;
  readonly narrations: NarrationStore;
  readonly mcpTasks: McpTaskStore;
  readonly admissions: AdmissionStore;
  readonly recordSearch: RecordSearch;
  readonly #engine: SqlEngine;
  readonly #identity: LedgerIdentity;
  readonly #scope: LedgerScope;
  readonly #transactions: LedgerTransactions;

  constructor({ engine, identity, machineId, wallMs }: LedgerStoreOptions) {
    const { baseUrl, apiKeyId, processId } = identity;
    const scope = { baseUrl, apiKeyId, machineId };
    const documents = new Keyv<unknown>(new KeyvDocuments(engine), DOCUMENT_KEYV_OPTIONS);
    const transactions = new LedgerTransactions(engine, scope);
    this.#engine = engine;
    this.#identity = identity;
    this.#scope = scope;
    this.#transactions = transactions;
    this.documents = documents;
    this.narrations = new NarrationStore({ engine, documents, scope, processId });
    this.mcpTasks = new McpTaskStore({ engine, transactions, scope });
    this.admissions = new AdmissionStore({ engine, transactions, scope, processId, wallMs });
    this.recordSearch = new RecordSearch(engine, scope);
  }

  get description(): string {
    return this.#engine.description;
  }

  /** The database's error if calls have been waiting for its answer for unusually long; `null` otherwise. */
  get outage(): AudioError | null {
    return this.#engine.outage;
  }

  /** Returns the JSON of this key's record; `undefined` if there is no such record. */
  async get(recordId: string): Promise<string | undefined> {
    const { apiKeyId } = this.#identity;
    const [rows = []] = await this.#engine.read([
      sql(
        "SELECT api_key_id, record_id, record_json FROM agm_records WHERE api_key_id = ? AND record_id = ?",
        apiKeyId,
        recordId,
      ),
    ]);
    return parseRecordJsonRows(rows)[0]?.recordJson;
  }

  /** Takes or renews the lease of a record. Writes the record first if it is missing. */
  acquireLease({ row, leaseTtlMs, deadOwner }: LeaseRequest): Promise<LeaseResult> {
    const { processId } = this.#identity;
    return this.#transactions.run({
      // Accept that a power cut may lose a waiting record. Nothing was sent for it, so this process can write it again.
      durability: row.status === "waiting" ? "survives_process_kill" : "survives_power_cut",
      mustLockService: row.lookupKeys.some(isTaskLookupKey),
      loadStatements: buildSelectRecordStatements(row, row.lookupKeys),
      decide: (rows, _state, nowSteadyMs) => {
        const loaded = parseLoadedRecord(rows);
        const { stored } = loaded;
        const lease = acquireLease(
          stored?.lease ?? null,
          { owner: processId, ttlMs: leaseTtlMs, deadOwner },
          nowSteadyMs,
        );
        const result = { leaseOwner: lease.owner, recordJson: stored?.recordJson ?? row.recordJson };
        if (lease.owner !== processId)
          return {
            result,
            saveStatements: buildSaveClampedLeaseStatements(row, stored?.lease ?? null, lease),
          };
        if (stored !== undefined) return { result, saveStatements: [buildSaveLeaseStatement(row, lease)] };
        const concurrencySlot = deriveConcurrencySlotAfterWrite(undefined, row, {
          steadyMs: nowSteadyMs,
          owner: processId,
        });
        return { result, saveStatements: buildSaveRecordStatements(loaded, row, { concurrencySlot, lease }) };
      },
    });
  }

  /** Releases this process's lease of a record. */
  releaseLease(recordId: string): Promise<void> {
    const { apiKeyId, processId } = this.#identity;
    const recordKey = { apiKeyId, recordId };
    return this.#transactions.run({
      durability: "survives_process_kill",
      loadStatements: buildSelectRecordStatements(recordKey),
      decide: (rows) => {
        const lease = parseLoadedRecord(rows).stored?.lease ?? null;
        const saveStatements =
          lease?.owner === processId
            ? [buildSaveLeaseStatement(recordKey, releaseLease(lease, processId))]
            : [];
        return { result: undefined, saveStatements };
      },
    });
  }

  /**
   * Writes a record if the stored revision is the expected one. Updates the columns, the lookup keys, the concurrency
   * slot and the sums of spend to match the record.
   */
  write(write: RecordWrite): Promise<RecordWriteResult> {
    const written = { isWritten: true } as const;
    const { processId } = this.#identity;
    const {
      expectedRevision,
      newRow,
      failedAttempt = null,
      sendOutcome,
      lease = "renew",
      durability,
    } = write;
    const isWaiting = newRow?.status === "waiting";
    return this.#transactions.run<RecordWriteResult>({
      durability,
      mustLockService: write.isSpendUnchanged !== true,
      loadStatements: [
        ...buildSelectRecordStatements(write, newRow?.lookupKeys),
        ...(isWaiting ? [buildSelectOpenMcpTasksStatement(this.#scope, write.recordId)] : []),
      ],
      decide: (rows, before, nowSteadyMs) => {
        const state = sendOutcome === undefined ? before : withSendOutcome(before, sendOutcome, nowSteadyMs);
        const loaded = parseLoadedRecord(rows);
        const { stored } = loaded;
        // If the change is already stored, an earlier try of this write was committed, and its answer was lost.
        if (newRow === null ? stored === undefined : stored?.recordJson === newRow.recordJson) {
          return { state, result: written };
        }
        const isExpected =
          expectedRevision === null ? stored === undefined : stored?.revision === expectedRevision;
        if (!isExpected) return { state, result: { isWritten: false, recordJson: stored?.recordJson } };
        if (newRow === null) {
          return {
            state,
            result: written,
            saveStatements: buildDeleteRecordStatements(write, loaded, false),
          };
        }
        const currentLease = stored?.lease ?? null;
        const newLease =
          lease === "release"
            ? releaseLease(currentLease, processId)
            : renewLease(currentLease, processId, nowSteadyMs);
        const concurrencySlot = deriveConcurrencySlotAfterWrite(stored, newRow, {
          steadyMs: nowSteadyMs,
          owner: processId,
        });
        const endedMcpTasks = isWaiting
          ? endMcpTasksOfRequeuedRecord(parseMcpTaskRows(rows[RECORD_RESULT_COUNT]), failedAttempt)
          : [];
        return {
          state,
          result: written,
          saveStatements: [
            ...buildSaveRecordStatements(loaded, newRow, { concurrencySlot, lease: newLease }),
            ...endedMcpTasks.map(buildSaveMcpTaskStatement),
          ],
        };
      },
    });
  }

  /**
   * Records that this process is alive, and renews its leases.
   *
   * @returns the records whose lease this process has lost
   */
  heartbeat(recordIds: readonly string[]): Promise<string[]> {
    const { apiKeyId, processId } = this.#identity;
    return this.#transactions.run({
      durability: "survives_process_kill",
      loadStatements: recordIds.map((recordId) =>
        sql(
          "SELECT lease_owner, lease_renewed_steady_ms, lease_ttl_ms FROM agm_records WHERE api_key_id = ? AND record_id = ?",
          apiKeyId,
          recordId,
        ),
      ),
      decide: (rows, before, nowSteadyMs) => {
        const leases = recordIds.map((recordId, index) => ({ recordId, lease: parseLease(rows[index]) }));
        const owned = leases.filter(({ lease }) => lease?.owner === processId);
        return {
          state: withHeartbeat(before, processId, nowSteadyMs),
          saveStatements: owned.map(({ recordId, lease }) =>
            buildSaveLeaseStatement({ apiKeyId, recordId }, renewLease(lease, processId, nowSteadyMs)),
          ),
          result: leases.filter(({ lease }) => lease?.owner !== processId).map(({ recordId }) => recordId),
        };
      },
    });
  }

  /**
   * Removes a record that cannot be read. The budget still counts the record's spend, because damage does not return
   * credits.
   */
  discard(recordKey: RecordKey): Promise<void> {
    return this.#transactions.run({
      durability: "survives_power_cut",
      loadStatements: buildSelectRecordStatements(recordKey),
      mustLockService: true,
      decide: (rows) => ({
        result: undefined,
        saveStatements: buildDeleteRecordStatements(recordKey, parseLoadedRecord(rows), true),
      }),
    });
  }

  /**
   * Writes and deletes a test entry.
   *
   * @returns whole sentences about problems that do not prevent use but should be fixed
   * @throws AudioError `store_unavailable` with the reason
   */
  check(): Promise<string[]> {
    return this.#engine.check();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/**
 * Statements that save another process's lease if `acquireLease` has changed its renewal time. If a renewal time is
 * later than now, `acquireLease` replaces it by the present time.
 */
const buildSaveClampedLeaseStatements = (
  recordKey: RecordKey,
  stored: Lease | null,
  lease: Lease,
): Statement[] =>
  stored?.renewedSteadyMs === lease.renewedSteadyMs ? [] : [buildSaveLeaseStatement(recordKey, lease)];

const parseLease = (rows: Rows | undefined): Lease | null => {
  const [row] = rows ?? [];
  return row === undefined ? null : leaseRowSchema.parse(row);
};
