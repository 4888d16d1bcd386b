/** Tests of narrations for every store: the plan is stored once; compare and set of the state, the lease, the list. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { LEASE_MS, type StoreFixture, type StoreSetup } from "./store-setup.ts";

const newNarration = (createdAtMs = 1) => ({
  narrationId: `nar_${randomUUID()}`,
  plan: '{"parts":["One, 世界.","Two."]}',
  state: "planned",
  createdAtMs,
});

export function narrationsSuite(fixture: () => StoreFixture, newSetup: () => StoreSetup): void {
  describe("a narration", () => {
    it("keeps its first plan, however often it is begun", async () => {
      const { narrations } = newSetup().store();
      const narration = newNarration();
      const { narrationId, plan } = narration;
      expect(await narrations.read(narrationId)).toBeUndefined();
      expect(await narrations.getPlan(narrationId)).toBeUndefined();
      await narrations.insert(narration);
      await narrations.insert({ ...narration, plan: "another", state: "another" });
      expect(await narrations.getPlan(narrationId)).toBe(plan);
      expect(await narrations.read(narrationId)).toEqual({
        narrationId,
        revision: 1,
        state: "planned",
        leaseOwner: null,
        mcpTasks: [],
      });
    });

    it("changes its state only over the revision that is expected", async () => {
      const { narrations } = newSetup().store();
      const { narrationId, ...rest } = newNarration();
      await narrations.insert({ narrationId, ...rest });
      expect(await narrations.write(narrationId, 1, "running")).toBe(true);
      expect(await narrations.write(narrationId, 1, "late")).toBe(false);
      expect(await narrations.read(narrationId)).toMatchObject({ revision: 2, state: "running" });
      expect(await narrations.write("nar_none", 1, "running")).toBe(false);
    });

    it("has one driver at a time, until that releases its lease, dies or sends no heartbeat", async () => {
      const setup = newSetup();
      const one = setup.store("one").narrations;
      const other = setup.store("other").narrations;
      const narration = newNarration();
      const claim = { narrationId: narration.narrationId, leaseTtlMs: LEASE_MS };
      expect(await one.acquireLease(claim)).toBeNull();
      await one.insert(narration);
      expect(await one.acquireLease(claim)).toBe("one");
      expect(await other.acquireLease(claim)).toBe("one");
      expect((await other.read(claim.narrationId))?.leaseOwner).toBe("one");
      await other.releaseLease(claim.narrationId);
      expect(await other.acquireLease({ ...claim, deadOwner: "one" })).toBe("other");
      expect(await one.acquireLease(claim)).toBe("other");
      await other.releaseLease(claim.narrationId);
      expect(await one.acquireLease(claim)).toBe("one");
      fixture().advance(LEASE_MS - 1000);
      expect(await one.acquireLease(claim)).toBe("one");
      fixture().advance(LEASE_MS - 1000);
      expect(await other.acquireLease(claim)).toBe("one");
      fixture().advance(2000);
      expect((await other.read(claim.narrationId))?.leaseOwner).toBeNull();
      expect(await other.acquireLease(claim)).toBe("other");
    });

    it("keeps a lease from before a restart of the clock for one more duration, not forever", async () => {
      const setup = newSetup();
      const narration = newNarration();
      const claim = { narrationId: narration.narrationId, leaseTtlMs: LEASE_MS };
      await setup.store("one").narrations.insert(narration);
      await setup.store("one").narrations.acquireLease(claim);
      fixture().putBack();
      expect(await setup.store("other").narrations.acquireLease(claim)).toBe("one");
      fixture().advance(LEASE_MS + 1000);
      expect(await setup.store("other").narrations.acquireLease(claim)).toBe("other");
    });

    it("is listed, newest first, only for its own service", async () => {
      const setup = newSetup();
      const { narrations } = setup.store();
      const all = [newNarration(10), newNarration(30), newNarration(20)];
      for (const narration of all) await narrations.insert(narration);
      await newSetup().store().narrations.insert(newNarration(40));
      const [first, second, third] = all.map(({ narrationId }) => narrationId);
      const newest = async (limit: number): Promise<string[]> =>
        (await narrations.listNewest(limit)).map(({ narrationId }) => narrationId);
      expect(await newest(10)).toEqual([second, third, first]);
      expect(await newest(1)).toEqual([second]);
    });
  });
}
