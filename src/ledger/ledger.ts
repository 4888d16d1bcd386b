/** The ledger: records, their leases, and what happens to them, by events. */
import { randomInt } from "node:crypto";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { isProcessGone } from "../process-id.ts";
import { leaseTtlMs } from "./horizons.ts";
import { earlierTaskName, pathName, taskName, workName, writtenName } from "./identity.ts";
import type { AdmitRequest, LedgerIdentity, LedgerStore, ListQuery } from "./ledger-store.ts";
import { step, type TaskEvent, unsent } from "./lifecycle.ts";
import { rowOf, type TaskRecord } from "./record.ts";
import type { Admission, CreateLimits } from "./rules/admission.ts";
import type { SlotRelease } from "./rules/api-key-state.ts";
import { durabilityOf } from "./rules/durability.ts";
import { eachTaskOnce } from "./rules/shared-task.ts";
import { StoredRecords } from "./stored-records.ts";

/** Others change a record at the same moment now and then; as often as this in a row, something is wrong. */
const MAX_CONFLICTS = 20;

/** Leaves room for many more writes in an integer of 32 bits. */
const FIRST_REVISION_MAX = 2 ** 30;

export interface ChangeOptions {
  /** A slot whose create has ended with this change. */
  readonly slot?: SlotRelease | undefined;
  readonly lease?: "renew" | "release";
}

export type Admitted =
  | { readonly kind: "admitted"; readonly record: TaskRecord }
  /** Another process has changed the record, removed it, or drives it now. */
  | { readonly kind: "changed"; readonly record: TaskRecord | null; readonly isLeaseLost: boolean }
  | Exclude<Admission, { readonly kind: "admitted" | "conflict" }>;

export class Ledger {
  readonly store: LedgerStore;
  readonly identity: LedgerIdentity;
  readonly leaseTtlMs: number;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #stored: StoredRecords;

  constructor(
    store: LedgerStore,
    identity: LedgerIdentity,
    clock: Pick<Clock, "wallMs">,
    log: Log,
    timeScale = 1,
  ) {
    this.store = store;
    this.identity = identity;
    this.leaseTtlMs = leaseTtlMs(timeScale);
    this.#clock = clock;
    this.#stored = new StoredRecords(store, clock, log);
  }

  /** This API key's record. A damaged one is an error and never "no record". */
  async get(recordId: string): Promise<TaskRecord | null> {
    const value = await this.store.get(recordId);
    if (value === undefined) return null;
    return await this.#stored.read({ keyId: this.identity.keyId, recordId, value });
  }

  /** The records of a work, this key's first; others' are those of keys that this machine has used. */
  async ofWork(workId: string): Promise<TaskRecord[]> {
    return await this.#named(workName(workId));
  }

  /** Records of this work, and those whose input is a respelling of its text. */
  async ofWrittenWork(workId: string): Promise<TaskRecord[]> {
    return [...(await this.ofWork(workId)), ...(await this.#named(writtenName(workId)))];
  }

  /** By the task that a record has now; where there is none, by that of an attempt that failed. */
  async ofTask(taskId: string): Promise<TaskRecord[]> {
    const { origin } = this.identity;
    const records = await this.#named(taskName(origin, taskId));
    return records.length > 0 ? records : await this.#named(earlierTaskName(origin, taskId));
  }

  /** Records of every origin, because the file is here whatever service made it. */
  async ofPath(path: string): Promise<TaskRecord[]> {
    return await this.#named(pathName(path));
  }

  /**
   * Newest first, each task once. What cannot be read is logged and passed over, because one damaged record must not
   * hide all others.
   */
  async list(query: ListQuery): Promise<TaskRecord[]> {
    for (let { limit } = query; ; limit *= 2) {
      const stored = await this.store.list({ ...query, limit });
      const records = stored.flatMap((value) => this.#stored.readLeniently(value) ?? []);
      const listed = eachTaskOnce(records, this.identity.keyId);
      if (listed.length >= query.limit || stored.length < limit) return listed.slice(0, query.limit);
    }
  }

  /** A damaged record of this key is an error; another key's is a hint, and passed over. */
  async #named(name: string): Promise<TaskRecord[]> {
    const records: TaskRecord[] = [];
    for (const stored of await this.store.named(name)) {
      const isOwn = stored.keyId === this.identity.keyId;
      const record = isOwn ? await this.#stored.read(stored) : this.#stored.readLeniently(stored);
      if (record !== null) records.push(record);
    }
    return records;
  }

  /**
   * Takes the lease of a record for this process, writing the draft where there is no such record. A lease whose
   * processId is a dead process of this machine is taken over at once.
   *
   * @param draft as it was last seen. Where it is gone from the ledger and had no task, it was refused and forgotten:
   *   then the claim is a new one, which knows nothing of the sends before
   * @returns what is stored, and whether the lease is ours
   */
  async claim(draft: TaskRecord): Promise<{ record: TaskRecord; isOurs: boolean }> {
    const row = rowOf(draft.taskId === null ? { ...unsent(draft), revision: 0 } : draft);
    const claim = { row, leaseTtlMs: this.leaseTtlMs };
    const first = await this.store.claim(claim);
    const answer = isProcessGone(first.leaseOwner)
      ? await this.store.claim({ ...claim, replacing: first.leaseOwner })
      : first;
    const record = await this.#stored.read({ ...draft, value: answer.value });
    return { record, isOurs: answer.leaseOwner === this.identity.processId };
  }

  /**
   * Applies an event to a record: the table's answer is written if the record is still what the caller knows, else
   * the event is applied to what is stored. An event that is no news for what the caller knows writes nothing.
   *
   * @param known the record as it was last seen; where the ledger has lost it and it has a task, it is written again
   * @returns the record with the event in it; `null` where nothing is left to remember
   * @throws AudioError `store_unavailable`
   */
  async apply(
    known: TaskRecord,
    event: TaskEvent,
    { slot, lease }: ChangeOptions = {},
  ): Promise<TaskRecord | null> {
    const { keyId, recordId } = known;
    let current = known;
    let expectedRevision: number | null = known.revision;
    for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
      const next = step(current, event);
      if (next === current && expectedRevision !== null) {
        if (slot !== undefined && tries === 0) await this.store.releaseSlot(slot);
        if (lease === "release") await this.store.release(recordId);
        return current;
      }
      const after = { ...next, revision: nextRevision(current) };
      const error = event.kind === "again" && next !== current ? event.error : undefined;
      const { attempt, finishedAtMs, createdAtMs } = current;
      const answer = await this.store.write({
        keyId,
        recordId,
        expectedRevision,
        after: rowOf(after),
        durability: durabilityOf(expectedRevision === null ? null : current, after),
        failed: error === undefined ? undefined : { attempt, error, atMs: finishedAtMs ?? createdAtMs },
        slot: tries === 0 ? slot : undefined,
        keepsSpend: expectedRevision !== null && keepsSpend(current, after),
        lease,
      });
      if (answer.written) return after;
      const found = answer.value === undefined ? null : { keyId, recordId, value: answer.value };
      const stored = found === null ? null : await this.#stored.read(found);
      if (stored === null && next.taskId === null) return null;
      // Refused although the revision is the expected one: the columns are damaged.
      const isOdd: boolean = stored?.revision === expectedRevision;
      if (found !== null && isOdd) await this.#stored.setAside(found, "its columns say something else");
      expectedRevision = stored === null || isOdd ? null : stored.revision;
      current = stored ?? current;
    }
    throw unavailable("The ledger stayed busy with the same record.");
  }

  /**
   * Asks for a create to be sent now: pause, rate, places in flight and budget are judged, and the record becomes
   * `unresolved`, in one step.
   *
   * @param send a new name for this send; see {@link releaseAdmission}
   * @param wantedBy the narration that pays for it, `null`: a caller asked for it by itself; and whether all callers have
   *   handles
   */
  async admit(
    known: TaskRecord,
    send: string,
    limits: CreateLimits,
    wantedBy: Pick<AdmitRequest, "narrationId" | "isForHandles"> = { narrationId: null },
  ): Promise<Admitted> {
    let current = known;
    for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
      const { attempt } = current;
      const next = step(current, { kind: "sent", attempt, send, atMs: this.#clock.wallMs() });
      if (next === current) {
        return { kind: "changed", record: current, isLeaseLost: false };
      }
      const after = { ...next, revision: nextRevision(current) };
      const admission = await this.store.admit({
        ...limits,
        after: rowOf(after),
        expectedRevision: current.revision,
        slotId: send,
        ...wantedBy,
      });
      if (admission.kind === "admitted") return { kind: "admitted", record: after };
      if (admission.kind !== "conflict") return admission;
      const { value, isLeaseLost } = admission;
      const stored = value === undefined ? null : await this.#stored.read({ ...current, value });
      if (stored === null || isLeaseLost || stored.attempt !== attempt) {
        return { kind: "changed", record: stored, isLeaseLost };
      }
      current = stored;
    }
    throw unavailable("The ledger stayed busy with the same record.");
  }

  /** An admission that was never used, or whose answer was lost: place, slot and reservation are given back. */
  async releaseAdmission(record: TaskRecord, send: string): Promise<TaskRecord | null> {
    const stored = await this.get(record.recordId);
    const slot: SlotRelease = { slotId: send, outcome: "unsent" };
    if (stored === null) {
      await this.store.releaseSlot(slot);
      return null;
    }
    return await this.apply(stored, { kind: "notTaken", send }, { slot });
  }
}

/**
 * A claim begins at 0, also that of a record which was removed before. The first write picks a random revision, because
 * a late or repeated write to the removed record must not fit the new one.
 */
const nextRevision = ({ revision }: TaskRecord): number =>
  revision === 0 ? randomInt(1, FIRST_REVISION_MAX) : revision + 1;

const keepsSpend = (before: TaskRecord, after: TaskRecord): boolean =>
  before.status === after.status && before.taskId === after.taskId && before.spend === after.spend;

const unavailable = (message: string): AudioError =>
  new AudioError("store_unavailable", message, { retryable: true });
