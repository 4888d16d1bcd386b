/** Owns how the workflow reads and changes records, index kept in step; decides nothing about tasks. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import type { IndexEntry } from "../ledger/coordinator.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { Store } from "../ledger/store.ts";
import type { Leases } from "./leases.ts";

/** Whether a record leaves work that any process may take up: an accepted task to watch, or audio to save. */
export function isOpen(record: TaskRecord): boolean {
  if (record.isGone) return false;
  switch (record.status) {
    case "queued":
    case "processing":
      return true;
    case "succeeded":
      return record.files.length === 0;
    // What was sent and never answered is learnt by sending it again, which only a call that asks for it may do.
    case "unresolved":
    case "waiting":
    case "failed":
      return false;
  }
}

function indexEntry(record: TaskRecord): IndexEntry {
  return {
    recordId: record.recordId,
    workId: record.workId,
    origin: record.origin,
    taskId: record.taskId,
    status: record.status,
    isOpen: isOpen(record),
    createdAtMs: record.createdAtMs,
  };
}

const sameEntry = (a: IndexEntry, b: IndexEntry): boolean =>
  a.status === b.status && a.isOpen === b.isOpen && a.taskId === b.taskId;

export class RecordBook {
  readonly #store: Store;
  readonly #leases: Leases;
  readonly #clock: Clock;
  /** Changes to one record from within this process, one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(store: Store, leases: Leases, clock: Clock) {
    this.#store = store;
    this.#leases = leases;
    this.#clock = clock;
  }

  get(recordId: string): Promise<TaskRecord | undefined> {
    return this.#store.records.get(recordId);
  }

  /** Adds a record, or gives back the one that is there already. */
  async add(record: TaskRecord): Promise<TaskRecord> {
    return this.#inTurn(record.recordId, async () => {
      const existing = await this.#store.records.get(record.recordId);
      if (existing !== undefined) return existing;
      await this.#write(record, undefined);
      return record;
    });
  }

  /** Changes the stored record (never a stale copy of it) and returns what is stored now. */
  async update(recordId: string, change: (record: TaskRecord) => TaskRecord): Promise<TaskRecord> {
    return this.#inTurn(recordId, async () => {
      const before = await this.#store.records.get(recordId);
      if (before === undefined) {
        throw new AudioError("store_unavailable", "The ledger lost a record while it was in use.", {
          retryable: true,
        });
      }
      const after = change(before);
      for (const { place, path } of after.files.slice(before.files.length)) {
        await this.#store.coordinator.putPath(place, path, recordId);
      }
      await this.#write(after, indexEntry(before));
      return after;
    });
  }

  /** Forgets a claim that the service refused: there is no task, so there must be no record of one. */
  async remove(recordId: string): Promise<void> {
    await this.#inTurn(recordId, async () => {
      await this.#store.records.delete(recordId);
      await this.#store.coordinator.removeIndex(recordId);
    });
  }

  /**
   * An open entry is indexed before its record is written, a closed one after: a crash in between leaves an
   * entry that is looked at once more, never a record that nobody finds.
   */
  async #write(record: TaskRecord, indexed: IndexEntry | undefined): Promise<void> {
    const entry = indexEntry(record);
    const isNew = indexed === undefined;
    if (isNew || (entry.isOpen && !indexed.isOpen)) await this.#store.coordinator.putIndex(entry);
    await this.#store.records.set(record);
    if (!isNew && !(entry.isOpen && !indexed.isOpen) && !sameEntry(entry, indexed)) {
      await this.#store.coordinator.putIndex(entry);
    }
  }

  async #inTurn<T>(recordId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(recordId) ?? Promise.resolve();
    const turn = before.then(() => this.#leases.under(`write:${recordId}`, this.#clock, work));
    const settled = turn.catch(() => undefined);
    this.#turns.set(recordId, settled);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(recordId) === settled) this.#turns.delete(recordId);
    }
  }
}
