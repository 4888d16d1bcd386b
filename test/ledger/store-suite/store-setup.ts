/** What all parts of the store's suite share: a store with a manual clock, and the submissions of one API key. */
import { randomUUID } from "node:crypto";
import type { SavedFile } from "../../../src/files/saved-file.ts";
import { type RequestRecord, requestRecordSchema, toRow } from "../../../src/ledger/record.ts";
import type { AdmissionDecision } from "../../../src/ledger/rules/admission.ts";
import type { SendOutcome } from "../../../src/ledger/rules/api-key-state.ts";
import type { AdmissionRequest } from "../../../src/ledger/store/admission-store.ts";
import type {
  LeaseResult,
  LedgerIdentity,
  LedgerStore,
  RecordWrite,
  RecordWriteResult,
} from "../../../src/ledger/store/ledger-store.ts";
import { sampleRecord } from "../sample-record.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const LAPSE_MS = 30_000;
export const LEASE_MS = 60_000;

/** One store, which a test may open for any number of processes and API keys. */
export interface StoreFixture {
  open(identity: LedgerIdentity): LedgerStore;
  /** Lets every clock advance. */
  advance(ms: number): void;
  /** Sets the steady clock back, as after a restart. Everything written so far then has a date in the future. */
  putBack(): void;
  /** Returns the time of the wall clock, which dates spend. */
  wallMs(): number;
  close(): Promise<void>;
}

export type Outcome = "accepted" | "refused" | "unresolved" | "unsent";

export interface Sent {
  readonly admission: AdmissionDecision;
  readonly sendId: string;
  /** The record as it is after the request: changed only if the admission was granted. */
  readonly record: RequestRecord;
}

/** `admitted`, or the reason for the refusal. */
export function reasonOf({ admission }: Pick<Sent, "admission">): string {
  return admission.kind === "wait" ? admission.reason : admission.kind;
}

export function waitOf({ admission }: Pick<Sent, "admission">): number {
  return admission.kind === "wait" ? admission.waitMs : Number.NaN;
}

export function savedAt(path: string): SavedFile {
  return { path, sizeBytes: 1, sha256: "0", savedAtMs: 1, matchesFormat: true };
}

/** The service and API key of one test, so that tests can share a store. */
export class StoreSetup {
  readonly fixture: StoreFixture;
  readonly apiKeyId: string;
  readonly baseUrl: string;
  readonly #stores = new Map<string, LedgerStore>();

  constructor(fixture: StoreFixture, baseUrl = `https://${randomUUID()}`) {
    this.fixture = fixture;
    this.baseUrl = baseUrl;
    this.apiKeyId = randomUUID();
  }

  /** Returns a setup with another API key of the same service. */
  withOtherKey(): StoreSetup {
    return new StoreSetup(this.fixture, this.baseUrl);
  }

  /** Returns the store as the process `processId` has opened it. */
  store(processId = "holder"): LedgerStore {
    const known = this.#stores.get(processId);
    if (known !== undefined) return known;
    const { baseUrl, apiKeyId } = this;
    const store = this.fixture.open({ baseUrl, apiKeyId, processId });
    this.#stores.set(processId, store);
    return store;
  }

  /** Builds a record of this API key, and does not store it. Its request is new unless `changes` names one. */
  record(changes: Partial<RequestRecord> = {}): RequestRecord {
    const { baseUrl, apiKeyId } = this;
    return sampleRecord({
      recordId: randomUUID(),
      requestFingerprint: randomUUID(),
      baseUrl,
      apiKeyId,
      status: "waiting",
      taskId: null,
      ...changes,
    });
  }

  claim(record: RequestRecord, processId = "holder", deadOwner?: string): Promise<LeaseResult> {
    const claim = { row: toRow(record), leaseTtlMs: LEASE_MS };
    return this.store(processId).acquireLease(deadOwner === undefined ? claim : { ...claim, deadOwner });
  }

  /** Stores a record, whatever was stored before. */
  async put(record: RequestRecord): Promise<RequestRecord> {
    const { apiKeyId, recordId } = record;
    const stored = await this.stored(record);
    const expectedRevision = stored?.revision ?? null;
    const newRow = toRow(record);
    const durability = "survives_process_kill";
    const answer = await this.store().write({ apiKeyId, recordId, expectedRevision, newRow, durability });
    if (!answer.isWritten) throw new Error("not written");
    return record;
  }

  async stored({ recordId }: Pick<RequestRecord, "recordId">): Promise<RequestRecord | undefined> {
    const value = await this.store().get(recordId);
    return value === undefined ? undefined : requestRecordSchema.parse(JSON.parse(value));
  }

  /** Deletes a record, with its spend. */
  async remove({ apiKeyId, recordId, revision }: RequestRecord): Promise<RecordWriteResult> {
    const write = { apiKeyId, recordId, expectedRevision: revision, newRow: null } as const;
    return await this.store().write({ ...write, durability: "survives_power_cut" });
  }

  /** Writes the next revision of a record with compare and set. */
  write(
    record: RequestRecord,
    changes: Partial<RequestRecord>,
    more: Pick<RecordWrite, "sendOutcome" | "lease" | "failedAttempt"> = {},
    processId = "holder",
  ): Promise<RecordWriteResult> {
    const { apiKeyId, recordId, revision } = record;
    const newRow = toRow({ ...record, ...changes, revision: revision + 1 });
    return this.store(processId).write({
      apiKeyId,
      recordId,
      expectedRevision: revision,
      newRow,
      durability: "survives_process_kill",
      ...more,
    });
  }

  /** Requests the admission of a submission. Uses a new record if none is given. */
  async ask(
    changes: Partial<AdmissionRequest> = {},
    {
      record,
      processId = "holder",
      credits = 150,
    }: { record?: RequestRecord; processId?: string; credits?: number } = {},
  ): Promise<Sent> {
    const before = record ?? this.record();
    if (record === undefined) await this.claim(before, processId);
    const spend = { credits, atMs: this.fixture.wallMs() };
    const after: RequestRecord = { ...before, status: "unresolved", revision: before.revision + 1, spend };
    const sendId = changes.sendId ?? randomUUID();
    const admission = await this.store(processId).admissions.admit({
      admittedRow: toRow(after),
      expectedRevision: before.revision,
      sendId,
      maxSubmissions: 1000,
      limitWindowMs: MINUTE_MS,
      maxConcurrentTasks: 1000,
      unresolvedSlotTtlMs: LAPSE_MS,
      budget: null,
      narrationId: null,
      ...changes,
    });
    return { admission, sendId, record: admission.kind === "admitted" ? after : before };
  }

  /** Runs a submission from its admission to its outcome. Returns the record after the outcome. */
  async create(
    outcome: Outcome,
    changes: Partial<AdmissionRequest> = {},
    as: { record?: RequestRecord; processId?: string; credits?: number } = {},
  ): Promise<RequestRecord> {
    const sent = await this.ask(changes, as);
    if (sent.admission.kind !== "admitted") throw new Error(`refused: ${reasonOf(sent)}`);
    const { sendId, record } = sent;
    const outcomes: Record<Outcome, Partial<RequestRecord>> = {
      accepted: { status: "queued", taskId: `task of ${record.recordId}` },
      refused: { status: "waiting", spend: null },
      unresolved: { hasUnresolvedEarlierSend: true },
      unsent: { status: "waiting", spend: null },
    };
    const sendOutcome: SendOutcome = { sendId, outcome: outcome === "unsent" ? "unsent" : "sent" };
    return this.change(record, outcomes[outcome], sendOutcome, as.processId);
  }

  /** Writes the next revision and returns it. */
  async change(
    record: RequestRecord,
    changes: Partial<RequestRecord>,
    sendOutcome?: SendOutcome,
    processId = "holder",
  ): Promise<RequestRecord> {
    const answer = await this.write(
      record,
      changes,
      sendOutcome === undefined ? {} : { sendOutcome },
      processId,
    );
    if (!answer.isWritten) throw new Error("not written");
    return { ...record, ...changes, revision: record.revision + 1 };
  }

  /** Ends the task of a record with a charge; 0 credits: the task failed. */
  end(record: RequestRecord, credits: number): Promise<RequestRecord> {
    const spend = credits === 0 ? null : { credits, atMs: this.fixture.wallMs() };
    return this.change(record, { status: credits === 0 ? "failed" : "succeeded", spend });
  }
}
