/** Owns the Coordinator over the ledger file: one transaction a method, and how durable each must be. */
import type { Clock } from "../../clock.ts";
import type {
  AccountId,
  BudgetQuery,
  Coordinator,
  CreateAdmission,
  CreateOutcome,
  CreateRequest,
  HolderId,
  IndexEntry,
  IndexQuery,
  LimitClass,
  ReadAdmission,
  ReadRequest,
} from "../coordinator.ts";
import {
  admitCreate,
  heartbeatCreates,
  holdInFlight,
  releaseInFlight,
  settleCreate,
} from "./create-slots-table.ts";
import type { LedgerDatabase, Session } from "./database.ts";
import {
  listIndex,
  putIndex,
  putPath,
  recordsOfPath,
  recordsOfTask,
  recordsOfWork,
  removeIndex,
} from "./index-table.ts";
import { acquireLease, releaseLease } from "./lease-table.ts";
import { admitRead, heartbeatReads, pause, settleRead } from "./read-slots-table.ts";
import { charge, countedCredits, reserve, spendState } from "./spend-table.ts";

/**
 * Index entries and reservations are on the disk before their method returns, for they guard money. Windows,
 * leases and slots need only survive processes: a machine that restarts has begun a new steady clock.
 */
export class SqliteCoordinator implements Coordinator {
  readonly #database: LedgerDatabase;
  readonly #clock: Clock;

  constructor(database: LedgerDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  putIndex(entry: IndexEntry): Promise<void> {
    return this.#database.write((session) => putIndex(session, entry), "power_cut");
  }

  removeIndex(recordId: string): Promise<void> {
    return this.#database.write((session) => removeIndex(session, recordId), "power_cut");
  }

  listIndex(query: IndexQuery): Promise<IndexEntry[]> {
    return this.#database.read((session) => listIndex(session, query));
  }

  recordsOfWork(workId: string): Promise<string[]> {
    return this.#database.read((session) => recordsOfWork(session, workId));
  }

  recordsOfTask(origin: string, taskId: string): Promise<string[]> {
    return this.#database.read((session) => recordsOfTask(session, origin, taskId));
  }

  putPath(place: string, path: string, recordId: string): Promise<void> {
    return this.#database.write((session) => putPath(session, place, path, recordId), "power_cut");
  }

  recordsOfPath(place: string, path: string): Promise<string[]> {
    return this.#database.read((session) => recordsOfPath(session, place, path));
  }

  acquireLease(
    name: string,
    holder: HolderId,
    ttlMs: number,
    replacing?: HolderId,
  ): Promise<{ acquired: true } | { acquired: false; holder: HolderId }> {
    return this.#timed((session, nowMs) => acquireLease(session, nowMs, { name, holder, ttlMs, replacing }));
  }

  releaseLease(name: string, holder: HolderId): Promise<void> {
    return this.#timed((session) => releaseLease(session, name, holder));
  }

  admitCreate(request: CreateRequest): Promise<CreateAdmission> {
    return this.#database.write(
      (session) => admitCreate(session, this.#clock.steadyMs(), this.#clock.wallMs(), request),
      "power_cut",
    );
  }

  countCredits(query: BudgetQuery): Promise<number> {
    return this.#database.read((session) => countedCredits(session, this.#clock.wallMs(), query));
  }

  settleCreate(slotId: string, outcome: CreateOutcome): Promise<void> {
    return this.#timed((session, nowMs) => settleCreate(session, nowMs, slotId, outcome));
  }

  endTask(recordId: string, attempt: number, chargedCredits: number): Promise<void> {
    return this.#timed((session) => {
      releaseInFlight(session, recordId, attempt);
      charge(session, this.#clock.wallMs(), recordId, attempt, chargedCredits);
    });
  }

  noteInFlight(
    accountId: AccountId,
    origin: string,
    recordId: string,
    attempt: number,
    credits: number,
  ): Promise<void> {
    return this.#timed((session, nowMs) => {
      const isNew = spendState(session, recordId, attempt) === "none";
      holdInFlight(session, nowMs, accountId, recordId, attempt);
      if (isNew) reserve(session, this.#clock.wallMs(), { recordId, attempt, origin, credits });
    });
  }

  admitRead(request: ReadRequest): Promise<ReadAdmission> {
    return this.#timed((session, nowMs) => admitRead(session, nowMs, request));
  }

  settleRead(slotId: string): Promise<void> {
    return this.#timed((session, nowMs) => settleRead(session, nowMs, slotId));
  }

  pause(accountId: AccountId, limitClass: LimitClass, ms: number): Promise<void> {
    return this.#timed((session, nowMs) => pause(session, nowMs, accountId, limitClass, ms));
  }

  heartbeat(holder: HolderId): Promise<void> {
    return this.#timed((session, nowMs) => {
      heartbeatCreates(session, nowMs, holder);
      heartbeatReads(session, nowMs, holder);
    });
  }

  /** The time is read inside the transaction: no process can then see an entry that is newer than its own now. */
  #timed<T>(work: (session: Session, nowMs: number) => T): Promise<T> {
    return this.#database.write((session) => work(session, this.#clock.steadyMs()), "process_kill");
  }
}
