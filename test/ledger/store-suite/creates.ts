/** What every store must do for creates: rate, places in flight, pauses, and one admission for one slot. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { toRow } from "../../../src/ledger/record.ts";
import type { AdmitRequest } from "../../../src/ledger/store/admission-store.ts";
import { type Desk, LAPSE_MS, LEASE_MS, MINUTE_MS, reasonOf, type StoreBench, waitOf } from "./desk.ts";

export function createsSuite(bench: () => StoreBench, newDesk: () => Desk): void {
  describe("the rate of creates", () => {
    it("slides: each slot is free one window after its answer", async () => {
      const desk = newDesk();
      const two = { maxCreates: 2 };
      await desk.create("accepted", two);
      bench().advance(20_000);
      const slow = await desk.ask(two);
      bench().advance(10_000);
      await desk.store().admissions.releaseSlot({ sendId: slow.sendId, outcome: "counts" });
      const refused = await desk.ask(two);
      expect(reasonOf(refused)).toBe("rate");
      // The first slot is 30 s old.
      expect(waitOf(refused)).toBeGreaterThan(29_000);
      expect(waitOf(refused)).toBeLessThanOrEqual(30_000);
      bench().advance(30_001);
      expect(reasonOf(await desk.ask(two))).toBe("admitted");
      expect(reasonOf(await desk.ask(two))).toBe("rate");
      // The second one was answered 30 s after the first.
      bench().advance(29_999);
      expect(reasonOf(await desk.ask(two))).toBe("admitted");
    });

    it("counts refused and unanswered sends, and releases unsent ones", async () => {
      const desk = newDesk();
      await desk.create("refused", { maxCreates: 2 });
      await desk.create("unsent", { maxCreates: 2 });
      await desk.create("unanswered", { maxCreates: 2 });
      expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("rate");
    });

    it("does not release an answered send", async () => {
      const desk = newDesk();
      const { sendId } = await desk.ask({ maxCreates: 1 });
      await desk.store().admissions.releaseSlot({ sendId, outcome: "counts" });
      await desk.store().admissions.releaseSlot({ sendId, outcome: "unsent" });
      await desk.store().admissions.releaseSlot({ sendId: randomUUID(), outcome: "counts" });
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
      expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("admitted");
    });

    it("counts the end of a send once, from its first report", async () => {
      const desk = newDesk();
      const { sendId } = await desk.ask({ maxCreates: 1 });
      await desk.store().admissions.releaseSlot({ sendId, outcome: "counts" });
      bench().advance(50_000);
      await desk.store().admissions.releaseSlot({ sendId, outcome: "counts" });
      bench().advance(11_000);
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
    });

    it("keeps a pending slot while its process lives, and one window longer", async () => {
      const desk = newDesk();
      const processId = randomUUID();
      await desk.ask({ maxCreates: 1 }, { processId });
      for (let beat = 0; beat < 4; beat += 1) {
        bench().advance(50_000);
        await desk.store(processId).heartbeat([]);
      }
      bench().advance(59_000);
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
      bench().advance(2_000);
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
    });

    it("does not keep an answered slot longer because its process lives", async () => {
      const desk = newDesk();
      await desk.create("refused", { maxCreates: 1 });
      bench().advance(40_000);
      await desk.store().heartbeat([]);
      bench().advance(21_000);
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
    });

    it("from before a restart of the clock counts one more window, not forever", async () => {
      const desk = newDesk();
      await desk.create("refused", { maxCreates: 1 });
      bench().putBack();
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
      bench().advance(30_000);
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
      bench().advance(31_000);
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
    });

    it("is separate for each account", async () => {
      const desk = newDesk();
      await desk.create("refused", { maxCreates: 1 });
      expect(reasonOf(await desk.neighbour().ask({ maxCreates: 1 }))).toBe("admitted");
    });

    it("is never exceeded by simultaneous requests", async () => {
      const desk = newDesk();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => desk.ask({ maxCreates: 6 }, { processId: `holder ${at % 3}` })),
      );
      expect(answers.filter((answer) => reasonOf(answer) === "admitted")).toHaveLength(6);
    });
  });

  describe("an admission", () => {
    it("is refused if the record has changed, is gone, or has another lease owner", async () => {
      const desk = newDesk();
      const record = desk.record();
      await desk.claim(record);
      const renamed = await desk.change(record, { fileName: "a.mp3" });
      const stale = await desk.ask({}, { record });
      const { recordJson } = toRow(renamed);
      expect(stale.admission).toEqual({ kind: "conflict", recordJson, isLeaseLost: false });
      expect((await desk.ask({}, { record: desk.record() })).admission).toEqual({
        kind: "conflict",
        recordJson: undefined,
        isLeaseLost: false,
      });
      bench().advance(LEASE_MS + 1);
      await desk.claim(renamed, "another");
      const late = await desk.ask({}, { record: renamed });
      expect(late.admission).toEqual({ kind: "conflict", recordJson, isLeaseLost: true });
      // None of them took a slot or a place.
      expect(reasonOf(await desk.ask({ maxCreates: 1, maxInFlight: 1 }))).toBe("admitted");
    });

    it("stores the record, and keeps its lease", async () => {
      const desk = newDesk();
      const { record } = await desk.ask();
      expect(await desk.stored(record)).toEqual(record);
      expect(record.status).toBe("unresolved");
      bench().advance(LEASE_MS - 1000);
      expect((await desk.claim(record, "another")).leaseOwner).toBe("holder");
    });

    it("that is refused changes nothing", async () => {
      const desk = newDesk();
      const record = desk.record();
      await desk.claim(record);
      expect(reasonOf(await desk.ask({ maxCreates: 1, maxInFlight: 1 }))).toBe("admitted");
      expect(reasonOf(await desk.ask({ maxCreates: 1 }, { record }))).toBe("rate");
      expect(reasonOf(await desk.ask({ maxInFlight: 1 }, { record }))).toBe("in_flight");
      expect(await desk.stored(record)).toEqual(record);
    });

    it("whose answer was lost takes no second slot when it is repeated", async () => {
      const desk = newDesk();
      const record = desk.record();
      await desk.claim(record);
      const sendId = randomUUID();
      const most: Partial<AdmitRequest> = { sendId, maxCreates: 1, maxInFlight: 1 };
      expect(reasonOf(await desk.ask(most, { record }))).toBe("admitted");
      expect(["admitted", "conflict"]).toContain(reasonOf(await desk.ask(most, { record })));
      // Releasing it needs only the slot's name.
      await desk.store().admissions.releaseSlot({ sendId, outcome: "unsent" });
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("admitted");
      expect(reasonOf(await desk.ask({ maxCreates: 1 }))).toBe("rate");
    });

    it("repeated in a newer revision keeps its slot", async () => {
      const desk = newDesk();
      const sendId = randomUUID();
      const first = await desk.ask({ sendId, maxCreates: 1 });
      const again = await desk.ask({ sendId, maxCreates: 1 }, { record: first.record });
      expect(reasonOf(again)).toBe("admitted");
      expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("admitted");
      expect(reasonOf(await desk.ask({ maxCreates: 2 }))).toBe("rate");
    });
  });

  describe("pauses", () => {
    it("apply to every process of the account, the longest one counting", async () => {
      const desk = newDesk();
      await desk.store("a").admissions.pause(50_000);
      await desk.store("b").admissions.pause(10_000);
      const held = await desk.ask();
      expect(reasonOf(held)).toBe("paused");
      expect(waitOf(held)).toBeGreaterThan(49_000);
      expect(reasonOf(await desk.neighbour().ask())).toBe("admitted");
      bench().advance(49_000);
      expect(reasonOf(await desk.ask())).toBe("paused");
      bench().advance(2_000);
      expect(reasonOf(await desk.ask())).toBe("admitted");
    });

    it("from before a restart of the clock apply once more, not forever", async () => {
      const desk = newDesk();
      await desk.store().admissions.pause(50_000);
      bench().putBack();
      expect(reasonOf(await desk.ask())).toBe("paused");
      bench().advance(51_000);
      expect(reasonOf(await desk.ask())).toBe("admitted");
    });
  });

  it("is checked in one order: record, budget, pause, rate, places", async () => {
    const desk = newDesk();
    const budget = { credits: 150, windowMs: 24 * 60 * MINUTE_MS };
    const most = { budget, maxCreates: 1, maxInFlight: 1 };
    await desk.create("accepted", most);
    await desk.store().admissions.pause(10_000);
    const record = desk.record();
    await desk.claim(record);
    expect(reasonOf(await desk.ask(most, { record: { ...record, revision: 7 } }))).toBe("conflict");
    expect(reasonOf(await desk.ask(most, { record }))).toBe("over_budget");
    expect(reasonOf(await desk.ask({ ...most, budget: null }, { record }))).toBe("paused");
    bench().advance(11_000);
    expect(reasonOf(await desk.ask({ ...most, budget: null }, { record }))).toBe("rate");
    bench().advance(MINUTE_MS - LAPSE_MS);
    bench().advance(LAPSE_MS);
    expect(reasonOf(await desk.ask({ ...most, budget: null }, { record }))).toBe("in_flight");
  });
}
