/**
 * One account's limits on a real ledger, with a manual clock: several processes, each with a store that can fail.
 */
import { onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { AudioError } from "../../src/errors.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import type { RequestEvent } from "../../src/ledger/lifecycle.ts";
import type { RequestRecord } from "../../src/ledger/record.ts";
import type { LedgerIdentity, LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { Limits, type LimitsOptions } from "../../src/limits/limits.ts";
import type { AdmissionWaitResult } from "../../src/limits/submission-queue.ts";
import { BUDGET_WINDOW_MS, buildLimitTiming } from "../../src/limits/timing.ts";
import { createLog } from "../../src/log.ts";
import { sampleRecord } from "../ledger/sample-record.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openSqliteStore } from "../support/sqlite-ledger.ts";

export const never = new AbortController().signal;
/** How long a rate slot counts. */
export const { limitWindowMs: WINDOW_MS } = buildLimitTiming(1);
const BASE_URL = "https://service.example";

export type AdmittedSubmission = Extract<AdmissionWaitResult, { kind: "admitted" }>;
type Changes = Partial<Pick<LimitsOptions, "timeScale" | "creditBudget">>;

/** `away`: no operation arrives. `answers_lost`: every operation arrives, but no answer returns. */
type Trouble = "none" | "away" | "answers_lost";

/** A store with all its parts, whose faults a test switches on and off. */
function troubled<T extends object>(inner: T, trouble: () => Trouble): T {
  const lost = (): AudioError => new AudioError("store_unavailable", "gone", { retryable: true });
  return new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member === "object" && member !== null) return troubled(member, trouble);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]): Promise<unknown> => {
        const now = trouble();
        if (now === "away") throw lost();
        const answer: unknown = await Reflect.apply(member, target, args);
        if (now === "answers_lost") throw lost();
        return answer;
      };
    },
  });
}

/** One process: its store, its ledger, its limits. */
export class Process {
  readonly limits: Limits;
  readonly ledger: Ledger;
  trouble: Trouble = "none";
  /** Names of the admitted submissions, in order. */
  readonly admitted: string[] = [];
  readonly waiting: string[] = [];
  readonly #clock: ManualClock;

  constructor(store: LedgerStore, identity: LedgerIdentity, clock: ManualClock, changes: Changes) {
    const log = createLog("silent", (text) => text);
    this.#clock = clock;
    this.ledger = new Ledger(
      troubled(store, () => this.trouble),
      identity,
      clock,
      log,
    );
    this.limits = new Limits({
      ledger: this.ledger,
      clock,
      log,
      timeScale: 1,
      creditBudget: null,
      ...changes,
    });
  }

  /** A record for its own work, claimed by this process. */
  async claim(name: string, changes: Partial<RequestRecord> = {}): Promise<RequestRecord> {
    const { baseUrl, apiKeyId } = this.ledger.identity;
    const names = { recordId: name, requestFingerprint: `work of ${name}`, baseUrl, apiKeyId };
    const draft = sampleRecord({ ...names, status: "waiting", taskId: null, revision: 0, ...changes });
    return (await this.ledger.acquireLease(draft)).record;
  }

  /** Requests the admission of a claimed record, and records its name when it is admitted. */
  async order(
    record: RequestRecord,
    signal: AbortSignal = never,
    narrationId: () => string | null = () => null,
  ): Promise<AdmissionWaitResult> {
    const name = record.recordId;
    const onWaiting = (reason: string): void => void this.waiting.push(`${name} ${reason}`);
    const grant = await this.limits.submissions.waitForAdmission({ record, narrationId, onWaiting }, signal);
    if (grant.kind === "admitted") this.admitted.push(name);
    return grant;
  }

  /** Claims a record and requests its admission. */
  async ask(name: string, signal: AbortSignal = never): Promise<AdmittedSubmission> {
    const grant = await this.order(await this.claim(name), signal);
    if (grant.kind !== "admitted") throw new Error(`${name} is ${grant.kind}`);
    return grant;
  }

  /** Records that the service accepted the submission. */
  async accept(grant: AdmittedSubmission): Promise<RequestRecord> {
    return await this.#answered(grant, this.#observed(grant.record, { status: "queued" }));
  }

  /** Records that the service refused the submission definitively. */
  async refuse(grant: AdmittedSubmission): Promise<void> {
    await this.#answered(grant, { kind: "not_accepted", sendId: grant.sendId });
    this.limits.submissions.wake();
  }

  /** Records that no response arrived. */
  async leaveUnresolved({ sendId }: AdmittedSubmission): Promise<void> {
    this.limits.heartbeats.clearPending(sendId);
    await this.ledger.store.admissions.recordSendOutcome({ sendId, outcome: "sent" });
  }

  /** Records that the task has ended, as seen by this process. */
  async end(record: RequestRecord, chargedCredits: number): Promise<void> {
    const billing: ObservedTask["billing"] = {
      reserved_credits: 150,
      charged_credits: chargedCredits,
      refunded_credits: null,
    };
    const event = this.#observed(record, { status: "succeeded", billing });
    await this.limits.pendingWrites.writeNowOrLater("an end", () => this.ledger.apply(record, event));
    this.limits.submissions.wake();
  }

  /** A submission and its task, from admission to end, without passing time. */
  async createWhole(name: string): Promise<void> {
    await this.end(await this.accept(await this.ask(name)), 12);
  }

  async spent(): Promise<number> {
    return await this.ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS);
  }

  #observed(record: RequestRecord, changes: Partial<ObservedTask>): RequestEvent {
    const task: ObservedTask = {
      taskId: `task of ${record.recordId}`,
      status: "queued",
      billing: null,
      audioSeconds: null,
      output: null,
      error: null,
      deviations: [],
      ...changes,
    };
    return { kind: "observed", attempt: record.attempt, task, atMs: this.#clock.wallMs() };
  }

  async #answered({ record, sendId }: AdmittedSubmission, event: RequestEvent): Promise<RequestRecord> {
    this.limits.heartbeats.clearPending(sendId);
    const sendOutcome = { sendId, outcome: "sent" } as const;
    let stored: RequestRecord | null = record;
    await this.limits.pendingWrites.writeNowOrLater("an answer", async () => {
      stored = await this.ledger.apply(record, event, { sendOutcome });
    });
    return stored ?? record;
  }
}

export interface LimitsUnderTest extends Process {
  readonly clock: ManualClock;
  /** Another process on the same ledger, with the same account unless given. */
  another(changes?: Changes, apiKeyId?: string): Process;
}

export function startLimits(changes: Changes = {}): LimitsUnderTest {
  const clock = new ManualClock();
  const stateDir = scratchFolder();
  let processes = 0;
  const another = (more: Changes = {}, apiKeyId = "account"): Process => {
    processes += 1;
    const identity = { baseUrl: BASE_URL, apiKeyId, processId: `process ${processes}` };
    const store = openSqliteStore({ stateDir, clock, identity });
    const process = new Process(store, identity, clock, { ...changes, ...more });
    onTestFinished(async () => {
      await process.limits.close();
      await store.close();
    });
    return process;
  };
  return Object.assign(another(), { clock, another });
}
