/** What every store must do for places in flight: who takes one, for how long, and what never renews one. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Desk, LAPSE_MS, MINUTE_MS, reasonOf, type StoreBench, waitOf } from "./desk.ts";

export function flightsSuite(bench: () => StoreBench, newDesk: () => Desk): void {
  const one = { maxInFlight: 1 };

  describe("tasks in flight", () => {
    it("keep their place until their end is written", async () => {
      const desk = newDesk();
      const first = await desk.create("accepted", { maxInFlight: 2 });
      await desk.create("accepted", { maxInFlight: 2 });
      bench().advance(10 * MINUTE_MS);
      expect(reasonOf(await desk.ask({ maxInFlight: 2 }))).toBe("in_flight");
      await desk.end(first, 12);
      expect(reasonOf(await desk.ask({ maxInFlight: 2 }))).toBe("admitted");
      expect(reasonOf(await desk.ask({ maxInFlight: 2 }))).toBe("in_flight");
    });

    it("release the place when refused or unsent", async () => {
      const desk = newDesk();
      await desk.create("refused", one);
      await desk.create("unsent", one);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("reuse the record's own place", async () => {
      const desk = newDesk();
      const record = await desk.create("unanswered", one);
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      const accepted = await desk.create("accepted", one, { record });
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      await desk.end(accepted, 10);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("release the place some time after the process of an unanswered create has died", async () => {
      const desk = newDesk();
      const processId = randomUUID();
      await desk.ask(one, { processId });
      bench().advance(20_000);
      await desk.store(processId).heartbeat([]);
      bench().advance(20_000);
      const held = await desk.ask(one);
      expect(reasonOf(held)).toBe("in_flight");
      expect(waitOf(held)).toBeGreaterThan(0);
      expect(waitOf(held)).toBeLessThanOrEqual(10_000);
      bench().advance(11_000);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("release the place, too, if a living process never sends an unanswered create again", async () => {
      const desk = newDesk();
      const processId = randomUUID();
      await desk.create("unanswered", one, { processId });
      for (let beat = 0; beat < 4; beat += 1) {
        bench().advance(20_000);
        await desk.store(processId).heartbeat([]);
      }
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      bench().advance(11_000);
      await desk.store(processId).heartbeat([]);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("renew the place with a new send, and with no other write", async () => {
      const desk = newDesk();
      const record = await desk.create("unanswered", one);
      bench().advance(LAPSE_MS - 5_000);
      const again = await desk.create("unanswered", one, { record });
      bench().advance(LAPSE_MS - 5_000);
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      await desk.change(again, { fileName: "b.mp3" });
      bench().advance(6_000);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("keep their date from queued to processing", async () => {
      const desk = newDesk();
      const record = await desk.create("accepted", one);
      bench().advance(50 * MINUTE_MS);
      await desk.change(record, { status: "processing", polledAtMs: 1 });
      bench().advance(14 * MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      bench().advance(2 * MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("take a place when found running, and release the place if their end is never reported", async () => {
      const desk = newDesk();
      await desk.put(desk.record({ status: "processing", taskId: "found" }));
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      bench().advance(64 * MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      bench().advance(2 * MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("that ended long ago get no place from a write that does not change them", async () => {
      const desk = newDesk();
      const record = await desk.create("unanswered", one);
      bench().advance(3 * 60 * MINUTE_MS);
      // The first admission after that time deletes it.
      await desk.create("refused", one);
      await desk.change(record, { fileName: "c.mp3" });
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("release the place when the task is given up, and take it again when the task is known again", async () => {
      const desk = newDesk();
      const record = await desk.create("accepted", one);
      const gone = await desk.change(record, { isGone: true });
      await desk.create("refused", one);
      await desk.change(gone, { isGone: false });
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
    });

    it("release the place with their record", async () => {
      const desk = newDesk();
      await desk.remove(await desk.create("accepted", one));
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("from before a restart of the clock keep the place for one full duration from now", async () => {
      const desk = newDesk();
      await desk.create("unanswered", one);
      bench().putBack();
      expect(reasonOf(await desk.ask(one))).toBe("in_flight");
      bench().advance(LAPSE_MS + 1000);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("are separate for each account", async () => {
      const desk = newDesk();
      await desk.create("accepted", one);
      expect(reasonOf(await desk.neighbour().ask(one))).toBe("admitted");
    });
  });
}
