/** Random scenarios: processes with two API keys work on one ledger while faults happen. */
import fc from "fast-check";
import type { ObservedTask } from "../../../src/api/parse-task.ts";
import { RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import { applyEvent, type RequestEvent } from "../../../src/ledger/lifecycle.ts";
import { type RequestRecord, requestRecordSchema, toRow } from "../../../src/ledger/record.ts";
import type { AdmissionDecision } from "../../../src/ledger/rules/admission.ts";
import type { SendOutcome } from "../../../src/ledger/rules/api-key-state.ts";
import { decideDurability } from "../../../src/ledger/rules/durability.ts";
import { type LedgerIdentity, LedgerStore } from "../../../src/ledger/store/ledger-store.ts";
import { type SqlEngine, sql } from "../../../src/ledger/store/sql-engine.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { sampleRecord } from "../sample-record.ts";
import {
  type Actor,
  BUDGET_WINDOW_MS,
  LEASE_MS,
  LedgerOracle,
  MAX_CONCURRENT_TASKS,
  MAX_SUBMISSIONS,
  UNRESOLVED_SLOT_TTL_MS,
  Violation,
  WINDOW_MS,
} from "./ledger-oracle.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MAX_WALL_OFFSET_MS = 3 * DAY_MS;
const HEARTBEAT_MS = 10_000;
/** Three processes use the first key, two the second. */
const KEY_OF_PROCESS = [0, 0, 0, 1, 1] as const;

const processIndex = fc.nat({ max: KEY_OF_PROCESS.length - 1 });
/** Picks mostly one of the two newest records, so that several processes often work on the same record. */
const pick = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: 1 }) },
  { weight: 1, arbitrary: fc.nat({ max: 30 }) },
);
const outcome = fc.oneof(
  { weight: 5, arbitrary: fc.constant("accepted" as const) },
  { weight: 5, arbitrary: fc.constant("refused" as const) },
  { weight: 1, arbitrary: fc.constant("unsent" as const) },
  { weight: 1, arbitrary: fc.constant("unresolved" as const) },
);
type Outcome = typeof outcome extends fc.Arbitrary<infer T> ? T : never;
/** The charge of a task. `null`: the task still runs; -1: its success is revoked; 0: the task failed. */
const charge = fc.constantFrom(null, -1, 0, 0, 7, 7, 40, RESERVED_CREDITS);

const create = fc.record({
  kind: fc.constant("create" as const),
  by: processIndex,
  /** The record to submit; `null`: a new record. */
  target: fc.option(pick, { freq: 2 }),
  /** Whether the process asks with its earlier copy of the record, without claiming the record first. */
  usesStaleState: fc.boolean(),
  /** Whether the process asks although another process has the lease. */
  ignoresLease: fc.boolean(),
  /** The outcome of the send; `null`: the answer comes later, or never. */
  outcome: fc.option(outcome, { freq: 6 }),
  charge,
  /** Whether the process asks again after a refused admission, once the wait that the ledger states has passed. */
  isPatient: fc.boolean(),
});
const command = fc.oneof(
  { weight: 16, arbitrary: create },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("answer" as const), pick, outcome }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("end" as const), by: processIndex, pick, charge }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      by: processIndex,
      pick,
      isReplacing: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), by: processIndex, pick }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("tick" as const),
      ms: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 5_000 }) },
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 25_000 }) },
        { weight: 3, arbitrary: fc.integer({ min: 25_000, max: 65_000 }) },
        { weight: 1, arbitrary: fc.constantFrom(5 * MINUTE_MS, 66 * MINUTE_MS, 25 * HOUR_MS) },
      ),
      /** One bit for each process: whether it is awake, and sends heartbeats. */
      awake: fc.nat({ max: 2 ** KEY_OF_PROCESS.length - 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("die" as const), by: processIndex }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("cooldown" as const),
      by: processIndex,
      ms: fc.constantFrom(1_000, 10_000, 45_000, 120_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("restart" as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wall" as const),
      offsetMs: fc.integer({ min: -MAX_WALL_OFFSET_MS, max: MAX_WALL_OFFSET_MS }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("empty" as const),
      key: fc.constantFrom(0, 1),
      /** The new content of the key's state; `null`: the row is deleted. */
      text: fc.constantFrom(null, "", '{"rateSlots":7}'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("discard" as const), by: processIndex, pick }) },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

export const scenario = fc.record({
  budget: fc.constantFrom(null, null, 600, 1500),
  steps: fc.array(
    fc.record({
      command,
      /** The number of the operation whose answer is lost. The operation is repeated after the next step. */
      lostAnswer: fc.option(fc.nat({ max: 2 }), { freq: 4 }),
    }),
    // Scenarios of the default size are too short to reach the rate limit.
    { minLength: 1, maxLength: 100, size: "max" },
  ),
});
export type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

class Died extends Error {}

interface Process extends Actor {
  readonly store: LedgerStore;
  isAlive: boolean;
  /** Each record, by its id, as this process last saw it. */
  readonly known: Map<string, RequestRecord>;
  readonly leased: Set<string>;
  /** The send ids of sends without an outcome, by record id. */
  readonly pending: Map<string, string>;
  /** The ids of the records that this process works on. */
  readonly busy: Set<string>;
}

const parse = (value: string): RequestRecord => requestRecordSchema.parse(JSON.parse(value));

function taskOf(recordId: string, status: ObservedTask["status"], charged: number | null): ObservedTask {
  const billing = {
    reserved_credits: RESERVED_CREDITS,
    charged_credits: charged,
    refunded_credits: null,
  } as const;
  const unknown = { audioSeconds: null, output: null, error: null, deviations: [] };
  return { taskId: `task of ${recordId}`, status, billing, ...unknown };
}

let scenarios = 0;

/** The clock of an engine. Each scenario replaces `hand` by its own manual clock. */
export class ScenarioClock {
  hand = new ManualClock();
  steadyMs(): number {
    return this.hand.steadyMs();
  }
}

export interface ScenarioOptions {
  /** The engine without faults, which shows the real state of the ledger. */
  readonly correctEngine: SqlEngine;
  /** The engine that the processes use. It may have a planted fault. */
  readonly engine: SqlEngine;
  readonly clock: ScenarioClock;
}

/** Runs one scenario. @throws Violation if an answer of the ledger is wrong */
export async function run({ budget, steps }: Scenario, options: ScenarioOptions): Promise<void> {
  options.clock.hand = new ManualClock();
  await new Run(budget, steps, options).play();
}

class Run {
  readonly #budget: number | null;
  readonly #steps: Scenario["steps"];
  readonly #options: ScenarioOptions;
  readonly #clock: ManualClock;
  readonly #baseUrl: string;
  readonly #truth = new LedgerOracle();
  readonly #processes: Process[] = [];
  readonly #observer: LedgerStore;
  readonly #recordIds: [string[], string[]] = [[], []];
  #names = 0;
  #newestRevision = 0;
  #next = 0;
  #lostAnswer: number | null = null;
  readonly #wallStartMs: number;

  constructor(budget: number | null, steps: Scenario["steps"], options: ScenarioOptions) {
    this.#budget = budget;
    this.#steps = steps;
    this.#options = options;
    this.#clock = options.clock.hand;
    scenarios += 1;
    this.#baseUrl = `https://scenario-${scenarios}.example`;
    this.#wallStartMs = this.#clock.wallMs();
    this.#truth.wallMs = this.#wallStartMs;
    for (const [at] of KEY_OF_PROCESS.entries()) this.#processes.push(this.#process(at));
    const identity = { baseUrl: this.#baseUrl, apiKeyId: "observer", processId: "observer" };
    this.#observer = this.#storeOf(options.correctEngine, identity);
  }

  async play(): Promise<void> {
    while (this.#next < this.#steps.length) await this.#playNext();
    await this.#finishOperations();
  }

  async #playNext(): Promise<void> {
    const step = this.#steps[this.#next];
    this.#next += 1;
    if (step === undefined) return;
    this.#lostAnswer = step.lostAnswer;
    try {
      await this.#do(step.command);
    } catch (error) {
      if (!(error instanceof Died)) throw error;
    }
    this.#lostAnswer = null;
    this.#truth.checkSum(await this.#observer.admissions.sumSpentCredits(BUDGET_WINDOW_MS));
  }

  /** Ends all work, lets enough time pass, and checks that both keys may send again. */
  async #finishOperations(): Promise<void> {
    for (const process of this.#processes) {
      for (const recordId of [...process.pending.keys()]) await this.#answer(process, recordId, "refused");
    }
    for (const { record, key } of [...this.#truth.records.values()]) {
      const process = this.#processes.find((one) => one.key === key);
      if (process !== undefined && (record.status === "queued" || record.status === "processing")) {
        await this.#end(process, record.recordId, 0);
      }
    }
    for (const at of [0, 3]) await this.#ask(at);
    await this.#tick(5 * MINUTE_MS, 0);
    for (const at of [0, 3]) {
      const answer = await this.#ask(at);
      if (answer.kind === "wait") throw new Violation("wait", `held for ever: ${answer.reason}`);
    }
    await this.#tick(MAX_WALL_OFFSET_MS * 2 + 2 * DAY_MS, 0);
    for (const at of [0, 3]) {
      const answer = await this.#ask(at);
      if (answer.kind !== "admitted") throw new Violation("wait", `refused for ever: ${answer.kind}`);
    }
    for (const [at, recordIds] of this.#recordIds.entries()) {
      const process = this.#processes[at === 0 ? 0 : 3];
      for (const recordId of recordIds) {
        this.#truth.checkRecord(recordId, await process?.store.get(recordId));
      }
    }
  }

  async #ask(at: number): Promise<AdmissionDecision> {
    const process = this.#process(at);
    const known = await this.#acquireLease(process, this.#newRecordId(at), undefined);
    if (known === null) throw new Violation("wait", "a new record was not to be had");
    const { answer, sendId } = await this.#admit(process, known);
    if (answer.kind === "admitted") await this.#recordSendOutcome(process, { sendId, outcome: "unsent" });
    return answer;
  }

  async #do(command: Command): Promise<void> {
    switch (command.kind) {
      case "create":
        return await this.#create(command);
      case "answer": {
        const pending = this.#processes.flatMap((process) =>
          [...process.pending.keys()].map((recordId) => ({ process, recordId })),
        );
        const picked = pending[command.pick % Math.max(1, pending.length)];
        if (picked !== undefined) await this.#answer(picked.process, picked.recordId, command.outcome);
        return;
      }
      case "end": {
        const process = this.#at(command.by);
        const accepted = [...this.#truth.records.values()].filter(
          ({ key, record }) => key === process.key && record.taskId !== null,
        );
        const picked = accepted[command.pick % Math.max(1, accepted.length)];
        if (picked !== undefined) await this.#end(process, picked.record.recordId, command.charge);
        return;
      }
      case "claim": {
        const process = this.#at(command.by);
        const recordId = this.#recordId(command.by, command.pick);
        if (recordId === undefined || process.busy.has(recordId)) return;
        const processId = this.#truth.records.get(recordId)?.lease?.owner;
        const isDead = processId !== undefined && !this.#processes.some(({ name }) => name === processId);
        await this.#acquireLease(process, recordId, command.isReplacing && isDead ? processId : undefined);
        return;
      }
      case "release": {
        const process = this.#at(command.by);
        const recordId = this.#recordId(command.by, command.pick);
        if (recordId === undefined || process.busy.has(recordId)) return;
        process.leased.delete(recordId);
        return await this.#operate(
          process,
          () => process.store.releaseLease(recordId),
          () => this.#truth.leaseReleased(process, recordId),
        );
      }
      case "tick":
        return await this.#tick(command.ms, command.awake);
      case "die":
        return this.#die(command.by);
      case "cooldown": {
        const process = this.#at(command.by);
        const { ms } = command;
        return await this.#operate(
          process,
          () => process.store.admissions.startCooldown(ms),
          () => this.#truth.cooldownStarted(process, ms),
        );
      }
      case "restart":
        for (const at of KEY_OF_PROCESS.keys()) this.#die(at);
        this.#skip(command.ms);
        this.#clock.reboot();
        this.#truth.restarted();
        return;
      case "wall":
        this.#clock.moveWall(this.#wallStartMs + this.#truth.nowMs + command.offsetMs - this.#clock.wallMs());
        this.#truth.wallMs = this.#clock.wallMs();
        return;
      case "empty":
        return await this.#empty(this.#keyOf(command.key), command.text);
      case "discard": {
        const process = this.#at(command.by);
        const recordId = this.#recordId(command.by, command.pick);
        if (recordId === undefined) return;
        return await this.#operate(
          process,
          () => process.store.discard({ apiKeyId: process.key, recordId }),
          () => this.#truth.discarded(recordId),
        );
      }
    }
  }

  async #create({
    by,
    target,
    usesStaleState,
    ignoresLease,
    outcome,
    charge,
    isPatient,
  }: Command & { kind: "create" }) {
    const process = this.#at(by);
    const recordId = (target === null ? undefined : this.#recordId(by, target)) ?? this.#newRecordId(by);
    if (process.pending.has(recordId) || process.busy.has(recordId)) return;
    process.busy.add(recordId);
    try {
      const stale = usesStaleState ? process.known.get(recordId) : undefined;
      const known = stale ?? (await this.#acquireLease(process, recordId, undefined, ignoresLease));
      if (known === null) return;
      let { answer, sendId } = await this.#admit(process, known);
      if (answer.kind === "wait" && isPatient) {
        const { reason, waitMs } = answer;
        this.#skip(waitMs);
        const next = this.#next;
        ({ answer, sendId } = await this.#admit(process, known));
        if (answer.kind === "wait" && answer.reason === reason && this.#next === next) {
          throw new Violation("wait", `held again after the wait: ${reason}`);
        }
      }
      if (answer.kind !== "admitted") return;
      process.pending.set(recordId, sendId);
      if (outcome === null) return;
      await this.#answer(process, recordId, outcome);
      if (outcome === "accepted") await this.#end(process, recordId, charge);
    } finally {
      process.busy.delete(recordId);
    }
  }

  async #admit(
    process: Process,
    known: RequestRecord,
  ): Promise<{ answer: AdmissionDecision; sendId: string }> {
    this.#names += 1;
    const sendId = `send-${this.#names}`;
    const sent = applyEvent(known, {
      kind: "send_started",
      attempt: 1,
      sendId,
      atMs: this.#clock.wallMs(),
    });
    if (sent === null || sent === known) throw new Died();
    const after = { ...sent, revision: this.#nextRevision() };
    const budget = this.#budget;
    const firstAskedMs = this.#truth.nowMs;
    const answer = await this.#operate(
      process,
      () =>
        process.store.admissions.admit({
          admittedRow: toRow(after),
          expectedRevision: known.revision,
          sendId,
          narrationId: null,
          maxSubmissions: MAX_SUBMISSIONS,
          limitWindowMs: WINDOW_MS,
          maxConcurrentTasks: MAX_CONCURRENT_TASKS,
          unresolvedSlotTtlMs: UNRESOLVED_SLOT_TTL_MS,
          budget: budget === null ? null : { credits: budget, windowMs: BUDGET_WINDOW_MS },
        }),
      (answer) => this.#truth.admission(process, { known, after, sendId, budget, firstAskedMs }, answer),
    );
    if (answer.kind === "admitted") process.known.set(known.recordId, after);
    if (answer.kind === "conflict" && answer.recordJson !== undefined) {
      process.known.set(known.recordId, parse(answer.recordJson));
    }
    return { answer, sendId };
  }

  /** Claims a record. Returns `null` if another process has the lease. */
  async #acquireLease(
    process: Process,
    recordId: string,
    deadOwner: string | undefined,
    ignoresLease = false,
  ): Promise<RequestRecord | null> {
    const draft = this.#draft(process.key, recordId);
    const claim = { row: toRow(draft), leaseTtlMs: LEASE_MS };
    const answer = await this.#operate(
      process,
      () => process.store.acquireLease(deadOwner === undefined ? claim : { ...claim, deadOwner }),
      (answer) => this.#truth.claimed(process, draft, deadOwner, answer),
    );
    const record = parse(answer.recordJson);
    process.known.set(recordId, record);
    if (answer.leaseOwner === process.name) process.leased.add(recordId);
    return answer.leaseOwner === process.name || ignoresLease ? record : null;
  }

  async #answer(process: Process, recordId: string, outcome: Outcome): Promise<void> {
    const sendId = process.pending.get(recordId);
    if (sendId === undefined) return;
    process.pending.delete(recordId);
    const sendOutcome = { sendId, outcome: outcome === "unsent" ? "unsent" : "sent" } as const;
    const atMs = this.#clock.wallMs();
    switch (outcome) {
      case "accepted":
        return await this.#apply(
          process,
          recordId,
          { kind: "observed", attempt: 1, task: taskOf(recordId, "queued", null), atMs },
          sendOutcome,
        );
      case "unresolved":
        return await this.#recordSendOutcome(process, sendOutcome);
      case "refused":
      case "unsent":
        return await this.#apply(process, recordId, { kind: "not_accepted", sendId }, sendOutcome);
    }
  }

  async #end(process: Process, recordId: string, charged: number | null): Promise<void> {
    const value = await process.store.get(recordId);
    if (value === undefined) return;
    process.known.set(recordId, parse(value));
    const atMs = this.#clock.wallMs();
    const taskId = `task of ${recordId}`;
    if (charged === -1) return await this.#apply(process, recordId, { kind: "result_revoked", taskId, atMs });
    const status = charged === null ? "processing" : charged === 0 ? "failed" : "succeeded";
    const task = taskOf(recordId, status, charged);
    await this.#apply(process, recordId, { kind: "observed", attempt: 1, task, atMs });
  }

  /** Like the ledger, applies the event again if another process has written meanwhile. */
  async #apply(
    process: Process,
    recordId: string,
    event: RequestEvent,
    sendOutcome?: SendOutcome,
  ): Promise<void> {
    let known = process.known.get(recordId);
    if (known === undefined) return;
    let stored: RequestRecord | null = known;
    for (let tries = 0; tries < 4; tries += 1) {
      const next = applyEvent(known, event);
      if (next === known && stored !== null) {
        if (sendOutcome !== undefined && tries === 0) await this.#recordSendOutcome(process, sendOutcome);
        return;
      }
      const after = { ...next, revision: this.#nextRevision() };
      const answer = await this.#write(process, {
        recordId,
        known: stored,
        after,
        sendOutcome: tries === 0 ? sendOutcome : undefined,
      });
      if (answer.isWritten) {
        process.known.set(recordId, after);
        return;
      }
      stored = answer.recordJson === undefined ? null : parse(answer.recordJson);
      if (stored === null && (next === null || next.taskId === null)) return;
      known = stored ?? known;
      process.known.set(recordId, known);
    }
  }

  #write(
    process: Process,
    {
      recordId,
      known,
      after,
      sendOutcome,
    }: {
      readonly recordId: string;
      readonly known: RequestRecord | null;
      readonly after: RequestRecord | null;
      readonly sendOutcome: SendOutcome | undefined;
    },
  ) {
    const releasesLease = after?.status === "failed";
    return this.#operate(
      process,
      () =>
        process.store.write({
          apiKeyId: process.key,
          recordId,
          expectedRevision: known?.revision ?? null,
          newRow: after === null ? null : toRow(after),
          durability: decideDurability(known, after),
          sendOutcome,
          lease: releasesLease ? "release" : "renew",
        }),
      (answer) => {
        if (sendOutcome !== undefined) this.#truth.sendOutcomeRecorded(sendOutcome);
        this.#truth.written(process, { recordId, known, after, releasesLease }, answer);
      },
    );
  }

  #recordSendOutcome(process: Process, sendOutcome: SendOutcome): Promise<void> {
    return this.#operate(
      process,
      () => process.store.admissions.recordSendOutcome(sendOutcome),
      () => this.#truth.sendOutcomeRecorded(sendOutcome),
    );
  }

  async #tick(ms: number, awake: number): Promise<void> {
    const isShort = ms <= 2 * MINUTE_MS;
    for (let leftMs = ms; leftMs > 0; ) {
      const partMs = isShort ? Math.min(leftMs, HEARTBEAT_MS) : leftMs;
      leftMs -= partMs;
      this.#skip(partMs);
      for (const [at, process] of this.#processes.entries()) {
        if ((awake & (1 << at)) !== 0) await this.#sendHeartbeats(process);
      }
    }
  }

  async #sendHeartbeats(process: Process): Promise<void> {
    if (process.leased.size === 0 && process.pending.size === 0) return;
    const recordIds = [...process.leased];
    const lost = await this.#operate(
      process,
      () => process.store.heartbeat(recordIds),
      (answer) => this.#truth.heartbeat(process, recordIds, answer),
    );
    for (const recordId of lost) process.leased.delete(recordId);
  }

  async #empty(key: string, text: string | null): Promise<void> {
    const save =
      text === null
        ? sql("DELETE FROM agm_api_keys WHERE api_key_id = ?", key)
        : sql("UPDATE agm_api_keys SET state = ? WHERE api_key_id = ?", text, key);
    await this.#options.correctEngine.transact({
      durability: "survives_process_kill",
      locks: [],
      loadStatements: [],
      decide: () => ({ result: undefined, saveStatements: [save] }),
    });
    this.#truth.emptied(key);
  }

  /** Runs an operation, and repeats it if its answer is lost. The next step of the scenario happens in between. */
  async #operate<T>(process: Process, operation: () => Promise<T>, note: (answer: T) => void): Promise<T> {
    if (!process.isAlive) throw new Died();
    this.#truth.stateRead(process.key);
    const answer = await operation();
    note(answer);
    if (this.#lostAnswer === null) return answer;
    this.#lostAnswer -= 1;
    if (this.#lostAnswer >= 0) return answer;
    this.#lostAnswer = null;
    await this.#playNext();
    return await this.#operate(process, operation, note);
  }

  /**
   * Returns a revision that no record had before, not even before its deletion. The ledger uses random revisions for
   * this purpose.
   */
  #nextRevision(): number {
    this.#newestRevision += 1;
    return this.#newestRevision;
  }

  #die(at: number): void {
    this.#at(at).isAlive = false;
    this.#processes[at] = this.#process(at);
  }

  #skip(ms: number): void {
    this.#clock.skip(ms);
    this.#truth.nowMs += ms;
    this.#truth.wallMs = this.#clock.wallMs();
  }

  #at(at: number): Process {
    const process = this.#processes[at];
    if (process === undefined) throw new Error(`no processIndex ${at}`);
    return process;
  }

  #keyOf(key: 0 | 1): string {
    return `${this.#baseUrl} key ${key}`;
  }

  #keyAt(at: number): 0 | 1 {
    return KEY_OF_PROCESS[at] ?? 0;
  }

  #recordId(at: number, index: number): string | undefined {
    const recordIds = this.#recordIds[this.#keyAt(at)];
    return recordIds[recordIds.length - 1 - (index % Math.max(1, recordIds.length))];
  }

  #newRecordId(at: number): string {
    const recordIds = this.#recordIds[this.#keyAt(at)];
    const recordId = `${this.#keyOf(this.#keyAt(at))} record ${recordIds.length}`;
    recordIds.push(recordId);
    return recordId;
  }

  #process(at: number): Process {
    this.#names += 1;
    const name = `process-${this.#names}`;
    const key = this.#keyOf(this.#keyAt(at));
    const store = this.#storeOf(this.#options.engine, {
      baseUrl: this.#baseUrl,
      apiKeyId: key,
      processId: name,
    });
    const memory = {
      known: new Map(),
      leased: new Set<string>(),
      pending: new Map(),
      busy: new Set<string>(),
    };
    return { name, key, store, isAlive: true, ...memory };
  }

  #storeOf(engine: SqlEngine, identity: LedgerIdentity): LedgerStore {
    return new LedgerStore({ engine, identity, machineId: "this", wallMs: () => this.#clock.wallMs() });
  }

  #draft(key: string, recordId: string): RequestRecord {
    const names = { recordId, requestFingerprint: recordId, baseUrl: this.#baseUrl, apiKeyId: key };
    // Parse the record, so that its JSON stays the same when it is stored and read again.
    return requestRecordSchema.parse(
      sampleRecord({ ...names, status: "waiting", taskId: null, revision: 0 }),
    );
  }
}
