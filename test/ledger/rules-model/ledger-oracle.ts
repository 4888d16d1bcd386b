/**
 * Notes what really happened in a scenario, on a clock that never restarts. Compares every answer of the ledger with
 * these facts.
 */
import { RECOVERY_TIMEOUT_MS, SPEND_BUCKET_MS } from "../../../src/ledger/durations.ts";
import {
  type ConcurrencySlotState,
  deriveConcurrencySlotState,
  type RequestRecord,
} from "../../../src/ledger/record.ts";
import type { AdmissionDecision } from "../../../src/ledger/rules/admission.ts";
import type { SendOutcome } from "../../../src/ledger/rules/api-key-state.ts";
import type { LeaseResult, RecordWriteResult } from "../../../src/ledger/store/ledger-store.ts";

export const WINDOW_MS = 60_000;
export const UNRESOLVED_SLOT_TTL_MS = 30_000;
export const LEASE_MS = 15_000;
export const MAX_SUBMISSIONS = 6;
export const MAX_CONCURRENT_TASKS = 2;
export const BUDGET_WINDOW_MS = 24 * 60 * 60_000;

/** The rules that an answer of the ledger can violate. */
export type Rule =
  | "rate"
  | "concurrency"
  | "budget"
  | "lease"
  | "revision"
  | "cooldown"
  | "sums"
  | "repeat"
  | "wait"
  | "records";

export class Violation extends Error {
  readonly rule: Rule;

  constructor(rule: Rule, description: string) {
    super(`${rule}: ${description}`);
    this.rule = rule;
  }
}

export interface Actor {
  readonly name: string;
  readonly key: string;
}

interface Send {
  readonly sendId: string;
  readonly key: string;
  readonly owner: string;
  isPending: boolean;
  /** The latest time at which the submission may have reached the service. */
  lastMs: number;
  /**
   * The latest time from which the ledger may count the window of the rate slot. It is later than `lastMs` if the
   * process sent no heartbeat for longer than a window.
   */
  mayCountFromMs: number;
}

interface KnownRecord {
  readonly key: string;
  record: RequestRecord;
  lease: { readonly owner: string; readonly atMs: number } | null;
  concurrencySlot: {
    readonly kind: ConcurrencySlotState;
    readonly atMs: number;
    readonly owner: string;
  } | null;
  statusAtMs: number;
}

interface KnownCooldown {
  readonly key: string;
  readonly atMs: number;
  readonly lengthMs: number;
}

interface AdmissionQuestion {
  readonly known: RequestRecord;
  readonly after: RequestRecord;
  readonly sendId: string;
  readonly budget: number | null;
  /**
   * The time at which the process first requested the admission. A pause that began later does not forbid the
   * admission, because the first request may already have been committed.
   */
  readonly firstAskedMs: number;
}

const textOf = (record: RequestRecord | undefined | null): string | undefined =>
  record === undefined || record === null ? undefined : JSON.stringify(record);

/**
 * Finds answers that are too generous or too strict. The ledger cannot know every time exactly, because the steady
 * clock may restart and a process may sleep. A refusal is correct if the strictest possible time explains it. An
 * admission is correct if the most generous possible time explains it.
 */
export class LedgerOracle {
  nowMs = 0;
  wallMs = 0;
  readonly records = new Map<string, KnownRecord>();
  readonly #sends = new Map<string, Send>();
  readonly #heartbeats = new Map<string, { readonly key: string; readonly atMs: number }>();
  readonly #discarded: { readonly credits: number; readonly atMs: number }[] = [];
  #cooldowns: KnownCooldown[] = [];
  #restartedAtMs = 0;
  /**
   * The time at which the ledger first read each entry after a restart of the steady clock, and corrected the entry's
   * date.
   */
  readonly #seenSinceRestart = new Map<string, number>();

  restarted(): void {
    this.#restartedAtMs = this.nowMs;
    this.#seenSinceRestart.clear();
  }

  /**
   * Notes that the stored state of an API key was emptied. The ledger then knows none of the key's earlier rate slots,
   * cooldowns and heartbeats.
   */
  emptied(key: string): void {
    for (const send of this.#sends.values()) if (send.key === key) this.#sends.delete(send.sendId);
    for (const [owner, beat] of this.#heartbeats) if (beat.key === key) this.#heartbeats.delete(owner);
    this.#cooldowns = this.#cooldowns.filter((cooldown) => cooldown.key !== key);
  }

  /** Notes that an operation has read the state of an API key. Every operation of the key does. */
  stateRead(key: string): void {
    this.#recordRead(`state ${key}`);
  }

  claimed(
    { name, key }: Actor,
    draft: RequestRecord,
    deadOwner: string | undefined,
    answer: LeaseResult,
  ): void {
    const { recordId } = draft;
    this.#recordRead(`lease ${recordId}`);
    const storedRecord = this.records.get(recordId);
    if (answer.recordJson !== textOf(storedRecord?.record ?? draft))
      throw new Violation("records", "a claim shows another value");
    if (answer.leaseOwner !== name) {
      const isHeld =
        storedRecord?.lease?.owner === answer.leaseOwner && this.#mayHoldLease(recordId, storedRecord.lease);
      if (!isHeld || answer.leaseOwner === deadOwner) throw new Violation("wait", "a free lease was refused");
      return;
    }
    if (
      storedRecord !== undefined &&
      this.#isLedByOther(storedRecord, name) &&
      storedRecord.lease?.owner !== deadOwner
    ) {
      throw new Violation("lease", `${name} got the lease of ${storedRecord.lease?.owner}`);
    }
    const lease = { owner: name, atMs: this.nowMs };
    if (storedRecord !== undefined) storedRecord.lease = lease;
    else
      this.records.set(recordId, {
        key,
        record: draft,
        lease,
        concurrencySlot: null,
        statusAtMs: this.nowMs,
      });
  }

  leaseReleased({ name }: Actor, recordId: string): void {
    const storedRecord = this.records.get(recordId);
    if (storedRecord?.lease?.owner === name) storedRecord.lease = null;
  }

  heartbeat({ name, key }: Actor, recordIds: readonly string[], lost: readonly string[]): void {
    this.#heartbeats.set(name, { key, atMs: this.nowMs });
    for (const send of this.#sends.values()) {
      if (send.isPending && send.owner === name) this.#seen(send);
    }
    for (const recordId of recordIds) {
      const storedRecord = this.records.get(recordId);
      const isOwn = storedRecord?.lease?.owner === name;
      if (isOwn === lost.includes(recordId))
        throw new Violation("lease", `a heartbeat of ${name} is mistaken`);
      if (isOwn) storedRecord.lease = { owner: name, atMs: this.nowMs };
    }
  }

  cooldownStarted({ key }: Actor, lengthMs: number): void {
    this.#cooldowns.push({ key, atMs: this.nowMs, lengthMs });
  }

  sendOutcomeRecorded({ sendId, outcome }: SendOutcome): void {
    const send = this.#sends.get(sendId);
    if (send === undefined || !send.isPending) return;
    if (outcome === "unsent") this.#sends.delete(sendId);
    else this.#seen(send);
    send.isPending = false;
  }

  written(
    actor: Actor,
    {
      recordId,
      known,
      after,
      releasesLease,
    }: {
      readonly recordId: string;
      readonly known: RequestRecord | null;
      readonly after: RequestRecord | null;
      readonly releasesLease: boolean;
    },
    answer: RecordWriteResult,
  ): void {
    const storedRecord = this.records.get(recordId);
    const stored = textOf(storedRecord?.record);
    if (!answer.isWritten) {
      if (answer.recordJson !== stored) throw new Violation("records", "a write shows another value");
      if (stored === textOf(known) || stored === textOf(after)) {
        throw new Violation("wait", "a write was refused for no reason");
      }
      return;
    }
    if (stored === textOf(after)) return;
    if (stored !== textOf(known))
      throw new Violation("revision", "a write replaced a revision that the process had not read");
    if (after === null) this.records.delete(recordId);
    else {
      this.#store(actor, after);
      const now = this.records.get(recordId);
      if (now?.lease?.owner === actor.name) {
        now.lease = releasesLease ? null : { owner: actor.name, atMs: this.nowMs };
      }
    }
  }

  discarded(recordId: string): void {
    const spend = this.records.get(recordId)?.record.spend ?? null;
    if (spend !== null) this.#discarded.push(spend);
    this.records.delete(recordId);
  }

  admission(actor: Actor, request: AdmissionQuestion, answer: AdmissionDecision): void {
    const { known, after, sendId } = request;
    for (const other of this.#others(actor.key, known.recordId))
      this.#recordRead(`slot ${other.record.recordId}`);
    const storedRecord = this.records.get(known.recordId);
    const isCurrent = textOf(storedRecord?.record) === textOf(known);
    const send = this.#sends.get(sendId);
    const isCommitted = send?.isPending === true && textOf(storedRecord?.record) === textOf(after);
    const windowFromMs = this.nowMs - WINDOW_MS;
    switch (answer.kind) {
      case "admitted":
        if (!isCommitted || send.mayCountFromMs <= windowFromMs)
          this.#checkConsent(actor, request, storedRecord);
        else send.lastMs = send.mayCountFromMs;
        return;
      case "conflict":
        if (isCommitted && send.lastMs > windowFromMs)
          throw new Violation("repeat", "a repeated admission was refused");
        if (answer.recordJson !== textOf(storedRecord?.record))
          throw new Violation("records", "a conflict shows another value");
        if (!isCurrent) return;
        if (answer.isLeaseLost && storedRecord !== undefined && storedRecord.lease?.owner !== actor.name) {
          if (storedRecord.lease !== null && this.#mayHoldLease(known.recordId, storedRecord.lease)) return;
        }
        throw new Violation("wait", "there was no conflict");
      case "over_budget":
        this.#checkMayAsk(actor, storedRecord, isCurrent);
        this.#checkOverBudget(request, answer.spentInWindowCredits);
        return;
      case "wait":
        this.#checkMayAsk(actor, storedRecord, isCurrent);
        if (!(answer.waitMs > 0) || !this.#isHoldExplained(actor, known.recordId, answer.reason)) {
          throw new Violation("wait", `held without reason: ${answer.reason}`);
        }
    }
  }

  /** Returns the spend that the ledger must count. The ledger counts whole quarters of an hour. */
  spentInWindowCredits(exceptRecordId?: string): number {
    const first = Math.floor((this.wallMs - BUDGET_WINDOW_MS) / SPEND_BUCKET_MS);
    return this.#spends(exceptRecordId)
      .filter(({ atMs }) => Math.floor(atMs / SPEND_BUCKET_MS) >= first)
      .reduce((sum, { credits }) => sum + credits, 0);
  }

  checkSum(counted: number): void {
    const expected = this.spentInWindowCredits();
    if (counted !== expected)
      throw new Violation("sums", `${counted} credits are counted instead of ${expected}`);
  }

  checkRecord(recordId: string, value: string | undefined): void {
    if (value !== textOf(this.records.get(recordId)?.record))
      throw new Violation("records", `${recordId} differs`);
  }

  #checkMayAsk({ name }: Actor, storedRecord: KnownRecord | undefined, isCurrent: boolean): void {
    if (!isCurrent) throw new Violation("revision", "a stale question was judged");
    if (storedRecord !== undefined && this.#isLedByOther(storedRecord, name)) {
      throw new Violation("lease", `${name} was judged, and another process has the lease`);
    }
  }

  /** Throws a violation if a rule certainly forbids the admission. Otherwise notes the admitted send. */
  #checkConsent(actor: Actor, request: AdmissionQuestion, storedRecord: KnownRecord | undefined): void {
    const { known, after, sendId, budget, firstAskedMs } = request;
    const { key, name } = actor;
    this.#checkMayAsk(actor, storedRecord, textOf(storedRecord?.record) === textOf(known));
    const isInCooldown = this.#cooldowns.some(
      (cooldown) =>
        cooldown.key === key &&
        cooldown.atMs <= firstAskedMs &&
        cooldown.atMs + cooldown.lengthMs > this.nowMs,
    );
    if (isInCooldown) throw new Violation("cooldown", "a submission was sent during a cooldown");
    const sends = [...this.#sends.values()].filter(
      (send) => send.key === key && send.lastMs > this.nowMs - WINDOW_MS,
    );
    if (sends.length >= MAX_SUBMISSIONS)
      throw new Violation("rate", `${sends.length + 1} submissions in one window`);
    const occupiedSlots = this.#others(key, known.recordId).filter(
      (other) => this.#slotEndMs(other, false) > this.nowMs,
    );
    if (occupiedSlots.length >= MAX_CONCURRENT_TASKS)
      throw new Violation("concurrency", `${occupiedSlots.length + 1} concurrency slots are taken`);
    const spent = this.#spends(known.recordId)
      .filter(({ atMs }) => atMs > this.wallMs - BUDGET_WINDOW_MS)
      .reduce((sum, { credits }) => sum + credits, after.spend?.credits ?? 0);
    if (budget !== null && spent > budget) throw new Violation("budget", `${spent} credits of ${budget}`);

    this.#store(actor, after);
    const stored = this.records.get(known.recordId);
    if (stored === undefined) throw new Violation("records", "an unknown record was admitted");
    stored.concurrencySlot = { kind: "unresolved", atMs: this.nowMs, owner: name };
    if (stored.lease?.owner === name) stored.lease = { owner: name, atMs: this.nowMs };
    const { nowMs } = this;
    this.#sends.set(sendId, {
      sendId,
      key,
      owner: name,
      isPending: true,
      lastMs: nowMs,
      mayCountFromMs: nowMs,
    });
  }

  #checkOverBudget({ known, after, budget }: AdmissionQuestion, counted: number): void {
    const expected = this.spentInWindowCredits(known.recordId);
    if (counted !== expected)
      throw new Violation("sums", `${counted} credits are counted instead of ${expected}`);
    if (budget === null || counted + (after.spend?.credits ?? 0) <= budget) {
      throw new Violation("wait", "the budget had room");
    }
  }

  #isHoldExplained({ key }: Actor, recordId: string, reason: "cooldown" | "rate" | "concurrency"): boolean {
    switch (reason) {
      case "cooldown":
        return this.#cooldowns.some(
          (cooldown) =>
            cooldown.key === key &&
            this.#latest(`state ${key}`, cooldown.atMs) + cooldown.lengthMs > this.nowMs,
        );
      case "rate": {
        const counting = [...this.#sends.values()].filter(
          (send) =>
            send.key === key && this.#latest(`state ${key}`, send.mayCountFromMs) > this.nowMs - WINDOW_MS,
        );
        return counting.length >= MAX_SUBMISSIONS;
      }
      case "concurrency": {
        const others = this.#others(key, recordId).filter(
          (other) => this.#slotEndMs(other, true) > this.nowMs,
        );
        return others.length >= MAX_CONCURRENT_TASKS;
      }
    }
  }

  #slotEndMs({ key, record, concurrencySlot, statusAtMs }: KnownRecord, isStrictest: boolean): number {
    if (concurrencySlot === null) return Number.NEGATIVE_INFINITY;
    const latest = (fact: string, atMs: number): number => (isStrictest ? this.#latest(fact, atMs) : atMs);
    const atMs = latest(`slot ${record.recordId}`, concurrencySlot.atMs);
    if (concurrencySlot.kind === "accepted") {
      // A task takes a concurrency slot again if it is seen after its earlier slot has expired.
      return (isStrictest ? Math.max(atMs, statusAtMs) : atMs) + RECOVERY_TIMEOUT_MS;
    }
    const beat = this.#heartbeats.get(concurrencySlot.owner);
    const seenMs = Math.max(atMs, beat === undefined ? atMs : latest(`state ${key}`, beat.atMs));
    return Math.min(seenMs + UNRESOLVED_SLOT_TTL_MS, atMs + WINDOW_MS + UNRESOLVED_SLOT_TTL_MS);
  }

  /**
   * Notes a heartbeat of the process of a send: until now, the submission may have reached the service. Changes nothing
   * if the last heartbeat is older than a rate window, because the process has then given up the submission.
   */
  #seen(send: Send): void {
    if (send.lastMs > this.nowMs - WINDOW_MS) send.lastMs = this.nowMs;
    send.mayCountFromMs = this.nowMs;
  }

  #store({ name, key }: Actor, record: RequestRecord): void {
    const { recordId } = record;
    const before = this.records.get(recordId);
    const kind = deriveConcurrencySlotState(record);
    const isSame = kind !== null && before?.concurrencySlot?.kind === kind;
    const begun = kind === null ? null : { kind, atMs: this.nowMs, owner: name };
    this.records.set(recordId, {
      key,
      record,
      lease: before?.lease ?? null,
      concurrencySlot: isSame ? before.concurrencySlot : begun,
      statusAtMs: before?.record.status === record.status ? before.statusAtMs : this.nowMs,
    });
  }

  #others(key: string, recordId: string): KnownRecord[] {
    return [...this.records.values()].filter(
      (stored) => stored.key === key && stored.record.recordId !== recordId,
    );
  }

  #spends(exceptRecordId?: string): { readonly credits: number; readonly atMs: number }[] {
    const records = [...this.records.values()].filter(({ record }) => record.recordId !== exceptRecordId);
    return [...records.flatMap(({ record }) => record.spend ?? []), ...this.#discarded];
  }

  #isLedByOther({ lease }: KnownRecord, name: string): boolean {
    return lease !== null && lease.owner !== name && lease.atMs + LEASE_MS > this.nowMs;
  }

  #mayHoldLease(recordId: string, lease: { readonly atMs: number }): boolean {
    return this.#latest(`lease ${recordId}`, lease.atMs) + LEASE_MS > this.nowMs;
  }

  #recordRead(fact: string): void {
    if (!this.#seenSinceRestart.has(fact)) this.#seenSinceRestart.set(fact, this.nowMs);
  }

  /**
   * Returns the latest time that the ledger may assume for a stored time. The steady clock restarts at a lower value, so
   * a time that was stored before the restart can be ahead of the clock. The ledger replaces such a time by the time at
   * which it first reads it.
   */
  #latest(fact: string, atMs: number): number {
    if (atMs >= this.#restartedAtMs) return atMs;
    return Math.max(atMs, this.#seenSinceRestart.get(fact) ?? this.nowMs);
  }
}
