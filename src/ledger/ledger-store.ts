/** Stores the ledger. Each method is one transaction, which loads rows, asks the pure rules and saves. */
import Keyv from "keyv";
import { z } from "zod";
import { AudioError } from "../errors.ts";
import type { ProcessId } from "../process-id.ts";
import { isTaskLookupKey, type KeyId, workLookupKey } from "./identity.ts";
import { isOpenStatus, RECORD_STATUSES, type RecordRow, type RecordStatus } from "./record.ts";
import {
  type Admission,
  type AdmissionLimits,
  isRepeatedAdmission,
  judgeAdmission,
} from "./rules/admission.ts";
import {
  type ApiKeyState,
  readApiKeyState,
  type SlotRelease,
  withHeartbeat,
  withoutOldSlots,
  withPause,
  withReleasedSlot,
  withSlot,
} from "./rules/api-key-state.ts";
import { billedCredits } from "./rules/bill.ts";
import {
  type CallHandle,
  type CallHandleDraft,
  type CallHandleEnd,
  callHandlesEndedByWaiting,
  cancelledHandle,
  endCallHandle,
  type FailedAttempt,
  findOrCreateCallHandle,
  isCallHandleWanted,
  parseCallHandleTarget,
  type SaveOptions,
} from "./rules/call-handle.ts";
import type { Durability } from "./rules/durability.ts";
import { acquiredLease, type Lease, releasedLease, renewedLease } from "./rules/lease.ts";
import { endedLongAgo, placeAfterWrite } from "./rules/places.ts";
import { lastBucketBefore, SPEND_RETENTION_MS } from "./rules/spend.ts";
import { handleRows, saveHandle, selectHandle, selectOpenHandles } from "./store/call-handle-rows.ts";
import { DOCUMENT_KEYV_OPTIONS, KeyvDocuments } from "./store/keyv-documents.ts";
import {
  addToBill,
  billLines,
  loadBill,
  type NarrationRow,
  narrationLimit,
  saveMachineKey,
  selectNarration,
  toNarrationRow,
  type Viewer,
  visibleCondition,
} from "./store/narration-rows.ts";
import { NarrationStore } from "./store/narration-store.ts";
import {
  dropRefused,
  dropRow,
  type LoadedRow,
  leaseRow,
  otherPlaces,
  parseLoadedRow,
  type RecordKey,
  ROW_RESULTS,
  type StoredValue,
  saveLease,
  saveRow,
  selectRow,
  storedValues,
} from "./store/record-rows.ts";
import { type Rows, type SqlEngine, type Statement, sql } from "./store/sql-engine.ts";

/**
 * The API key whose ledger is opened, and the process that opens it. The store counts limits and takes leases for
 * this key.
 */
export interface LedgerIdentity {
  readonly origin: string;
  readonly keyId: KeyId;
  readonly processId: ProcessId;
}

export interface LeaseRequest {
  /** The row to write if the record does not exist yet. */
  readonly row: RecordRow;
  readonly leaseTtlMs: number;
  /** A lease owner that is known to be dead. Its lease is taken over at once. */
  readonly deadOwner?: ProcessId;
}

export interface LeaseAnswer {
  /** The owner of the lease now. Equals this process if the lease could be acquired. */
  readonly leaseOwner: ProcessId;
  /** The record as it is stored now. */
  readonly value: string;
}

export interface RecordWrite extends RecordKey {
  /** The revision that the stored record must have; `null` for a new record. */
  readonly expectedRevision: number | null;
  /** The new row; `null` removes the record. */
  readonly after: RecordRow | null;
  readonly durability: Durability;
  /** The attempt that a new call replaces. The write also ends the call handles of that attempt. */
  readonly failed?: FailedAttempt | undefined;
  /** The slot to release, even if the record is not written. */
  readonly slot?: SlotRelease | undefined;
  /** Whether status, task and spend stay unchanged. If so, the sums stay unchanged, too. False if unknown. */
  readonly keepsSpend?: boolean;
  /** Whether this process's lease is renewed (the default) or released with the write. */
  readonly lease?: "renew" | "release" | undefined;
}

/**
 * `written`: whether the record was written. `value`: if not, the record as stored now, or `undefined` if no record is
 * stored.
 */
export type RecordWriteAnswer =
  | { readonly written: true }
  | { readonly written: false; readonly value: string | undefined };

export interface AdmitRequest extends AdmissionLimits {
  /** The record to store if the create is admitted: `unresolved`, with its reservation in `spend`. */
  readonly after: RecordRow;
  readonly expectedRevision: number;
  /**
   * The id of the send. The caller chooses it, so that an admission whose answer was lost can be repeated or released.
   */
  readonly sendId: string;
  /** The narration that the create is sent for and that pays for it; `null` for a direct request. */
  readonly narrationId: string | null;
  /**
   * Whether every caller that waits has a call handle. If so, the create is no longer wanted as soon as all call
   * handles of its record are cancelled.
   */
  readonly isForHandles?: boolean;
}

export interface ListQuery {
  /**
   * `own`: lists this API key's records. `all`: also lists records of other keys that this machine has used at the
   * origin.
   */
  readonly apiKeys: "own" | "all";
  readonly status?: RecordStatus | undefined;
  readonly openOnly?: boolean;
  /** Whether to list parts of narrations, too. */
  readonly includesParts?: boolean;
  readonly limit: number;
}

export interface LedgerStoreOptions {
  readonly engine: SqlEngine;
  readonly identity: LedgerIdentity;
  /** This machine's id. A record is visible if this machine has used the record's API key. */
  readonly machineId: string;
  readonly wallMs: () => number;
}

interface LedgerTransaction<T> {
  readonly durability: Durability;
  /**
   * Whether to lock the origin's row, which all API keys of the origin share. A transaction needs this lock if it
   * judges the budget, or if it changes the sums for a task that records of several keys may name.
   */
  readonly locksOrigin?: boolean;
  /** The narration to lock. Its row is locked after all others of the transaction. */
  readonly narrationId?: string | null;
  readonly load: readonly Statement[];
  decide(
    rows: readonly Rows[],
    state: ApiKeyState,
    nowMs: number,
    narration: NarrationRow | null,
  ): { readonly result: T; readonly save?: readonly Statement[]; readonly state?: ApiKeyState };
}

const stateRow = z.object({ state: z.string() });
const sumRow = z.object({ credits: z.number().nullable() });
const listedRow = z.object({ created_at_ms: z.number(), key_id: z.string(), record_id: z.string() });
const keyRow = z.object({ key_id: z.string() });
const originRow = z.object({ origin: z.string() });

/** The result if the row of the API key or the origin is missing, because somebody emptied a table. */
const NOT_REGISTERED = Symbol("not registered");

const MAX_OTHER_ORIGINS = 5;

/**
 * Time after which the records of refused requests are deleted, because they contain nothing but the reason of the
 * refusal.
 */
const REFUSAL_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * Limit windows, leases and places in flight use the engine's steady clock. The budget uses the wall clock, because
 * spend must still count after a reboot. Facts that money depends on are on the disk before a method returns (see
 * rules/durability.ts).
 */
export class LedgerStore {
  /** What is stored besides records: plans of narrations, and copies of damaged records. */
  readonly documents: Keyv<unknown>;
  readonly narrations: NarrationStore;
  readonly #options: LedgerStoreOptions;
  readonly #viewer: Viewer;
  #isRegistered = false;

  constructor(options: LedgerStoreOptions) {
    const { engine, identity, machineId } = options;
    const { origin, keyId, processId: owner } = identity;
    this.#options = options;
    this.#viewer = { origin, keyId, machineId };
    this.documents = new Keyv<unknown>(new KeyvDocuments(engine), DOCUMENT_KEYV_OPTIONS);
    this.narrations = new NarrationStore({ engine, documents: this.documents, viewer: this.#viewer, owner });
  }

  get description(): string {
    return this.#options.engine.description;
  }

  /** The fault that delays answers now; `null` if there is none. */
  get trouble(): AudioError | null {
    return this.#options.engine.trouble;
  }

  /** Returns the stored value of this key's record; `undefined` if there is no such record. */
  async get(recordId: string): Promise<string | undefined> {
    const { keyId } = this.#options.identity;
    const [rows = []] = await this.#options.engine.read([
      sql(
        "SELECT key_id, record_id, value FROM agm_records WHERE key_id = ? AND record_id = ?",
        keyId,
        recordId,
      ),
    ]);
    return storedValues(rows)[0]?.value;
  }

  /** Takes or renews the lease of a record. Writes the record first if it is missing. */
  acquireLease({ row, leaseTtlMs, deadOwner }: LeaseRequest): Promise<LeaseAnswer> {
    const { processId: owner } = this.#options.identity;
    return this.#transact({
      // Accept that a power cut may lose a waiting record. Nothing was sent for it, so this process can write it again.
      durability: row.status === "waiting" ? "process_kill" : "power_cut",
      locksOrigin: row.lookupKeys.some(isTaskLookupKey),
      load: selectRow(row, row.lookupKeys),
      decide: (rows, _state, nowMs) => {
        const loaded = parseLoadedRow(rows);
        const { stored } = loaded;
        const lease = acquiredLease(
          stored?.lease ?? null,
          { owner, ttlMs: leaseTtlMs, replacing: deadOwner },
          nowMs,
        );
        const result = { leaseOwner: lease.owner, value: stored?.value ?? row.value };
        if (lease.owner !== owner) return { result, save: clampedLease(row, stored?.lease ?? null, lease) };
        if (stored !== undefined) return { result, save: [saveLease(row, lease)] };
        const place = placeAfterWrite(undefined, row, { steadyMs: nowMs, owner });
        return { result, save: saveRow(loaded, row, { place, lease }) };
      },
    });
  }

  /** Releases this process's lease of a record. */
  releaseLease(recordId: string): Promise<void> {
    const { keyId, processId } = this.#options.identity;
    const recordKey = { keyId, recordId };
    return this.#transact({
      durability: "process_kill",
      load: selectRow(recordKey),
      decide: (rows) => {
        const lease = parseLoadedRow(rows).stored?.lease ?? null;
        const save =
          lease?.owner === processId ? [saveLease(recordKey, releasedLease(lease, processId))] : [];
        return { result: undefined, save };
      },
    });
  }

  /**
   * Writes a record if the stored revision is the expected one. Updates the columns, the lookup keys, the place in
   * flight and the sums of spend to match the record.
   */
  write(write: RecordWrite): Promise<RecordWriteAnswer> {
    const written = { written: true } as const;
    const { processId: owner } = this.#options.identity;
    const { expectedRevision, after, failed = null, slot, lease = "renew", durability } = write;
    const isWaiting = after?.status === "waiting";
    return this.#transact<RecordWriteAnswer>({
      durability,
      locksOrigin: write.keepsSpend !== true,
      load: [
        ...selectRow(write, after?.lookupKeys),
        ...(isWaiting ? [selectOpenHandles(this.#viewer, write.recordId)] : []),
      ],
      decide: (rows, before, nowMs) => {
        const state = slot === undefined ? before : withReleasedSlot(before, slot, nowMs);
        const loaded = parseLoadedRow(rows);
        const { stored } = loaded;
        // An earlier try of this write was committed, and its answer was lost.
        if (after === null ? stored === undefined : stored?.value === after.value) {
          return { state, result: written };
        }
        const isExpected =
          expectedRevision === null ? stored === undefined : stored?.revision === expectedRevision;
        if (!isExpected) return { state, result: { written: false, value: stored?.value } };
        if (after === null) {
          return {
            state,
            result: written,
            save: dropRow(write, loaded, false),
          };
        }
        const current = stored?.lease ?? null;
        const newLease =
          lease === "release" ? releasedLease(current, owner) : renewedLease(current, owner, nowMs);
        const place = placeAfterWrite(stored, after, { steadyMs: nowMs, owner });
        const ended = isWaiting ? callHandlesEndedByWaiting(handleRows(rows[ROW_RESULTS]), failed) : [];
        return {
          state,
          result: written,
          save: [...saveRow(loaded, after, { place, lease: newLease }), ...ended.map(saveHandle)],
        };
      },
    });
  }

  /** Asks {@link judgeAdmission}. If the create is admitted, takes the slot and writes the record. */
  admit(request: AdmitRequest): Promise<Admission> {
    const { processId: owner, origin } = this.#options.identity;
    const { after, expectedRevision, sendId, budget, windowMs, narrationId, isForHandles = false } = request;
    const { keyId, recordId, workId } = after;
    const wallMs = this.#options.wallMs();
    return this.#transact<Admission>({
      durability: "power_cut",
      locksOrigin: budget !== null,
      narrationId,
      load: [
        ...selectRow(after, after.lookupKeys),
        sql(
          "SELECT record_id, flight, flight_at_ms, flight_owner FROM agm_records WHERE key_id = ? AND flight IS NOT NULL",
          keyId,
        ),
        sumSince(origin, lastBucketBefore(wallMs, budget?.windowMs ?? 0)),
        selectOpenHandles(this.#viewer, recordId),
        ...(narrationId === null ? [] : [loadBill(this.#viewer, narrationId)]),
      ],
      decide: (rows, before, nowMs, narration) => {
        const [flights = [], sums = [], handles = [], bill = []] = rows.slice(ROW_RESULTS);
        const loaded = parseLoadedRow(rows);
        const { stored } = loaded;
        const otherFlights = otherPlaces(flights).filter((other) => other.recordId !== recordId);
        const state = withoutOldSlots(before, windowMs, nowMs);
        const facts = {
          record: stored,
          state,
          otherPlaces: otherFlights.map(({ place }) => place),
          countedCredits: withoutOwn(sumOf(sums), loaded, lastBucketBefore(wallMs, budget?.windowMs ?? 0)),
          // A create that may have reached the service stays wanted, even if every caller cancels.
          isWanted:
            !isForHandles || stored?.status !== "waiting" || handleRows(handles).some(isCallHandleWanted),
          narration:
            narrationId === null
              ? null
              : {
                  ...narrationLimit(narration?.state ?? ""),
                  lease: narration?.lease ?? null,
                  billedCredits: billedCredits(billLines(bill), keyId, workLookupKey(workId)),
                },
        };
        const value = { value: after.value, spendCredits: after.spend?.credits ?? 0 };
        const question = { sendId, owner, expectedRevision, after: value, limits: request };
        const result = judgeAdmission(question, facts, nowMs);
        const clamped = otherFlights
          .filter(({ place }) => (place.atMs ?? 0) > nowMs)
          .map((other) => clampPlace(keyId, other.recordId, nowMs));
        if (result.kind !== "admitted" || isRepeatedAdmission(question, facts)) {
          return { result, save: clamped };
        }
        const lapsed = otherFlights.filter(({ place }) => endedLongAgo(place, state, request, nowMs));
        return {
          result,
          state: withSlot(state, { sendId, owner }, nowMs),
          save: [
            ...saveRow(loaded, after, {
              // Each send restarts the time in flight.
              place: { flight: after.flight, atMs: nowMs, owner },
              lease: renewedLease(stored?.lease ?? null, owner, nowMs),
            }),
            ...(narrationId === null ? [] : [addToBill(this.#viewer, narrationId, workLookupKey(workId))]),
            ...clamped,
            ...dropRefused(keyId, wallMs - REFUSAL_RETENTION_MS),
            ...lapsed.map((other) => forgetPlace(keyId, other.recordId)),
            sql(
              "DELETE FROM agm_spend WHERE origin = ? AND bucket <= ?",
              origin,
              lastBucketBefore(wallMs, SPEND_RETENTION_MS),
            ),
          ],
        };
      },
    });
  }

  /** Returns a call handle of this API key; `null` if there is none. */
  async findCallHandle(handle: string): Promise<CallHandle | null> {
    const [rows] = await this.#options.engine.read([selectHandle(this.#viewer, handle)]);
    return handleRows(rows)[0] ?? null;
  }

  /** Whether the record has an open call handle that was not cancelled. */
  async hasWantedCallHandle(recordId: string): Promise<boolean> {
    const [rows] = await this.#options.engine.read([selectOpenHandles(this.#viewer, recordId)]);
    return handleRows(rows).some(isCallHandleWanted);
  }

  /**
   * Opens a call handle for a record, or returns an open one with the same options; `null` if there is no such record.
   */
  openCallHandle(draft: CallHandleDraft, saveOptions: SaveOptions): Promise<CallHandle | null> {
    const { keyId, targetId } = draft;
    return this.#transact<CallHandle | null>({
      durability: "power_cut",
      load: [...selectRow({ keyId, recordId: targetId }), selectOpenHandles(this.#viewer, targetId)],
      decide: (rows) => {
        const target = parseCallHandleTarget(parseLoadedRow(rows).stored?.value);
        if (target === null) return { result: null };
        const result = findOrCreateCallHandle(handleRows(rows[ROW_RESULTS]), target, draft, saveOptions);
        return { result, save: [saveHandle(result)] };
      },
    });
  }

  /**
   * Cancels a call handle of a record, see {@link cancelledHandle}.
   *
   * @returns the call handle as stored now
   */
  cancelCallHandle(handle: CallHandle, atMs: number): Promise<CallHandle> {
    const { keyId, targetId } = handle;
    return this.#changeHandle(handle, selectRow({ keyId, recordId: targetId }), (stored, rows) =>
      cancelledHandle(stored, parseCallHandleTarget(parseLoadedRow(rows).stored?.value), atMs),
    );
  }

  /**
   * Stores how a call handle ended, unless an end is already stored.
   *
   * @returns the call handle, with the end that was stored first
   */
  endCallHandle(handle: CallHandle, end: CallHandleEnd, atMs: number): Promise<CallHandle> {
    return this.#changeHandle(handle, [], (stored) => endCallHandle(stored, end, atMs));
  }

  #changeHandle(
    knownHandle: CallHandle,
    load: readonly Statement[],
    change: (stored: CallHandle, rows: readonly Rows[]) => CallHandle,
  ): Promise<CallHandle> {
    return this.#transact({
      durability: "power_cut",
      load: [...load, selectHandle(this.#viewer, knownHandle.handleId)],
      decide: (rows) => {
        const [stored] = handleRows(rows.at(-1));
        if (stored === undefined) return { result: knownHandle };
        const result = change(stored, rows);
        return { result, save: [saveHandle(result)] };
      },
    });
  }

  /** Returns the credits that the budget counts now, over all keys of the origin. */
  async spentCredits(windowMs: number): Promise<number> {
    const { engine, identity, wallMs } = this.#options;
    const [rows = []] = await engine.read([sumSince(identity.origin, lastBucketBefore(wallMs(), windowMs))]);
    return sumOf(rows);
  }

  /** Releases a slot and records how its create ended. */
  releaseSlot(slot: SlotRelease): Promise<void> {
    return this.#changeState((state, nowMs) => withReleasedSlot(state, slot, nowMs));
  }

  /**
   * Pauses the creates of every process for `ms` milliseconds. If a running pause ends later, keeps the running pause.
   */
  pause(ms: number): Promise<void> {
    return this.#changeState((state, nowMs) => withPause(state, ms, nowMs));
  }

  /**
   * Records that this process is alive, and renews its leases.
   *
   * @returns the records whose lease this process has lost
   */
  heartbeat(recordIds: readonly string[]): Promise<string[]> {
    const { keyId, processId } = this.#options.identity;
    return this.#transact({
      durability: "process_kill",
      load: recordIds.map((recordId) =>
        sql(
          "SELECT lease_owner, lease_at_ms, lease_ttl_ms FROM agm_records WHERE key_id = ? AND record_id = ?",
          keyId,
          recordId,
        ),
      ),
      decide: (rows, before, nowMs) => {
        const leases = recordIds.map((recordId, at) => ({ recordId, lease: leaseOf(rows[at]) }));
        const owned = leases.filter(({ lease }) => lease?.owner === processId);
        return {
          state: withHeartbeat(before, processId, nowMs),
          save: owned.map(({ recordId, lease }) =>
            saveLease({ keyId, recordId }, renewedLease(lease, processId, nowMs)),
          ),
          result: leases.filter(({ lease }) => lease?.owner !== processId).map(({ recordId }) => recordId),
        };
      },
    });
  }

  /**
   * Removes a record that cannot be read. The budget still counts the record's spend, because damage must not make room
   * for new spend.
   */
  discard(recordKey: RecordKey): Promise<void> {
    return this.#transact({
      durability: "power_cut",
      load: selectRow(recordKey),
      locksOrigin: true,
      decide: (rows) => ({ result: undefined, save: dropRow(recordKey, parseLoadedRow(rows), true) }),
    });
  }

  /** Lists records, newest first. */
  async list(query: ListQuery): Promise<StoredValue[]> {
    const { apiKeys, status, openOnly = false, includesParts = false, limit } = query;
    const { keyId } = this.#options.identity;
    const keys = apiKeys === "own" ? [keyId] : await this.#visibleKeys();
    const statuses =
      status !== undefined ? [status] : RECORD_STATUSES.filter((one) => !openOnly || isOpenStatus(one));
    const kinds = openOnly ? ["is_open = 1"] : ["is_listed = 1", ...(includesParts ? ["is_listed = 0"] : [])];
    const walks = keys.flatMap((key) =>
      statuses.flatMap((one) =>
        kinds.map((kind) =>
          sql(
            `SELECT key_id, record_id, created_at_ms, value FROM agm_records
               WHERE key_id = ? AND ${kind} AND status = ?
               ORDER BY created_at_ms DESC, record_id DESC LIMIT ?`,
            key,
            one,
            limit,
          ),
        ),
      ),
    );
    if (walks.length === 0) return [];
    const found = (await this.#options.engine.read(walks)).flat();
    return storedValues(newestFirst(found).slice(0, limit));
  }

  /** Finds every visible record that has the lookup key. This API key's records come first. */
  async findByLookupKey(lookupKey: string): Promise<StoredValue[]> {
    const { engine, identity, machineId } = this.#options;
    const [rows = []] = await engine.read([
      sql(
        `SELECT r.key_id, r.record_id, r.value FROM agm_lookup_keys k
         JOIN agm_records r ON r.key_id = k.key_id AND r.record_id = k.record_id
         WHERE k.lookup_key = ? AND ${visibleCondition("k")}
         ORDER BY CASE WHEN k.key_id = ? THEN 0 ELSE 1 END, r.created_at_ms, r.record_id`,
        lookupKey,
        identity.keyId,
        machineId,
        identity.keyId,
      ),
    ]);
    return storedValues(rows);
  }

  /** Returns a few other origins for which this machine has used API keys. */
  async otherOrigins(): Promise<string[]> {
    const { engine, identity, machineId } = this.#options;
    const [rows = []] = await engine.read([
      sql(
        `SELECT DISTINCT k.origin FROM agm_api_keys k JOIN agm_machine_keys m ON m.key_id = k.key_id
         WHERE m.machine_id = ? AND k.origin <> ? ORDER BY k.origin LIMIT ${MAX_OTHER_ORIGINS}`,
        machineId,
        identity.origin,
      ),
    ]);
    return originRow
      .array()
      .parse(rows)
      .map(({ origin }) => origin);
  }

  /**
   * Writes and deletes a test entry.
   *
   * @returns whole sentences about problems that do not prevent use but should be fixed
   * @throws AudioError `store_unavailable` with the reason
   */
  check(): Promise<string[]> {
    return this.#options.engine.check();
  }

  close(): Promise<void> {
    return this.#options.engine.close();
  }

  async #visibleKeys(): Promise<string[]> {
    const { engine, identity, machineId } = this.#options;
    const [rows = []] = await engine.read([
      sql(
        `SELECT k.key_id FROM agm_api_keys k JOIN agm_machine_keys m ON m.key_id = k.key_id
         WHERE m.machine_id = ? AND k.origin = ?`,
        machineId,
        identity.origin,
      ),
    ]);
    return keyRow
      .array()
      .parse(rows)
      .map(({ key_id }) => key_id);
  }

  #changeState(change: (state: ApiKeyState, nowMs: number) => ApiKeyState): Promise<void> {
    return this.#transact({
      durability: "process_kill",
      load: [],
      decide: (_rows, state, nowMs) => ({ result: undefined, state: change(state, nowMs) }),
    });
  }

  /**
   * Runs a transaction. Takes its locks in a fixed order (origin, API key, narration), so that transactions cannot
   * deadlock.
   */
  async #transact<T>(transaction: LedgerTransaction<T>): Promise<T> {
    if (!this.#isRegistered) await this.#register();
    const result = await this.#runTransaction(transaction);
    if (result !== NOT_REGISTERED) return result;
    await this.#register();
    const again = await this.#runTransaction(transaction);
    if (again !== NOT_REGISTERED) return again;
    throw new AudioError("store_unavailable", "The ledger loses the row of this API key.", {
      retryable: true,
    });
  }

  #runTransaction<T>({
    durability,
    locksOrigin = false,
    narrationId = null,
    load,
    decide,
  }: LedgerTransaction<T>): Promise<T | typeof NOT_REGISTERED> {
    const { engine, identity } = this.#options;
    const { origin, keyId } = identity;
    const originLock = sql(`SELECT origin FROM agm_origins WHERE origin = ?${engine.forUpdate}`, origin);
    const keyLock = sql(`SELECT state FROM agm_api_keys WHERE key_id = ?${engine.forUpdate}`, keyId);
    return engine.transact<T | typeof NOT_REGISTERED>({
      durability,
      locks: [
        ...(locksOrigin ? [originLock] : []),
        keyLock,
        ...(narrationId === null ? [] : [selectNarration(this.#viewer, narrationId, engine.forUpdate)]),
      ],
      load,
      decide: ({ locked, loaded, steadyMs }) => {
        const row = locked[locksOrigin ? 1 : 0]?.[0];
        const isOriginMissing = locksOrigin && locked[0]?.length === 0;
        if (row === undefined || isOriginMissing) return { result: NOT_REGISTERED, save: [] };
        const narration = narrationId === null ? undefined : locked.at(-1)?.[0];
        const { state: text } = stateRow.parse(row);
        const before = readApiKeyState(text, steadyMs);
        const {
          result,
          save = [],
          state = before,
        } = decide(loaded, before, steadyMs, narration === undefined ? null : toNarrationRow(narration));
        const after = JSON.stringify(state);
        if (after === text) return { result, save };
        const saveState = sql("UPDATE agm_api_keys SET state = ? WHERE key_id = ?", after, keyId);
        return { result, save: [...save, saveState] };
      },
    });
  }

  async #register(): Promise<void> {
    const { engine, identity, machineId } = this.#options;
    const { origin, keyId } = identity;
    await engine.transact({
      durability: "process_kill",
      locks: [],
      load: [],
      decide: () => ({
        result: undefined,
        save: [
          sql("INSERT INTO agm_origins (origin) VALUES (?) ON CONFLICT DO NOTHING", origin),
          sql(
            "INSERT INTO agm_api_keys (key_id, origin, state) VALUES (?, ?, '') ON CONFLICT DO NOTHING",
            keyId,
            origin,
          ),
          saveMachineKey({ machineId, keyId }),
        ],
      }),
    });
    this.#isRegistered = true;
  }
}

const sumSince = (origin: string, lastBucket: number): Statement =>
  sql(
    "SELECT sum(credits) AS credits FROM agm_spend WHERE origin = ? AND bucket > ?",
    origin,
    Math.floor(lastBucket),
  );

const sumOf = ([row]: Rows): number => (row === undefined ? 0 : (sumRow.parse(row).credits ?? 0));

const withoutOwn = (counted: number, { stored, otherShares }: LoadedRow, lastBucket: number): number => {
  // Subtract only the spend of the record that asks for admission. If other records name its task as well, subtract
  // nothing, because the spend still counts for them.
  const ownSpend = otherShares.length > 0 ? null : (stored?.spend ?? null);
  return ownSpend !== null && ownSpend.bucketIndex > lastBucket
    ? Math.max(0, counted - ownSpend.credits)
    : counted;
};

/**
 * Frees a place in flight whose time is over. Keeps the date of the place. The date prevents later writes of the record
 * from taking the place again while its status is the same.
 */
const forgetPlace = (keyId: string, recordId: string): Statement =>
  sql("UPDATE agm_records SET flight = NULL WHERE key_id = ? AND record_id = ?", keyId, recordId);

/**
 * Sets the date of a place in flight to now. Used for dates in the future, which must have been written before the
 * steady clock restarted.
 */
const clampPlace = (keyId: string, recordId: string, nowMs: number): Statement =>
  sql("UPDATE agm_records SET flight_at_ms = ? WHERE key_id = ? AND record_id = ?", nowMs, keyId, recordId);

/** Saves the lease of another process if its date was changed. A date in the future was set to now. */
const clampedLease = (recordKey: RecordKey, stored: Lease | null, lease: Lease): Statement[] =>
  stored?.atMs === lease.atMs ? [] : [saveLease(recordKey, lease)];

const leaseOf = (rows: Rows | undefined): Lease | null => {
  const [row] = rows ?? [];
  return row === undefined ? null : leaseRow.parse(row);
};

/**
 * Sorts rows newest first. Sorts rows of the same millisecond by record id, so that a repeated list has the same order.
 */
function newestFirst(rows: Rows): Rows {
  return rows
    .flatMap((row) => {
      const parsed = listedRow.safeParse(row);
      return parsed.success ? [{ row, ...parsed.data }] : [];
    })
    .sort((one, other) =>
      one.created_at_ms === other.created_at_ms
        ? Number(one.record_id < other.record_id) || -1
        : other.created_at_ms - one.created_at_ms,
    )
    .map(({ row }) => row);
}
