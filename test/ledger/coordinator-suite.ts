/** Owns what every Coordinator must do, whatever it stands on; knows neither SQLite nor Redis. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  Coordinator,
  CreateAdmission,
  CreateOutcome,
  CreateRequest,
  IndexEntry,
} from "../../src/ledger/coordinator.ts";

export interface Bench {
  readonly coordinator: Coordinator;
  /** Lets every clock advance. */
  advance(ms: number): void;
  /** What was written so far lies ahead of the clock that windows run on. */
  putBack(): void;
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const LAPSE_MS = 30_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

function slotOf(admission: CreateAdmission): string {
  if (!admission.admitted) throw new Error(`refused: ${admission.reason}`);
  return admission.slotId;
}

function reasonOf(admission: CreateAdmission): string {
  return admission.admitted ? "admitted" : admission.reason;
}

/** One test's own account and origin, so that tests share a store without meeting. */
class Desk {
  readonly accountId = randomUUID();
  readonly origin = `https://${randomUUID()}`;
  readonly #coordinator: Coordinator;
  #records = 0;

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
  }

  ask(changes: Partial<CreateRequest> = {}): Promise<CreateAdmission> {
    this.#records += 1;
    return this.#coordinator.admitCreate({
      accountId: this.accountId,
      origin: this.origin,
      recordId: `${this.origin}/record-${this.#records}`,
      attempt: 1,
      holder: "holder",
      maxCreates: 1000,
      windowMs: MINUTE_MS,
      maxInFlight: 1000,
      lapseMs: LAPSE_MS,
      credits: 150,
      budget: null,
      ...changes,
    });
  }

  /** A create from admission to its outcome. */
  async create(outcome: CreateOutcome, changes: Partial<CreateRequest> = {}): Promise<string> {
    const slotId = slotOf(await this.ask(changes));
    await this.#coordinator.settleCreate(slotId, outcome);
    return slotId;
  }
}

export function coordinatorSuite(name: string, open: () => Promise<Bench>): void {
  describe(`coordination over ${name}`, () => {
    let bench: Bench;
    let coordinator: Coordinator;
    beforeAll(async () => {
      bench = await open();
      coordinator = bench.coordinator;
    });
    afterAll(() => bench.close());
    const newDesk = (): Desk => new Desk(coordinator);

    describe("the index", () => {
      const entry = (origin: string, at: number, changes: Partial<IndexEntry> = {}): IndexEntry => ({
        recordId: `${origin}#${at}`,
        workId: `${origin} work`,
        origin,
        taskId: null,
        status: "waiting",
        isOpen: true,
        createdAtMs: 1_800_000_000_000 + at,
        ...changes,
      });
      const idsOf = (entries: readonly IndexEntry[]): string[] =>
        entries.map(({ recordId }) => recordId.slice(recordId.indexOf("#") + 1));

      it("lists newest first, filters, and keeps origins apart", async () => {
        const { origin } = newDesk();
        const other = newDesk().origin;
        await coordinator.putIndex(entry(other, 9));
        await coordinator.putIndex(entry(origin, 1, { status: "succeeded", isOpen: false }));
        await coordinator.putIndex(entry(origin, 3, { status: "unresolved" }));
        await coordinator.putIndex(entry(origin, 2, { status: "queued" }));
        await coordinator.putIndex(entry(origin, 4, { status: "succeeded" }));
        expect(idsOf(await coordinator.listIndex({ origin, limit: 10 }))).toEqual(["4", "3", "2", "1"]);
        expect(idsOf(await coordinator.listIndex({ origin, limit: 2 }))).toEqual(["4", "3"]);
        const ended = ["succeeded", "unresolved"] as const;
        expect(idsOf(await coordinator.listIndex({ origin, statuses: ended, limit: 2 }))).toEqual(["4", "3"]);
        expect(idsOf(await coordinator.listIndex({ origin, statuses: ["failed"], limit: 2 }))).toEqual([]);
        expect(idsOf(await coordinator.listIndex({ origin, openOnly: true, limit: 10 }))).toEqual([
          "4",
          "3",
          "2",
        ]);
        expect(
          idsOf(await coordinator.listIndex({ origin, statuses: ["succeeded"], openOnly: true, limit: 10 })),
        ).toEqual(["4"]);
        expect(await coordinator.listIndex({ origin: other, limit: 1 })).toEqual([entry(other, 9)]);
      });

      it("updates an entry and keeps when it was made", async () => {
        const { origin } = newDesk();
        await coordinator.putIndex(entry(origin, 1));
        await coordinator.putIndex(
          entry(origin, 1, { status: "failed", isOpen: false, taskId: "t", createdAtMs: 5 }),
        );
        const changed = entry(origin, 1, { status: "failed", isOpen: false, taskId: "t" });
        expect(await coordinator.listIndex({ origin, limit: 9 })).toEqual([changed]);
        expect(await coordinator.listIndex({ origin, statuses: ["waiting"], limit: 9 })).toEqual([]);
        expect(await coordinator.listIndex({ origin, statuses: ["failed"], limit: 9 })).toEqual([changed]);
        expect(await coordinator.listIndex({ origin, openOnly: true, limit: 9 })).toEqual([]);
      });

      it("finds records by work, task and path, and forgets removed ones", async () => {
        const { origin } = newDesk();
        await coordinator.putIndex(entry(origin, 2, { taskId: "task-1" }));
        await coordinator.putIndex(entry(origin, 1));
        await coordinator.putPath("machine", `${origin}/a.mp3`, "r2");
        await coordinator.putPath("machine", `${origin}/a.mp3`, "r1");
        await coordinator.putPath("machine", `${origin}/a.mp3`, "r1");
        expect(await coordinator.recordsOfWork(`${origin} work`)).toEqual([`${origin}#1`, `${origin}#2`]);
        expect(await coordinator.recordsOfTask(origin, "task-1")).toEqual([`${origin}#2`]);
        expect(await coordinator.recordsOfTask(`${origin}/x`, "task-1")).toEqual([]);
        expect(await coordinator.recordsOfPath("machine", `${origin}/a.mp3`)).toEqual(["r1", "r2"]);
        expect(await coordinator.recordsOfPath("elsewhere", `${origin}/a.mp3`)).toEqual([]);
        await coordinator.removeIndex(`${origin}#2`);
        await coordinator.removeIndex(`${origin}#2`);
        expect(await coordinator.recordsOfWork(`${origin} work`)).toEqual([`${origin}#1`]);
        expect(await coordinator.recordsOfTask(origin, "task-1")).toEqual([]);
        expect(idsOf(await coordinator.listIndex({ origin, limit: 9 }))).toEqual(["1"]);
      });
    });

    describe("leases", () => {
      it("belong to one holder until released", async () => {
        const name = randomUUID();
        expect(await coordinator.acquireLease(name, "a", 1000)).toEqual({ acquired: true });
        expect(await coordinator.acquireLease(name, "b", 1000)).toEqual({ acquired: false, holder: "a" });
        await coordinator.releaseLease(name, "b");
        expect(await coordinator.acquireLease(name, "b", 1000)).toEqual({ acquired: false, holder: "a" });
        await coordinator.releaseLease(name, "a");
        expect(await coordinator.acquireLease(name, "b", 1000)).toEqual({ acquired: true });
      });

      it("lapse, unless they are renewed", async () => {
        const name = randomUUID();
        await coordinator.acquireLease(name, "a", MINUTE_MS);
        bench.advance(40_000);
        expect(await coordinator.acquireLease(name, "a", MINUTE_MS)).toEqual({ acquired: true });
        bench.advance(40_000);
        expect((await coordinator.acquireLease(name, "b", MINUTE_MS)).acquired).toBe(false);
        bench.advance(21_000);
        expect((await coordinator.acquireLease(name, "b", MINUTE_MS)).acquired).toBe(true);
      });

      it("can be taken from exactly the holder that is known to be dead", async () => {
        const name = randomUUID();
        await coordinator.acquireLease(name, "a", MINUTE_MS);
        expect((await coordinator.acquireLease(name, "b", MINUTE_MS, "c")).acquired).toBe(false);
        expect((await coordinator.acquireLease(name, "b", MINUTE_MS, "a")).acquired).toBe(true);
        expect((await coordinator.acquireLease(name, "c", MINUTE_MS, "a")).acquired).toBe(false);
      });

      it("from before a clock's restart hold one length more, not for ever", async () => {
        const name = randomUUID();
        await coordinator.acquireLease(name, "a", MINUTE_MS);
        bench.putBack();
        expect((await coordinator.acquireLease(name, "b", MINUTE_MS)).acquired).toBe(false);
        bench.advance(MINUTE_MS + 1000);
        expect((await coordinator.acquireLease(name, "b", MINUTE_MS)).acquired).toBe(true);
      });
    });

    describe("the rate of creates", () => {
      it("slides: each slot is free one window after its answer", async () => {
        const desk = newDesk();
        await desk.create("accepted", { maxCreates: 2 });
        bench.advance(20_000);
        const slow = slotOf(await desk.ask({ maxCreates: 2 }));
        bench.advance(10_000);
        await coordinator.settleCreate(slow, "accepted");
        const refused = await desk.ask({ maxCreates: 2 });
        expect(refused).toMatchObject({ admitted: false, reason: "rate" });
        // The first slot is 30 s old.
        expect(refused.admitted || refused.reason === "budget" ? 0 : refused.waitMs).toBeGreaterThan(29_000);
        expect(refused.admitted || refused.reason === "budget" ? 0 : refused.waitMs).toBeLessThanOrEqual(
          30_000,
        );
        bench.advance(30_001);
        expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("admitted");
        expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("rate");
        // The second one's answer came 30 s after the first's.
        bench.advance(29_999);
        expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("admitted");
      });

      it("counts refused and unanswered sends, and gives unsent ones back", async () => {
        const desk = newDesk();
        await desk.create("refused", { maxCreates: 2 });
        await desk.create("unsent", { maxCreates: 2 });
        await desk.create("unanswered", { maxCreates: 2 });
        expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("rate");
      });

      it("keeps a pending slot while its process lives, and one window longer", async () => {
        const desk = newDesk();
        const holder = randomUUID();
        await desk.ask({ maxCreates: 1, holder });
        for (let beat = 0; beat < 4; beat += 1) {
          bench.advance(50_000);
          await coordinator.heartbeat(holder);
        }
        bench.advance(59_000);
        expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
        bench.advance(2_000);
        expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
      });

      it("from before a clock's restart counts one window more, not for ever", async () => {
        const desk = newDesk();
        await desk.create("refused", { maxCreates: 1 });
        bench.putBack();
        expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
        bench.advance(30_000);
        expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
        bench.advance(31_000);
        expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
      });

      it("belongs to an account", async () => {
        const desk = newDesk();
        await desk.create("refused", { maxCreates: 1 });
        expect(reasonOf(await newDesk().ask({ maxCreates: 1 }))).toBe("admitted");
      });

      it("is never exceeded by requests that come together", async () => {
        const desk = newDesk();
        const answers = await Promise.all(Array.from({ length: 20 }, () => desk.ask({ maxCreates: 6 })));
        expect(answers.filter(({ admitted }) => admitted)).toHaveLength(6);
      });
    });

    describe("tasks in flight", () => {
      const two = { maxInFlight: 2 };

      it("hold their slot until their end is told", async () => {
        const desk = newDesk();
        await desk.create("accepted", { ...two, recordId: `${desk.origin} a` });
        await desk.create("accepted", { ...two, recordId: `${desk.origin} b` });
        bench.advance(10 * MINUTE_MS);
        expect(reasonOf(await desk.ask(two))).toBe("in_flight");
        await coordinator.endTask(`${desk.origin} a`, 1, 12);
        await coordinator.endTask(`${desk.origin} a`, 1, 12);
        expect(reasonOf(await desk.ask(two))).toBe("admitted");
        expect(reasonOf(await desk.ask(two))).toBe("in_flight");
      });

      it("give the slot back when refused or unsent", async () => {
        const desk = newDesk();
        await desk.create("refused", { maxInFlight: 1 });
        await desk.create("unsent", { maxInFlight: 1 });
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("are not held after their end, in whatever order answer and end are told", async () => {
        const desk = newDesk();
        const recordId = `${desk.origin} early`;
        const slotId = slotOf(await desk.ask({ recordId, maxInFlight: 1 }));
        await coordinator.endTask(recordId, 1, 12);
        await coordinator.settleCreate(slotId, "accepted");
        await coordinator.noteInFlight(desk.accountId, desk.origin, recordId, 1, 150);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("reuse the record's own slot", async () => {
        const desk = newDesk();
        const own = { recordId: `${desk.origin} own`, maxInFlight: 1 };
        await desk.create("unanswered", own);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        await desk.create("accepted", own);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        await coordinator.endTask(own.recordId, 1, 10);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("lapse when the process of an unanswered create is gone", async () => {
        const desk = newDesk();
        const holder = randomUUID();
        await desk.ask({ maxInFlight: 1, holder });
        bench.advance(20_000);
        await coordinator.heartbeat(holder);
        bench.advance(20_000);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        bench.advance(11_000);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("lapse also where a living process never sends an unanswered create again", async () => {
        const desk = newDesk();
        const holder = randomUUID();
        await desk.create("unanswered", { maxInFlight: 1, holder });
        for (let beat = 0; beat < 4; beat += 1) {
          bench.advance(20_000);
          await coordinator.heartbeat(holder);
        }
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        bench.advance(11_000);
        await coordinator.heartbeat(holder);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("stay unanswered when a later send of the same attempt is refused", async () => {
        const desk = newDesk();
        const own = { recordId: `${desk.origin} own`, maxInFlight: 1 };
        await desk.create("unanswered", own);
        await desk.create("refused", own);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        await coordinator.endTask(own.recordId, 1, 0);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("count when found under way, and lapse when nobody ever tells their end", async () => {
        const desk = newDesk();
        await coordinator.noteInFlight(desk.accountId, desk.origin, `${desk.origin} found`, 1, 150);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        bench.advance(64 * MINUTE_MS);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("in_flight");
        bench.advance(2 * MINUTE_MS);
        expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      });

      it("give way to the next attempt of their record", async () => {
        const desk = newDesk();
        const recordId = `${desk.origin} again`;
        await desk.create("accepted", { recordId, ...two });
        await desk.create("accepted", { recordId, attempt: 2, ...two });
        await coordinator.endTask(recordId, 1, 0);
        expect(reasonOf(await desk.ask(two))).toBe("admitted");
        expect(reasonOf(await desk.ask(two))).toBe("in_flight");
      });
    });

    describe("the budget", () => {
      const budget = { credits: 450, windowMs: DAY_MS };

      it("counts open reservations and ended charges, exactly", async () => {
        const desk = newDesk();
        const recordId = `${desk.origin} first`;
        await desk.create("accepted", { recordId, budget });
        await desk.create("accepted", { budget });
        await desk.create("accepted", { budget });
        expect(await desk.ask({ budget })).toEqual({
          admitted: false,
          reason: "budget",
          countedCredits: 450,
        });
        await coordinator.endTask(recordId, 1, 150);
        expect(reasonOf(await desk.ask({ budget }))).toBe("budget");
        await coordinator.endTask(recordId, 1, 0);
        expect(reasonOf(await desk.ask({ budget }))).toBe("budget");
        expect(
          await coordinator.countCredits({ ...desk, windowMs: DAY_MS, recordId: "none", attempt: 1 }),
        ).toBe(450);
      });

      it("frees what an ended task did not cost", async () => {
        const desk = newDesk();
        const recordId = `${desk.origin} first`;
        await desk.create("accepted", { recordId, budget });
        await desk.create("accepted", { budget });
        await coordinator.endTask(recordId, 1, 12);
        await desk.create("accepted", { budget });
        expect(await desk.ask({ budget })).toMatchObject({ reason: "budget", countedCredits: 312 });
        expect(reasonOf(await desk.ask({ budget: { ...budget, credits: 462 } }))).toBe("admitted");
      });

      it("gives refused reservations back and keeps unanswered ones for a day", async () => {
        const desk = newDesk();
        const one = { budget: { credits: 150, windowMs: DAY_MS } };
        await desk.create("refused", one);
        await desk.create("unsent", one);
        const own = { ...one, recordId: `${desk.origin} own` };
        await desk.create("unanswered", own);
        expect(reasonOf(await desk.ask(one))).toBe("budget");
        // Its own reservation is no reason against its own repeat.
        await desk.create("unanswered", own);
        bench.advance(DAY_MS - 1000);
        expect(reasonOf(await desk.ask(one))).toBe("budget");
        bench.advance(2000);
        expect(reasonOf(await desk.ask(one))).toBe("admitted");
      });

      it("returns to the charge when a repeat of an ended attempt is refused", async () => {
        const desk = newDesk();
        const own = { recordId: `${desk.origin} own` };
        await desk.create("accepted", own);
        await coordinator.endTask(own.recordId, 1, 12);
        await desk.create("refused", own);
        expect(await coordinator.countCredits({ ...desk, windowMs: DAY_MS, recordId: "", attempt: 1 })).toBe(
          12,
        );
      });

      it("belongs to an origin, not to an account", async () => {
        const desk = newDesk();
        const one = { budget: { credits: 150, windowMs: DAY_MS } };
        await desk.create("accepted", one);
        expect(reasonOf(await desk.ask({ ...one, accountId: randomUUID() }))).toBe("budget");
        expect(reasonOf(await newDesk().ask(one))).toBe("admitted");
      });
    });

    describe("pauses", () => {
      it("hold one class for everyone, the longest of them", async () => {
        const desk = newDesk();
        await coordinator.pause(desk.accountId, "creates", 50_000);
        await coordinator.pause(desk.accountId, "creates", 10_000);
        expect(reasonOf(await desk.ask())).toBe("paused");
        const read = { accountId: desk.accountId, holder: "h", maxReads: 60, windowMs: MINUTE_MS };
        expect((await coordinator.admitRead(read)).admitted).toBe(true);
        await coordinator.pause(desk.accountId, "reads", 5_000);
        expect((await coordinator.admitRead(read)).admitted).toBe(false);
        bench.advance(6_000);
        expect((await coordinator.admitRead(read)).admitted).toBe(true);
        bench.advance(43_000);
        expect(reasonOf(await desk.ask())).toBe("paused");
        bench.advance(2_000);
        expect(reasonOf(await desk.ask())).toBe("admitted");
      });

      it("from before a clock's restart hold once more, not for ever", async () => {
        const desk = newDesk();
        await coordinator.pause(desk.accountId, "creates", 50_000);
        bench.putBack();
        expect(reasonOf(await desk.ask())).toBe("paused");
        bench.advance(51_000);
        expect(reasonOf(await desk.ask())).toBe("admitted");
      });
    });

    describe("reads", () => {
      it("slide like creates, from their answer on", async () => {
        const { accountId } = newDesk();
        const request = { accountId, holder: "h", maxReads: 3, windowMs: MINUTE_MS };
        const slots = await Promise.all([1, 2, 3].map(() => coordinator.admitRead(request)));
        expect(slots.every(({ admitted }) => admitted)).toBe(true);
        bench.advance(10_000);
        for (const slot of slots) if (slot.admitted) await coordinator.settleRead(slot.slotId);
        bench.advance(55_000);
        const refused = await coordinator.admitRead(request);
        expect(refused.admitted).toBe(false);
        if (!refused.admitted) expect(refused.waitMs).toBeLessThanOrEqual(5_000);
        bench.advance(5_001);
        expect((await coordinator.admitRead(request)).admitted).toBe(true);
      });

      it("tell how many count, and why there is none left", async () => {
        const { accountId } = newDesk();
        const request = { accountId, holder: "h", maxReads: 2, windowMs: MINUTE_MS };
        expect(await coordinator.admitRead(request)).toMatchObject({ admitted: true, usedReads: 1 });
        expect(await coordinator.admitRead(request)).toMatchObject({ admitted: true, usedReads: 2 });
        expect(await coordinator.admitRead(request)).toMatchObject({ admitted: false, reason: "rate" });
        // Who may take more is told of all of them.
        const more = { ...request, maxReads: 4 };
        expect(await coordinator.admitRead(more)).toMatchObject({ admitted: true, usedReads: 3 });
        await coordinator.pause(accountId, "reads", 5_000);
        expect(await coordinator.admitRead(more)).toMatchObject({ admitted: false, reason: "paused" });
      });

      it("stay pending while their process lives", async () => {
        const { accountId } = newDesk();
        const holder = randomUUID();
        const request = { accountId, holder, maxReads: 1, windowMs: MINUTE_MS };
        await coordinator.admitRead(request);
        bench.advance(50_000);
        await coordinator.heartbeat(holder);
        bench.advance(50_000);
        expect((await coordinator.admitRead(request)).admitted).toBe(false);
        bench.advance(11_000);
        expect((await coordinator.admitRead(request)).admitted).toBe(true);
      });
    });
  });
}
