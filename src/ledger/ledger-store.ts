/** What a store must be able to do, most of it in one transaction (SQLite) or one script (Redis); the ledger's rules stand above it. */
import type Keyv from "keyv";
import type { HolderId } from "../holder.ts";
import type { AccountId } from "./identity.ts";
import type { NarrationStore } from "./narration-store.ts";
import type { RecordStatus, Row } from "./record.ts";

/** Whose ledger is opened, and by which process. A store counts, lists and leases for this account alone. */
export interface LedgerIdentity {
  readonly origin: string;
  readonly accountId: AccountId;
  readonly holder: HolderId;
}

/** A value as it is stored, with the name under which it is. */
export interface StoredValue {
  readonly accountId: AccountId;
  readonly recordId: string;
  readonly value: string;
}

export interface Claim {
  /** Written where there is no such record yet. */
  readonly row: Row;
  readonly leaseTtlMs: number;
  /** A holder that is known to be dead: its lease is taken over at once. */
  readonly replacing?: HolderId;
}

export interface ClaimAnswer {
  /** Who has the lease now: this process, if it could be had. */
  readonly holder: HolderId;
  /** The record as it is stored now. */
  readonly value: string;
}

/**
 * How a request ended that a slot was taken for. `counts`: its window begins now. `unsent`: nothing left this
 * machine, and the slot is given back. Safe to repeat; of a slot that is gone already it changes nothing.
 */
export interface Settlement {
  readonly limitClass: LimitClass;
  readonly slotId: string;
  readonly outcome: "counts" | "unsent";
}

export interface Write {
  readonly accountId: AccountId;
  readonly recordId: string;
  /** What the store must hold for the write to take place; `null`: no such record. */
  readonly expectedRevision: number | null;
  /** `null`: the record is removed. */
  readonly after: Row | null;
  /** Done whether the write takes place or not. */
  readonly settle?: Settlement | undefined;
  /** Only a lease of this process is renewed (the default, where it has one) or given up. */
  readonly lease?: "renew" | "release" | undefined;
  /** It tells somebody something that a power cut must not take back, though no column shows it. */
  readonly isDear?: boolean | undefined;
}

/** `value`: what is stored instead, `undefined` for no record. */
export type WriteAnswer =
  | { readonly written: true }
  | { readonly written: false; readonly value: string | undefined };

export interface AdmitRequest {
  /** The record as it is to be stored when the create is admitted: `unresolved`, its reservation in `spend`. */
  readonly after: Row;
  readonly expectedRevision: number;
  /** Made by the caller, so that an admission whose answer was lost can be taken back. */
  readonly slotId: string;
  readonly maxCreates: number;
  readonly windowMs: number;
  readonly maxInFlight: number;
  /** A create without an answer leaves its place in flight so long after its process was last seen alive. */
  readonly lapseMs: number;
  /** What `spend` of all records may come to; the asking record's own earlier spend is not counted. */
  readonly budget: { readonly credits: number; readonly windowMs: number } | null;
}

/** Why a create has to wait. */
export type CreateHold = "paused" | "rate" | "in_flight";

export type Admission =
  | { readonly kind: "admitted" }
  /** The record has changed, or another process has its lease: what is stored now. */
  | { readonly kind: "conflict"; readonly value: string | undefined; readonly isLeaseLost: boolean }
  | { readonly kind: "over_budget"; readonly countedCredits: number }
  /** When to ask again; for `in_flight` only a guess, since a task may end at any time. */
  | { readonly kind: "held"; readonly reason: CreateHold; readonly waitMs: number };

export interface ReadRequest {
  readonly slotId: string;
  /** Refused once so many count in the window; who leaves some to others asks with fewer. */
  readonly maxReads: number;
  readonly windowMs: number;
}

export type ReadAdmission =
  /** `usedReads`: how many count in the window now, this one included. */
  | { readonly kind: "admitted"; readonly usedReads: number }
  | { readonly kind: "held"; readonly reason: "paused" | "rate"; readonly waitMs: number };

export type LimitClass = "creates" | "reads";

export interface ListQuery {
  /**
   * `own`: this account's records. `all`: also those of other accounts that this machine has used at the origin; as
   * far as they are listed, for this is what a person is shown.
   */
  readonly accounts: "own" | "all";
  readonly status?: RecordStatus | undefined;
  readonly openOnly?: boolean;
  readonly limit: number;
}

/**
 * Every method but the lists is atomic. Each opens the store where it is not open, and fails with `store_unavailable`
 * within seconds.
 * Limit windows, leases and places in flight run on a steady clock that cannot be set (SQLite: the machine's; Redis:
 * the server's); times that lie ahead, because that clock began anew, count from now. The budget's window runs on the
 * wall clock, for it outlives a reboot: `spend` is kept as sums per quarter of an hour, and a sum leaves the window
 * as a whole.
 */
export interface LedgerStore {
  /** Records, by {@link recordKey}: they are read through it, and set aside. They are written by the methods below. */
  readonly keyv: Keyv<unknown>;
  readonly narrations: NarrationStore;
  /** Takes or renews the lease of a record, which is written first where it is missing. */
  claim(claim: Claim): Promise<ClaimAnswer>;
  release(recordId: string): Promise<void>;
  /** Compare and set. Columns, sums and places in flight follow the value; money is on the disk when it resolves. */
  write(write: Write): Promise<WriteAnswer>;
  /** Pause, rate, places in flight and budget; where all allow it, the slot is taken and the record written. */
  admit(request: AdmitRequest): Promise<Admission>;
  /** Credits that the budget counts now. */
  spentCredits(windowMs: number): Promise<number>;
  settle(settlement: Settlement): Promise<void>;
  admitRead(request: ReadRequest): Promise<ReadAdmission>;
  /** Nobody sends this class for `ms`; a longer pause already set stays. */
  pause(limitClass: LimitClass, ms: number): Promise<void>;
  /** "I am alive": what this process has pending stays pending. Renews its leases; names those it has lost. */
  signOfLife(recordIds: readonly string[]): Promise<string[]>;
  /** Newest first. */
  list(query: ListQuery): Promise<StoredValue[]>;
  /** Every record of this work, task or file: this account's first, then those of the machine's other accounts. */
  ofWork(workId: string): Promise<StoredValue[]>;
  ofTask(taskId: string): Promise<StoredValue[]>;
  ofPath(path: string): Promise<StoredValue[]>;
  /** Other addresses that this store holds requests of, a few; none where that cannot be told cheaply. */
  otherOrigins(): Promise<string[]>;
  /** Where it is, for a person; never with credentials. */
  readonly description: string;
  /**
   * Whether it can be written right now.
   *
   * @returns what works but should be changed, in whole sentences
   * @throws AudioError `store_unavailable` with the reason
   */
  check(): Promise<string[]>;
  close(): Promise<void>;
}

/** The name of a record among Keyv's keys. */
export const recordKey = (accountId: AccountId, recordId: string): string => `${accountId}/${recordId}`;
