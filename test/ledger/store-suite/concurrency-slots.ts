/** Tests of concurrency slots for every store: who takes one, for how long, and what never renews one. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { LAPSE_MS, MINUTE_MS, reasonOf, type StoreFixture, type StoreSetup, waitOf } from "./store-setup.ts";

export function concurrencySlotsSuite(fixture: () => StoreFixture, newSetup: () => StoreSetup): void {
  const one = { maxConcurrentTasks: 1 };

  describe("tasks in flight", () => {
    it("keep their concurrency slot until their end is written", async () => {
      const setup = newSetup();
      const first = await setup.create("accepted", { maxConcurrentTasks: 2 });
      await setup.create("accepted", { maxConcurrentTasks: 2 });
      fixture().advance(10 * MINUTE_MS);
      expect(reasonOf(await setup.ask({ maxConcurrentTasks: 2 }))).toBe("concurrency");
      await setup.end(first, 12);
      expect(reasonOf(await setup.ask({ maxConcurrentTasks: 2 }))).toBe("admitted");
      expect(reasonOf(await setup.ask({ maxConcurrentTasks: 2 }))).toBe("concurrency");
    });

    it("release the concurrency slot when refused or unsent", async () => {
      const setup = newSetup();
      await setup.create("refused", one);
      await setup.create("unsent", one);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("reuse the record's own concurrency slot", async () => {
      const setup = newSetup();
      const record = await setup.create("unresolved", one);
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      const accepted = await setup.create("accepted", one, { record });
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      await setup.end(accepted, 10);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("release the concurrency slot some time after the process of an unresolved submission has died", async () => {
      const setup = newSetup();
      const processId = randomUUID();
      await setup.ask(one, { processId });
      fixture().advance(20_000);
      await setup.store(processId).heartbeat([]);
      fixture().advance(20_000);
      const admission = await setup.ask(one);
      expect(reasonOf(admission)).toBe("concurrency");
      expect(waitOf(admission)).toBeGreaterThan(0);
      expect(waitOf(admission)).toBeLessThanOrEqual(10_000);
      fixture().advance(11_000);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("release the concurrency slot, too, if a living process never sends an unresolved submission again", async () => {
      const setup = newSetup();
      const processId = randomUUID();
      await setup.create("unresolved", one, { processId });
      for (let beat = 0; beat < 4; beat += 1) {
        fixture().advance(20_000);
        await setup.store(processId).heartbeat([]);
      }
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      fixture().advance(11_000);
      await setup.store(processId).heartbeat([]);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("renew the concurrency slot with a new send, and with no other write", async () => {
      const setup = newSetup();
      const record = await setup.create("unresolved", one);
      fixture().advance(LAPSE_MS - 5_000);
      const again = await setup.create("unresolved", one, { record });
      fixture().advance(LAPSE_MS - 5_000);
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      await setup.change(again, { fileName: "b.mp3" });
      fixture().advance(6_000);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("keep their date from queued to processing", async () => {
      const setup = newSetup();
      const record = await setup.create("accepted", one);
      fixture().advance(50 * MINUTE_MS);
      await setup.change(record, { status: "processing", polledAtMs: 1 });
      fixture().advance(14 * MINUTE_MS);
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      fixture().advance(2 * MINUTE_MS);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("take a concurrency slot when found running, and release the concurrency slot if their end is never reported", async () => {
      const setup = newSetup();
      await setup.put(setup.record({ status: "processing", taskId: "found" }));
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      fixture().advance(64 * MINUTE_MS);
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      fixture().advance(2 * MINUTE_MS);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("that ended long ago get no concurrency slot from a write that does not change them", async () => {
      const setup = newSetup();
      const record = await setup.create("unresolved", one);
      fixture().advance(3 * 60 * MINUTE_MS);
      // This admission deletes the expired slot.
      await setup.create("refused", one);
      await setup.change(record, { fileName: "c.mp3" });
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("release the concurrency slot when the task is given up, and take it again when the task is known again", async () => {
      const setup = newSetup();
      const record = await setup.create("accepted", one);
      const gone = await setup.change(record, { isGone: true });
      await setup.create("refused", one);
      await setup.change(gone, { isGone: false });
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
    });

    it("release the concurrency slot with their record", async () => {
      const setup = newSetup();
      await setup.remove(await setup.create("accepted", one));
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("from before a restart of the clock keep the concurrency slot for one full duration from now", async () => {
      const setup = newSetup();
      await setup.create("unresolved", one);
      fixture().putBack();
      expect(reasonOf(await setup.ask(one))).toBe("concurrency");
      fixture().advance(LAPSE_MS + 1000);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("are separate for each account", async () => {
      const setup = newSetup();
      await setup.create("accepted", one);
      expect(reasonOf(await setup.withOtherKey().ask(one))).toBe("admitted");
    });
  });
}
