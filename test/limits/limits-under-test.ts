/**
 * Simulates several processes that share the limits of one API key. The ledger is real, the clock is manual, and tests
 * can inject faults of the store.
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

/** A signal that is never aborted. */
export const NEVER_ABORTED = new AbortController().signal;
/** Length of the time window of the rate limits, in milliseconds. */
export const { limitWindowMs: LIMIT_WINDOW_MS } = buildLimitTiming(1);
const BASE_URL = "https://service.example";

export type AdmittedSubmission = Extract<AdmissionWaitResult, { kind: "admitted" }>;
type OptionChanges = Partial<Pick<LimitsOptions, "timeScale" | "creditBudget">>;

/** `unreachable`: no operation arrives. `results_lost`: every operation is executed, but no result returns. */
type StoreFault = "none" | "unreachable" | "results_lost";

/** Wraps a store, and every store that is a property of it, so that a test can switch faults on and off. */
function withFaults<T extends object>(inner: T, getFault: () => StoreFault): T {
  const buildError = (): AudioError => new AudioError("store_unavailable", "gone", { retryable: true });
  return new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member === "object" && member !== null) return withFaults(member, getFault);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]): Promise<unknown> => {
        const fault = getFault();
        if (fault === "unreachable") throw buildError();
        const result: unknown = await Reflect.apply(member, target, args);
        if (fault === "results_lost") throw buildError();
        return result;
      };
    },
  });
}

/** Simulates one process, with its own ledger and limits on a store that others share. */
export class Process {
  readonly limits: Limits;
  readonly ledger: Ledger;
  storeFault: StoreFault = "none";
  /** The names of the admitted submissions, in order. */
  readonly admittedNames: string[] = [];
  /** One entry for each reported wait: the name of the submission and the reason, such as `c concurrency`. */
  readonly waitReports: string[] = [];
  readonly #clock: ManualClock;

  constructor(store: LedgerStore, identity: LedgerIdentity, clock: ManualClock, changes: OptionChanges) {
    const log = createLog("silent", (text) => text);
    this.#clock = clock;
    this.ledger = new Ledger(
      withFaults(store, () => this.storeFault),
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

  /** Creates a record of a new request, and acquires the record's lease for this process. */
  async createRecord(name: string, changes: Partial<RequestRecord> = {}): Promise<RequestRecord> {
    const { baseUrl, apiKeyId } = this.ledger.identity;
    const ids = { recordId: name, requestFingerprint: `work of ${name}`, baseUrl, apiKeyId };
    const draft = sampleRecord({ ...ids, status: "waiting", taskId: null, revision: 0, ...changes });
    return (await this.ledger.acquireLease(draft)).record;
  }

  /** Requests the admission of a leased record. Adds the record's name to `admittedNames` when it is admitted. */
  async requestAdmission(
    record: RequestRecord,
    signal: AbortSignal = NEVER_ABORTED,
    narrationId: () => string | null = () => null,
  ): Promise<AdmissionWaitResult> {
    const name = record.recordId;
    const onWaiting = (reason: string): void => void this.waitReports.push(`${name} ${reason}`);
    const admission = await this.limits.submissions.waitForAdmission(
      { record, narrationId, onWaiting },
      signal,
    );
    if (admission.kind === "admitted") this.admittedNames.push(name);
    return admission;
  }

  /** Creates a record and waits for its admission. @throws if it is not admitted */
  async admit(name: string, signal: AbortSignal = NEVER_ABORTED): Promise<AdmittedSubmission> {
    const admission = await this.requestAdmission(await this.createRecord(name), signal);
    if (admission.kind !== "admitted") throw new Error(`${name} is ${admission.kind}`);
    return admission;
  }

  /** Stores that the service accepted the submission. */
  async accept(admission: AdmittedSubmission): Promise<RequestRecord> {
    return await this.#storeResponse(
      admission,
      this.#buildObservedEvent(admission.record, { status: "queued" }),
    );
  }

  /** Stores that the service refused the submission definitively. */
  async refuse(admission: AdmittedSubmission): Promise<void> {
    await this.#storeResponse(admission, { kind: "not_accepted", sendId: admission.sendId });
    this.limits.submissions.wake();
  }

  /** Stores that no response arrived. */
  async leaveUnresolved({ sendId }: AdmittedSubmission): Promise<void> {
    this.limits.heartbeats.clearPending(sendId);
    await this.ledger.store.admissions.recordSendOutcome({ sendId, outcome: "sent" });
  }

  /** Stores that the task ended, as observed by this process. */
  async end(record: RequestRecord, chargedCredits: number): Promise<void> {
    const billing: ObservedTask["billing"] = {
      reserved_credits: 150,
      charged_credits: chargedCredits,
      refunded_credits: null,
    };
    const event = this.#buildObservedEvent(record, { status: "succeeded", billing });
    await this.limits.pendingWrites.writeNowOrLater("the end of a task", () =>
      this.ledger.apply(record, event),
    );
    this.limits.submissions.wake();
  }

  /** Runs a submission and its task from admission to end, without advancing the clock. */
  async runToEnd(name: string): Promise<void> {
    await this.end(await this.accept(await this.admit(name)), 12);
  }

  async sumSpentCredits(): Promise<number> {
    return await this.ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS);
  }

  #buildObservedEvent(record: RequestRecord, changes: Partial<ObservedTask>): RequestEvent {
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

  async #storeResponse({ record, sendId }: AdmittedSubmission, event: RequestEvent): Promise<RequestRecord> {
    this.limits.heartbeats.clearPending(sendId);
    const sendOutcome = { sendId, outcome: "sent" } as const;
    let stored: RequestRecord | null = record;
    await this.limits.pendingWrites.writeNowOrLater("a response", async () => {
      stored = await this.ledger.apply(record, event, { sendOutcome });
    });
    return stored ?? record;
  }
}

export interface LimitsUnderTest extends Process {
  readonly clock: ManualClock;
  /** Starts another process on the same ledger, with the same API key unless another is given. */
  startAnother(changes?: OptionChanges, apiKeyId?: string): Process;
}

export function startLimits(changes: OptionChanges = {}): LimitsUnderTest {
  const clock = new ManualClock();
  const stateDir = scratchFolder();
  let processes = 0;
  const startAnother = (moreChanges: OptionChanges = {}, apiKeyId = "key"): Process => {
    processes += 1;
    const identity = { baseUrl: BASE_URL, apiKeyId, processId: `process ${processes}` };
    const store = openSqliteStore({ stateDir, clock, identity });
    const process = new Process(store, identity, clock, { ...changes, ...moreChanges });
    onTestFinished(async () => {
      await process.limits.close();
      await store.close();
    });
    return process;
  };
  return Object.assign(startAnother(), { clock, startAnother });
}
