/** What every store must do for queries and downloads: their rate, their pauses, and one slot for one admission. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ReadAdmission } from "../../../src/ledger/ledger-store.ts";
import { type Desk, MINUTE_MS, type StoreBench } from "./desk.ts";

export function readsSuite(bench: () => StoreBench, newDesk: () => Desk): void {
  const read = (
    desk: Desk,
    maxReads: number,
    { slotId = randomUUID(), holder = "holder" }: { slotId?: string; holder?: string } = {},
  ): Promise<ReadAdmission> => desk.store(holder).admitRead({ slotId, maxReads, windowMs: MINUTE_MS });

  describe("reads", () => {
    it("slide like creates, from their answer on", async () => {
      const desk = newDesk();
      const slots = [randomUUID(), randomUUID(), randomUUID()];
      for (const slotId of slots) expect((await read(desk, 3, { slotId })).kind).toBe("admitted");
      bench().advance(10_000);
      for (const slotId of slots) {
        await desk.store().settle({ limitClass: "reads", slotId, outcome: "counts" });
      }
      bench().advance(55_000);
      const refused = await read(desk, 3);
      expect(refused).toMatchObject({ kind: "held", reason: "rate" });
      expect(refused.kind === "held" ? refused.waitMs : 0).toBeLessThanOrEqual(5_000);
      bench().advance(5_001);
      expect((await read(desk, 3)).kind).toBe("admitted");
    });

    it("tell how many count, and why there is none left", async () => {
      const desk = newDesk();
      expect(await read(desk, 2)).toEqual({ kind: "admitted", usedReads: 1 });
      expect(await read(desk, 2)).toEqual({ kind: "admitted", usedReads: 2 });
      expect(await read(desk, 2)).toMatchObject({ kind: "held", reason: "rate" });
      // Who may take more is told of all of them.
      expect(await read(desk, 4)).toEqual({ kind: "admitted", usedReads: 3 });
      // Who leaves all of them to others takes none.
      expect(await read(newDesk(), 0)).toMatchObject({ kind: "held", reason: "rate" });
      await desk.store().pause("reads", 5_000);
      expect(await read(desk, 4)).toMatchObject({ kind: "held", reason: "paused" });
      bench().advance(6_000);
      expect((await read(desk, 4)).kind).toBe("admitted");
    });

    it("take no second slot for an admission that is asked for again, and give unsent ones back", async () => {
      const desk = newDesk();
      const slotId = randomUUID();
      await read(desk, 1, { slotId });
      expect(await read(desk, 1, { slotId })).toEqual({ kind: "admitted", usedReads: 1 });
      await desk.store().settle({ limitClass: "reads", slotId, outcome: "unsent" });
      expect(await read(desk, 1)).toEqual({ kind: "admitted", usedReads: 1 });
    });

    it("stay pending while their process lives", async () => {
      const desk = newDesk();
      const holder = randomUUID();
      await read(desk, 1, { holder });
      bench().advance(50_000);
      await desk.store(holder).signOfLife([]);
      bench().advance(50_000);
      expect((await read(desk, 1)).kind).toBe("held");
      bench().advance(11_000);
      expect((await read(desk, 1)).kind).toBe("admitted");
    });

    it("and creates do not hold each other", async () => {
      const desk = newDesk();
      await read(desk, 1);
      await desk.store().pause("reads", MINUTE_MS);
      await desk.create("accepted", { maxCreates: 1 });
      expect(await read(newDesk(), 1)).toEqual({ kind: "admitted", usedReads: 1 });
    });
  });
}
