/** Tests of submissions for every store: the rate limit, admissions and their slots, and pauses. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { toRow } from "../../../src/ledger/record.ts";
import type { AdmissionRequest } from "../../../src/ledger/store/admission-store.ts";
import {
  LAPSE_MS,
  LEASE_MS,
  MINUTE_MS,
  reasonOf,
  type StoreFixture,
  type StoreSetup,
  waitOf,
} from "./store-setup.ts";

export function submissionsSuite(fixture: () => StoreFixture, newSetup: () => StoreSetup): void {
  describe("the rate of submissions", () => {
    it("slides: each rate slot is free one window after its answer", async () => {
      const setup = newSetup();
      const two = { maxSubmissions: 2 };
      await setup.create("accepted", two);
      fixture().advance(20_000);
      const slow = await setup.ask(two);
      fixture().advance(10_000);
      await setup.store().admissions.recordSendOutcome({ sendId: slow.sendId, outcome: "sent" });
      const refused = await setup.ask(two);
      expect(reasonOf(refused)).toBe("rate");
      // The first rate slot is 30 s old.
      expect(waitOf(refused)).toBeGreaterThan(29_000);
      expect(waitOf(refused)).toBeLessThanOrEqual(30_000);
      fixture().advance(30_001);
      expect(reasonOf(await setup.ask(two))).toBe("admitted");
      expect(reasonOf(await setup.ask(two))).toBe("rate");
      // The submission of the second rate slot was answered 30 s after that of the first.
      fixture().advance(29_999);
      expect(reasonOf(await setup.ask(two))).toBe("admitted");
    });

    it("counts refused and unresolved sends, and releases unsent ones", async () => {
      const setup = newSetup();
      await setup.create("refused", { maxSubmissions: 2 });
      await setup.create("unsent", { maxSubmissions: 2 });
      await setup.create("unresolved", { maxSubmissions: 2 });
      expect(reasonOf(await setup.ask({ maxSubmissions: 2 }))).toBe("rate");
    });

    it("does not release an answered send", async () => {
      const setup = newSetup();
      const { sendId } = await setup.ask({ maxSubmissions: 1 });
      await setup.store().admissions.recordSendOutcome({ sendId, outcome: "sent" });
      await setup.store().admissions.recordSendOutcome({ sendId, outcome: "unsent" });
      await setup.store().admissions.recordSendOutcome({ sendId: randomUUID(), outcome: "sent" });
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
      expect(reasonOf(await setup.ask({ maxSubmissions: 2 }))).toBe("admitted");
    });

    it("counts the end of a send once, from its first report", async () => {
      const setup = newSetup();
      const { sendId } = await setup.ask({ maxSubmissions: 1 });
      await setup.store().admissions.recordSendOutcome({ sendId, outcome: "sent" });
      fixture().advance(50_000);
      await setup.store().admissions.recordSendOutcome({ sendId, outcome: "sent" });
      fixture().advance(11_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("admitted");
    });

    it("keeps a pending rate slot while its process lives, and one window longer", async () => {
      const setup = newSetup();
      const processId = randomUUID();
      await setup.ask({ maxSubmissions: 1 }, { processId });
      for (let beat = 0; beat < 4; beat += 1) {
        fixture().advance(50_000);
        await setup.store(processId).heartbeat([]);
      }
      fixture().advance(59_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
      fixture().advance(2_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("admitted");
    });

    it("does not keep an answered rate slot longer because its process lives", async () => {
      const setup = newSetup();
      await setup.create("refused", { maxSubmissions: 1 });
      fixture().advance(40_000);
      await setup.store().heartbeat([]);
      fixture().advance(21_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("admitted");
    });

    it("from before a restart of the clock counts one more window, not forever", async () => {
      const setup = newSetup();
      await setup.create("refused", { maxSubmissions: 1 });
      fixture().putBack();
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
      fixture().advance(30_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
      fixture().advance(31_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("admitted");
    });

    it("is separate for each account", async () => {
      const setup = newSetup();
      await setup.create("refused", { maxSubmissions: 1 });
      expect(reasonOf(await setup.withOtherKey().ask({ maxSubmissions: 1 }))).toBe("admitted");
    });

    it("is never exceeded by simultaneous requests", async () => {
      const setup = newSetup();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          setup.ask({ maxSubmissions: 6 }, { processId: `holder ${at % 3}` }),
        ),
      );
      expect(answers.filter((answer) => reasonOf(answer) === "admitted")).toHaveLength(6);
    });
  });

  describe("an admission", () => {
    it("is refused if the record has changed, is gone, or has another lease owner", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record);
      const renamed = await setup.change(record, { fileName: "a.mp3" });
      const stale = await setup.ask({}, { record });
      const { recordJson } = toRow(renamed);
      expect(stale.admission).toEqual({ kind: "conflict", recordJson, isLeaseLost: false });
      expect((await setup.ask({}, { record: setup.record() })).admission).toEqual({
        kind: "conflict",
        recordJson: undefined,
        isLeaseLost: false,
      });
      fixture().advance(LEASE_MS + 1);
      await setup.claim(renamed, "another");
      const late = await setup.ask({}, { record: renamed });
      expect(late.admission).toEqual({ kind: "conflict", recordJson, isLeaseLost: true });
      // None of the refused admissions took a rate slot or a concurrency slot.
      expect(reasonOf(await setup.ask({ maxSubmissions: 1, maxConcurrentTasks: 1 }))).toBe("admitted");
    });

    it("stores the record, and keeps its lease", async () => {
      const setup = newSetup();
      const { record } = await setup.ask();
      expect(await setup.stored(record)).toEqual(record);
      expect(record.status).toBe("unresolved");
      fixture().advance(LEASE_MS - 1000);
      expect((await setup.claim(record, "another")).leaseOwner).toBe("holder");
    });

    it("that is refused changes nothing", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1, maxConcurrentTasks: 1 }))).toBe("admitted");
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }, { record }))).toBe("rate");
      expect(reasonOf(await setup.ask({ maxConcurrentTasks: 1 }, { record }))).toBe("concurrency");
      expect(await setup.stored(record)).toEqual(record);
    });

    it("whose answer was lost takes no second rate slot when it is repeated", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record);
      const sendId = randomUUID();
      const most: Partial<AdmissionRequest> = { sendId, maxSubmissions: 1, maxConcurrentTasks: 1 };
      expect(reasonOf(await setup.ask(most, { record }))).toBe("admitted");
      expect(["admitted", "conflict"]).toContain(reasonOf(await setup.ask(most, { record })));
      // The id of the send is enough to release the rate slot.
      await setup.store().admissions.recordSendOutcome({ sendId, outcome: "unsent" });
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("admitted");
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
    });

    it("repeated in a newer revision keeps its slot", async () => {
      const setup = newSetup();
      const sendId = randomUUID();
      const first = await setup.ask({ sendId, maxSubmissions: 1 });
      const again = await setup.ask({ sendId, maxSubmissions: 1 }, { record: first.record });
      expect(reasonOf(again)).toBe("admitted");
      expect(reasonOf(await setup.ask({ maxSubmissions: 2 }))).toBe("admitted");
      expect(reasonOf(await setup.ask({ maxSubmissions: 2 }))).toBe("rate");
    });
  });

  describe("pauses", () => {
    it("apply to every process of the account, the longest one counting", async () => {
      const setup = newSetup();
      await setup.store("a").admissions.startCooldown(50_000);
      await setup.store("b").admissions.startCooldown(10_000);
      const admission = await setup.ask();
      expect(reasonOf(admission)).toBe("cooldown");
      expect(waitOf(admission)).toBeGreaterThan(49_000);
      expect(reasonOf(await setup.withOtherKey().ask())).toBe("admitted");
      fixture().advance(49_000);
      expect(reasonOf(await setup.ask())).toBe("cooldown");
      fixture().advance(2_000);
      expect(reasonOf(await setup.ask())).toBe("admitted");
    });

    it("from before a restart of the clock apply once more, not forever", async () => {
      const setup = newSetup();
      await setup.store().admissions.startCooldown(50_000);
      fixture().putBack();
      expect(reasonOf(await setup.ask())).toBe("cooldown");
      fixture().advance(51_000);
      expect(reasonOf(await setup.ask())).toBe("admitted");
    });
  });

  it("is checked in one order: record, budget, pause, rate, concurrency slots", async () => {
    const setup = newSetup();
    const budget = { credits: 150, windowMs: 24 * 60 * MINUTE_MS };
    const most = { budget, maxSubmissions: 1, maxConcurrentTasks: 1 };
    await setup.create("accepted", most);
    await setup.store().admissions.startCooldown(10_000);
    const record = setup.record();
    await setup.claim(record);
    expect(reasonOf(await setup.ask(most, { record: { ...record, revision: 7 } }))).toBe("conflict");
    expect(reasonOf(await setup.ask(most, { record }))).toBe("over_budget");
    expect(reasonOf(await setup.ask({ ...most, budget: null }, { record }))).toBe("cooldown");
    fixture().advance(11_000);
    expect(reasonOf(await setup.ask({ ...most, budget: null }, { record }))).toBe("rate");
    fixture().advance(MINUTE_MS - LAPSE_MS);
    fixture().advance(LAPSE_MS);
    expect(reasonOf(await setup.ask({ ...most, budget: null }, { record }))).toBe("concurrency");
  });
}
