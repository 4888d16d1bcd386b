/** The ledger: records, their leases, and the events that change them. */
import { randomInt } from "node:crypto";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { isProcessDead } from "../process-id.ts";
import { scaleLeaseTtlMs } from "./durations.ts";
import {
  toEarlierTaskLookupKey,
  toOriginalRequestLookupKey,
  toPathLookupKey,
  toRequestLookupKey,
  toTaskLookupKey,
} from "./identity.ts";
import { applyEvent, type RequestEvent, withoutSend } from "./lifecycle.ts";
import { type RequestRecord, toRow } from "./record.ts";
import { RecordReader } from "./record-reader.ts";
import type { AdmissionDecision, AdmissionLimits } from "./rules/admission.ts";
import type { SendOutcome } from "./rules/api-key-state.ts";
import { decideDurability } from "./rules/durability.ts";
import { keepEachTaskOnce } from "./rules/shared-task.ts";
import type { AdmissionRequest } from "./store/admission-store.ts";
import type { LedgerIdentity, LedgerStore } from "./store/ledger-store.ts";
import type { ListQuery } from "./store/record-search.ts";

/**
 * Number of consecutive conflicts after which an operation fails. So many conflicts indicate a bug, because concurrent
 * changes of one record are rare.
 */
const MAX_CONFLICTS = 20;

/**
 * Upper limit of the random revision that a new record gets at its first change. The limit is far below the maximum of
 * a 32-bit integer, so that later revisions fit.
 */
const MAX_FIRST_REVISION = 2 ** 30;

export interface ChangeOptions {
  /** The outcome of the send that led to this change. It is stored with the change. */
  readonly sendOutcome?: SendOutcome | undefined;
  readonly lease?: "renew" | "release";
}

export type AdmissionResult =
  /** The submission may be sent, and its record is already `unresolved`. */
  | { readonly kind: "admitted"; readonly record: RequestRecord; readonly sendId: string }
  /** Another process has changed or removed the record, or drives it now. */
  | { readonly kind: "conflict"; readonly record: RequestRecord | null; readonly isLeaseLost: boolean }
  | Exclude<AdmissionDecision, { readonly kind: "admitted" | "conflict" }>;

/**
 * Reads and changes records for one process and one API key. Searches also find the records of other API keys that this
 * machine has used. Applies every change to the newest stored record, so that no concurrent change of another process
 * is lost.
 *
 * Methods throw AudioError `store_unavailable` if the store cannot be used, or if a record that they need is damaged.
 * {@link Ledger.list} skips damaged records.
 */
export class Ledger {
  /**
   * The store. Use it directly only for data other than records, such as cooldowns, MCP tasks and narrations. To read
   * and change records, use the methods of `Ledger`, because the store does not parse records.
   */
  readonly store: LedgerStore;
  readonly identity: LedgerIdentity;
  readonly leaseTtlMs: number;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #reader: RecordReader;

  constructor(
    store: LedgerStore,
    identity: LedgerIdentity,
    clock: Pick<Clock, "wallMs">,
    log: Log,
    timeScale = 1,
  ) {
    this.store = store;
    this.identity = identity;
    this.leaseTtlMs = scaleLeaseTtlMs(timeScale);
    this.#clock = clock;
    this.#reader = new RecordReader(store, clock, log);
  }

  /**
   * Returns this API key's record; `null` if there is none. Throws for a damaged record, which never counts as missing.
   */
  async get(recordId: string): Promise<RequestRecord | null> {
    const recordJson = await this.store.get(recordId);
    if (recordJson === undefined) return null;
    return await this.#reader.parseOrQuarantine({ apiKeyId: this.identity.apiKeyId, recordId, recordJson });
  }

  /**
   * Returns the records of a request under all API keys that this machine has used. The record of this API key comes
   * first.
   */
  async findByFingerprint(requestFingerprint: string): Promise<RequestRecord[]> {
    return await this.#findByLookupKey(toRequestLookupKey(requestFingerprint));
  }

  /** Returns the records of a request, and the records whose input is a respelling of the request's text. */
  async findByOriginalFingerprint(requestFingerprint: string): Promise<RequestRecord[]> {
    return [
      ...(await this.findByFingerprint(requestFingerprint)),
      ...(await this.#findByLookupKey(toOriginalRequestLookupKey(requestFingerprint))),
    ];
  }

  /** Finds records by their current task. If there are none, finds records by the task of a failed attempt. */
  async findByTask(taskId: string): Promise<RequestRecord[]> {
    const { baseUrl } = this.identity;
    const records = await this.#findByLookupKey(toTaskLookupKey(baseUrl, taskId));
    return records.length > 0
      ? records
      : await this.#findByLookupKey(toEarlierTaskLookupKey(baseUrl, taskId));
  }

  /**
   * Finds the records of a file. Searches all services, because a path does not show which service created the file.
   */
  async findByPath(path: string): Promise<RequestRecord[]> {
    return await this.#findByLookupKey(toPathLookupKey(path));
  }

  /**
   * Returns records, newest first, and only one record for each task. Skips and logs unreadable records, because one
   * damaged record must not hide all others.
   */
  async list(query: ListQuery): Promise<RequestRecord[]> {
    for (let { limit } = query; ; limit *= 2) {
      const stored = await this.store.recordSearch.list({ ...query, limit });
      const records = stored.flatMap((storedJson) => this.#reader.parseOrSkip(storedJson) ?? []);
      const uniqueRecords = keepEachTaskOnce(records, this.identity.apiKeyId);
      if (uniqueRecords.length >= query.limit || stored.length < limit)
        return uniqueRecords.slice(0, query.limit);
    }
  }

  /**
   * Finds records by a lookup key. Throws for a damaged record of this API key. Skips damaged records of other API
   * keys, so that they do not block this API key.
   */
  async #findByLookupKey(lookupKey: string): Promise<RequestRecord[]> {
    const records: RequestRecord[] = [];
    for (const stored of await this.store.recordSearch.findByLookupKey(lookupKey)) {
      const isOwn = stored.apiKeyId === this.identity.apiKeyId;
      const record = isOwn ? await this.#reader.parseOrQuarantine(stored) : this.#reader.parseOrSkip(stored);
      if (record !== null) records.push(record);
    }
    return records;
  }

  /**
   * Takes the lease of a record for this process. Writes the draft if the record is missing. A lease whose owner is a
   * dead process of this machine is taken over at once.
   *
   * @param draft a new record, or the record as last read. A record that was read may be missing by now, because old
   *   refusals are deleted. If the draft has no task, it is written with revision 0, as if it had never been sent
   * @returns the stored record, and whether this process has the lease
   */
  async acquireLease(draft: RequestRecord): Promise<{ record: RequestRecord; isOurs: boolean }> {
    const row = toRow(draft.taskId === null ? { ...withoutSend(draft), revision: 0 } : draft);
    const request = { row, leaseTtlMs: this.leaseTtlMs };
    const first = await this.store.acquireLease(request);
    const leaseResult = isProcessDead(first.leaseOwner)
      ? await this.store.acquireLease({ ...request, deadOwner: first.leaseOwner })
      : first;
    const record = await this.#reader.parseOrQuarantine({ ...draft, recordJson: leaseResult.recordJson });
    return { record, isOurs: leaseResult.leaseOwner === this.identity.processId };
  }

  /**
   * Applies an event to a record and writes the result. If the stored record has changed since it was last read,
   * applies the event to the stored record instead. Writes nothing if the event changes nothing.
   *
   * @param knownRecord the record as last read. If it was removed from the ledger but has a task, it is written again
   * @returns the record after the event; `null` if the record was removed from the ledger and has no task
   * @throws AudioError `store_unavailable`
   */
  async apply(
    knownRecord: RequestRecord,
    event: RequestEvent,
    { sendOutcome, lease }: ChangeOptions = {},
  ): Promise<RequestRecord | null> {
    const { apiKeyId, recordId } = knownRecord;
    let currentRecord = knownRecord;
    let expectedRevision: number | null = knownRecord.revision;
    for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
      const next = applyEvent(currentRecord, event);
      if (next === currentRecord && expectedRevision !== null) {
        if (sendOutcome !== undefined && tries === 0)
          await this.store.admissions.recordSendOutcome(sendOutcome);
        if (lease === "release") await this.store.releaseLease(recordId);
        return currentRecord;
      }
      const after = { ...next, revision: chooseNextRevision(currentRecord) };
      const error = event.kind === "attempt_begun" && next !== currentRecord ? event.error : undefined;
      const { attempt, finishedAtMs, createdAtMs } = currentRecord;
      const writeResult = await this.store.write({
        apiKeyId,
        recordId,
        expectedRevision,
        newRow: toRow(after),
        durability: decideDurability(expectedRevision === null ? null : currentRecord, after),
        failedAttempt:
          error === undefined ? undefined : { attempt, error, atMs: finishedAtMs ?? createdAtMs },
        sendOutcome: tries === 0 ? sendOutcome : undefined,
        isSpendUnchanged: expectedRevision !== null && hasSameSpend(currentRecord, after),
        lease,
      });
      if (writeResult.isWritten) return after;
      const currentRow =
        writeResult.recordJson === undefined
          ? null
          : { apiKeyId, recordId, recordJson: writeResult.recordJson };
      const stored = currentRow === null ? null : await this.#reader.parseOrQuarantine(currentRow);
      if (stored === null && next.taskId === null) return null;
      // If the JSON has the expected revision although the write was refused, the revision column is damaged.
      const columnsDisagree: boolean = stored?.revision === expectedRevision;
      if (currentRow !== null && columnsDisagree)
        await this.#reader.quarantine(currentRow, "its columns say something else");
      expectedRevision = stored === null || columnsDisagree ? null : stored.revision;
      currentRecord = stored ?? currentRecord;
    }
    throw unavailableError("The ledger stayed busy with the same record.");
  }

  /**
   * Requests admission of a submission. If `decideAdmission` (rules/admission.ts) allows the submission, sets the
   * record to `unresolved` in the same transaction.
   *
   * @param sendId a new id for this send; see {@link releaseAdmission}
   * @param wantedBy `narrationId`: the narration that pays for the submission; `null` for a direct request.
   *   `hasOnlyMcpTaskCallers`: whether all callers have MCP tasks
   */
  async requestAdmission(
    knownRecord: RequestRecord,
    sendId: string,
    limits: AdmissionLimits,
    wantedBy: Pick<AdmissionRequest, "narrationId" | "hasOnlyMcpTaskCallers"> = { narrationId: null },
  ): Promise<AdmissionResult> {
    let currentRecord = knownRecord;
    for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
      const { attempt } = currentRecord;
      const next = applyEvent(currentRecord, {
        kind: "send_started",
        attempt,
        sendId,
        atMs: this.#clock.wallMs(),
      });
      if (next === currentRecord) {
        return { kind: "conflict", record: currentRecord, isLeaseLost: false };
      }
      const after = { ...next, revision: chooseNextRevision(currentRecord) };
      const admission = await this.store.admissions.admit({
        ...limits,
        admittedRow: toRow(after),
        expectedRevision: currentRecord.revision,
        sendId,
        ...wantedBy,
      });
      if (admission.kind === "admitted") return { kind: "admitted", record: after, sendId };
      if (admission.kind !== "conflict") return admission;
      const { recordJson, isLeaseLost } = admission;
      const stored =
        recordJson === undefined
          ? null
          : await this.#reader.parseOrQuarantine({ ...currentRecord, recordJson });
      if (stored === null || isLeaseLost || stored.attempt !== attempt) {
        return { kind: "conflict", record: stored, isLeaseLost };
      }
      currentRecord = stored;
    }
    throw unavailableError("The ledger stayed busy with the same record.");
  }

  /**
   * Releases an admission that no submission will use: its rate slot, its concurrency slot and its reservation. Does
   * nothing if the store does not contain the admission. Releases only the rate slot if an earlier send of the attempt
   * may have reached the service.
   */
  async releaseAdmission(record: RequestRecord, sendId: string): Promise<RequestRecord | null> {
    const stored = await this.get(record.recordId);
    const sendOutcome: SendOutcome = { sendId, outcome: "unsent" };
    if (stored === null) {
      await this.store.admissions.recordSendOutcome(sendOutcome);
      return null;
    }
    return await this.apply(stored, { kind: "not_accepted", sendId }, { sendOutcome });
  }
}

/**
 * Returns the revision for the next write of a record. A new record has revision 0. Its first change sets a random
 * revision, and each later change adds 1. The revision is random because a record may be removed and created again. A
 * late write to the removed record must not match the revision of the new record.
 */
const chooseNextRevision = ({ revision }: RequestRecord): number =>
  revision === 0 ? randomInt(1, MAX_FIRST_REVISION) : revision + 1;

const hasSameSpend = (before: RequestRecord, after: RequestRecord): boolean =>
  before.status === after.status && before.taskId === after.taskId && before.spend === after.spend;

const unavailableError = (message: string): AudioError =>
  new AudioError("store_unavailable", message, { retryable: true });
