/**
 * Tests of the budget for every store: the spend in the records is counted exactly, and for no longer than necessary.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../../../src/ledger/record.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, reasonOf, type StoreFixture, type StoreSetup } from "./store-setup.ts";

export function budgetSuite(fixture: () => StoreFixture, newSetup: () => StoreSetup): void {
  const budget = { credits: 450, windowMs: DAY_MS };
  const one = { budget: { credits: 150, windowMs: DAY_MS } };
  const spent = (setup: StoreSetup): Promise<number> => setup.store().admissions.sumSpentCredits(DAY_MS);

  describe("the budget", () => {
    it("counts reservations and charges, exactly", async () => {
      const setup = newSetup();
      const first = await setup.create("accepted", { budget });
      await setup.create("accepted", { budget });
      await setup.create("accepted", { budget });
      expect((await setup.ask({ budget })).admission).toEqual({
        kind: "over_budget",
        spentInWindowCredits: 450,
      });
      await setup.end(first, 12);
      expect(await spent(setup)).toBe(312);
      await setup.create("accepted", { budget: { ...budget, credits: 462 } });
      expect(await spent(setup)).toBe(462);
    });

    it("returns refused reservations and keeps unresolved ones for a day", async () => {
      const setup = newSetup();
      await setup.create("refused", one);
      await setup.create("unsent", one);
      const record = await setup.create("unresolved", one);
      expect(reasonOf(await setup.ask(one))).toBe("over_budget");
      // The reservation of a submission does not count against its own repeat.
      await setup.create("unresolved", one, { record });
      expect(await spent(setup)).toBe(150);
      fixture().advance(DAY_MS - MINUTE_MS);
      expect(reasonOf(await setup.ask(one))).toBe("over_budget");
      // The sum of a quarter of an hour expires as a whole.
      fixture().advance(16 * MINUTE_MS);
      expect(reasonOf(await setup.ask(one))).toBe("admitted");
    });

    it("moves a spend with its date, and removes it with its record", async () => {
      const setup = newSetup();
      const atMs = fixture().wallMs();
      const record = await setup.put(setup.record({ spend: { credits: 40, atMs: atMs - 23 * HOUR_MS } }));
      await setup.put(setup.record({ spend: { credits: 5, atMs } }));
      expect(await spent(setup)).toBe(45);
      const moved = await setup.change(record, { spend: { credits: 30, atMs: atMs - HOUR_MS } });
      expect(await spent(setup)).toBe(35);
      fixture().advance(2 * HOUR_MS);
      expect(await spent(setup)).toBe(35);
      await setup.remove(moved);
      expect(await spent(setup)).toBe(5);
    });

    it("counts future dates, and does not count those long past", async () => {
      const setup = newSetup();
      const atMs = fixture().wallMs();
      await setup.put(setup.record({ spend: { credits: 1, atMs: atMs + 3 * DAY_MS } }));
      await setup.put(setup.record({ spend: { credits: 2, atMs: atMs - 2 * DAY_MS } }));
      expect(await spent(setup)).toBe(1);
    });

    it("counts nothing twice when another write wins", async () => {
      const setup = newSetup();
      const record = await setup.create("accepted");
      await setup.change(record, { spend: { credits: 20, atMs: fixture().wallMs() } });
      const late = await setup.write(record, { spend: { credits: 99, atMs: fixture().wallMs() } });
      expect(late.isWritten).toBe(false);
      expect(await spent(setup)).toBe(20);
    });

    it("is never exceeded by simultaneous requests", async () => {
      const setup = newSetup();
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, at) => setup.ask({ budget }, { processId: `holder ${at % 3}` })),
      );
      expect(answers.filter((answer) => reasonOf(answer) === "admitted")).toHaveLength(3);
      expect(await spent(setup)).toBe(450);
    });

    it("counts every API key of the service, and no other service", async () => {
      const setup = newSetup();
      await setup.create("accepted", one);
      expect(reasonOf(await setup.withOtherKey().ask(one))).toBe("over_budget");
      expect(reasonOf(await newSetup().ask(one))).toBe("admitted");
    });

    it("remains after a damaged row is deleted, and after copies are set aside", async () => {
      const setup = newSetup();
      const { apiKeyId, recordId } = await setup.create("accepted", one);
      await setup.store().documents.set(`set-aside:${recordId}:1`, "what was left of it");
      await setup.store().discard({ apiKeyId, recordId });
      expect(reasonOf(await setup.ask(one))).toBe("over_budget");
      expect(reasonOf(await setup.ask({ maxConcurrentTasks: 1 }))).toBe("admitted");
      expect(await setup.store().documents.get(`set-aside:${recordId}:1`)).toBe("what was left of it");
    });
  });

  describe("a task that records of two keys name", () => {
    const task = { status: "queued", taskId: "shared" } as const;

    it("counts once, by the record that knows its end", async () => {
      const setup = newSetup();
      const withOtherKey = setup.withOtherKey();
      const reserved = { ...task, spend: { credits: 150, atMs: fixture().wallMs() } };
      const theirs = await withOtherKey.put(withOtherKey.record(reserved));
      fixture().advance(HOUR_MS);
      const ours = await setup.put(setup.record(reserved));
      expect(await spent(setup)).toBe(150);
      const ended = await setup.end(ours, 12);
      expect(await spent(setup)).toBe(12);
      await withOtherKey.change(theirs, { status: "processing" });
      expect(await spent(setup)).toBe(12);
      await setup.change(ended, { fileName: "story" });
      expect(reasonOf(await setup.ask({ budget: { credits: 162, windowMs: DAY_MS } }))).toBe("admitted");
    });

    it("counts 0 once one of them knows that it failed", async () => {
      const setup = newSetup();
      const withOtherKey = setup.withOtherKey();
      const reserved = { ...task, spend: { credits: 150, atMs: fixture().wallMs() } };
      await withOtherKey.put(withOtherKey.record(reserved));
      await setup.end(await setup.put(setup.record(reserved)), 0);
      expect(await spent(setup)).toBe(0);
    });

    it("counts once, also where both keys write at the same moment", async () => {
      const setup = newSetup();
      const withOtherKey = setup.withOtherKey();
      for (let tasks = 1; tasks <= 40; tasks += 1) {
        const reserved = {
          status: "queued",
          taskId: `task-${tasks}`,
          spend: { credits: 150, atMs: fixture().wallMs() },
        } as const;
        const [ours, theirs] = await Promise.all([
          setup.put(setup.record(reserved)),
          withOtherKey.put(withOtherKey.record(reserved)),
        ]);
        await Promise.all([setup.end(ours, 10), withOtherKey.end(theirs, 10)]);
        expect(await spent(setup)).toBe(10 * tasks);
      }
    });

    it("is summed exactly, in any order of writes", async () => {
      const written = fc.record({
        key: fc.nat(2),
        status: fc.constantFrom("unresolved", "processing", "succeeded", "failed"),
        taskId: fc.constantFrom(null, "one", "other"),
        spend: fc.constantFrom(
          null,
          ...[1, 20, 150].flatMap((credits) => [0, HOUR_MS].map((agoMs) => ({ credits, agoMs }))),
        ),
      });
      const change = fc.oneof(
        { weight: 5, arbitrary: written },
        fc.record({ key: fc.nat(2), isRemoved: fc.constant(true) }),
      );
      const changes = fc.array(change, { size: "max", maxLength: 30 });
      await fc.assert(
        fc.asyncProperty(changes, async (steps) => {
          const first = newSetup();
          const setups = [first, first.withOtherKey(), first.withOtherKey()];
          const records = new Map<number, RequestRecord>();
          for (const step of steps) {
            const setup = setups[step.key];
            const known = records.get(step.key);
            if (setup === undefined) continue;
            if ("isRemoved" in step) {
              if (known === undefined) continue;
              await setup.remove(known);
              records.delete(step.key);
            } else {
              const { status, taskId } = step;
              const spend =
                step.spend === null
                  ? null
                  : { credits: step.spend.credits, atMs: fixture().wallMs() - step.spend.agoMs };
              const changed = { status, taskId, spend };
              records.set(
                step.key,
                known === undefined
                  ? await setup.put(setup.record(changed))
                  : await setup.change(known, changed),
              );
            }
            expect(await spent(first)).toBe(counted([...records.values()]));
          }
        }),
        { numRuns: 50 },
      );
    });
  });
}

/**
 * Computes the spend from the records alone. A record without a task counts by itself. Records that name the same task
 * count once: by the charge if a record has it, or else by the reservation.
 */
function counted(records: readonly RequestRecord[]): number {
  const creditsOf = (some: readonly RequestRecord[]): number[] =>
    some.map(({ spend }) => spend?.credits ?? 0);
  const alone = creditsOf(records.filter(({ taskId }) => taskId === null));
  const shared = ["one", "other"].map((id) => {
    const all = records.filter(({ taskId }) => taskId === id);
    const ended = all.filter(({ status }) => status === "succeeded" || status === "failed");
    return Math.max(0, ...creditsOf(ended.length > 0 ? ended : all));
  });
  return [...alone, ...shared].reduce((sum, credits) => sum + credits, 0);
}
