/** Owns the contract of everything that needs atomicity or order between processes: index, leases, slots, budget; stores no record. */
import type { RecordStatus } from "./record.ts";

/** What the index knows of a record: enough to find and order it. The record itself is the truth. */
export interface IndexEntry {
  readonly recordId: string;
  readonly workId: string;
  readonly origin: string;
  readonly taskId: string | null;
  readonly status: RecordStatus;
  /** Work is left that any process may do: a task to watch or audio to save. */
  readonly isOpen: boolean;
  readonly createdAtMs: number;
}

export interface IndexQuery {
  readonly origin: string;
  readonly statuses?: readonly RecordStatus[];
  readonly openOnly?: boolean;
  readonly limit: number;
}

/** The account whose limits are counted: origin and fingerprint, in one string. */
export type AccountId = string;
/** One process: host, pid and something random (see holder.ts). */
export type HolderId = string;

export interface CreateRequest {
  readonly accountId: AccountId;
  /** Budgets belong to an origin, so that a second key cannot spend a second budget. */
  readonly origin: string;
  readonly recordId: string;
  readonly attempt: number;
  readonly holder: HolderId;
  readonly maxCreates: number;
  readonly windowMs: number;
  readonly maxInFlight: number;
  /** An unanswered create's in-flight slot lapses this long after its process was last seen alive. */
  readonly lapseMs: number;
  readonly credits: number;
  readonly budget: { readonly credits: number; readonly windowMs: number } | null;
}

export interface BudgetQuery {
  readonly origin: string;
  readonly recordId: string;
  readonly attempt: number;
  readonly windowMs: number;
}

export type CreateAdmission =
  | { readonly admitted: true; readonly slotId: string }
  | {
      readonly admitted: false;
      readonly reason: "paused" | "rate" | "in_flight";
      /** When to ask again; for `in_flight` only a guess, since a task may end at any time. */
      readonly waitMs: number;
    }
  | { readonly admitted: false; readonly reason: "budget"; readonly countedCredits: number };

/**
 * `accepted`: the in-flight slot stays until {@link Coordinator.endTask}. `refused`: in-flight slot and reservation
 * are given back; the rate slot counts, for the service may have counted the request. `unanswered`: all stay, for
 * the attempt may have reached the service. `unsent`: nothing left this machine, all is given back.
 *
 * `refused` and `unsent` give back no more than this admission took: an earlier send of the same attempt that was
 * never answered may still have made a task, and stays `unanswered`.
 */
export type CreateOutcome = "accepted" | "refused" | "unanswered" | "unsent";

export interface ReadRequest {
  readonly accountId: AccountId;
  readonly holder: HolderId;
  /** Refused once so many count in the window; who leaves some to others asks with fewer. */
  readonly maxReads: number;
  readonly windowMs: number;
}

export type ReadAdmission =
  /** `usedReads`: how many count in the window now, this one included. */
  | { readonly admitted: true; readonly slotId: string; readonly usedReads: number }
  | { readonly admitted: false; readonly reason: "paused" | "rate"; readonly waitMs: number };

export type LimitClass = "creates" | "reads";

/**
 * Implemented over SQLite transactions (one machine) and Redis scripts (several). Every method is atomic.
 * Limit windows run on a steady clock that cannot be set (SQLite: the machine's; Redis: the server's time);
 * budget windows run on the wall clock, for they outlive a reboot. Fails with `store_unavailable`.
 */
export interface Coordinator {
  /** Adds or updates an entry; `createdAtMs` of an existing one is kept. Called *before* a record is first written. */
  putIndex(entry: IndexEntry): Promise<void>;
  removeIndex(recordId: string): Promise<void>;
  /** Newest first. */
  listIndex(query: IndexQuery): Promise<IndexEntry[]>;
  /** Every record of this input, take and origin, under whatever account. */
  recordsOfWork(workId: string): Promise<string[]>;
  recordsOfTask(origin: string, taskId: string): Promise<string[]>;
  /** Remembers whose audio a saved file is, so that `recordsOfPath` finds it by its address. */
  putPath(place: string, path: string, recordId: string): Promise<void>;
  recordsOfPath(place: string, path: string): Promise<string[]>;

  /**
   * Takes, keeps or is refused a lease; a lease held by this holder is renewed. `replacing` takes it over from
   * exactly that holder, which the caller knows to be dead. A lease lapses `ttlMs` after its last renewal.
   */
  acquireLease(
    name: string,
    holder: HolderId,
    ttlMs: number,
    replacing?: HolderId,
  ): Promise<{ acquired: true } | { acquired: false; holder: HolderId }>;
  releaseLease(name: string, holder: HolderId): Promise<void>;

  /**
   * A slot for one create, or why not. The record's own in-flight slot and reservation are reused, never
   * doubled; the reservation's time is renewed. A rate slot counts from now until `windowMs` after it is
   * settled (or after its dead holder was last seen).
   */
  admitCreate(request: CreateRequest): Promise<CreateAdmission>;
  /** Credits reserved or charged at the origin within `windowMs` of now, but for the very attempt that asks. */
  countCredits(query: BudgetQuery): Promise<number>;
  settleCreate(slotId: string, outcome: CreateOutcome): Promise<void>;
  /**
   * The task reached its end (or is another account's, or gone): frees its in-flight slot and replaces the
   * reservation of that attempt by what was charged. Safe to repeat, and for records that never held a slot.
   */
  endTask(recordId: string, attempt: number, chargedCredits: number): Promise<void>;
  /** A task found accepted without a slot of ours (a lost ledger, another process): it is in flight all the same. */
  noteInFlight(
    accountId: AccountId,
    origin: string,
    recordId: string,
    attempt: number,
    credits: number,
  ): Promise<void>;

  admitRead(request: ReadRequest): Promise<ReadAdmission>;
  settleRead(slotId: string): Promise<void>;

  /** Nobody sends this class for `ms`; a longer pause already set stays. */
  pause(accountId: AccountId, limitClass: LimitClass, ms: number): Promise<void>;
  /** "I am alive": everything this holder has pending stays pending. */
  heartbeat(holder: HolderId): Promise<void>;
}
