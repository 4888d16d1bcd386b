/**
 * What every store must do for the budget: the spend in the records is counted exactly, and for no longer than
 * necessary.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskRecord } from "../../../src/ledger/record.ts";
import { DAY_MS, type Desk, HOUR_MS, MINUTE_MS, reasonOf, type StoreBench } from "./desk.ts";

export function budgetSuite(bench: () => StoreBench, newDesk: () => Desk): void {
  const budget = { credits: 450, windowMs: DAY_MS };
  const one = { budget: { credits: 150, windowMs: DAY_MS } };
  const spent = (desk: Desk): Promise<number> => desk.store().admissions.sumSpentCredits(DAY_MS);

  describe("the budget", () => {
    it("counts reservations and charges, exactly", async () => {
      const desk = newDesk();
      const first = await desk.create("accepted", { budget });
      await desk.create("accepted", { budget });
      await desk.create("accepted", { budget });
      expect((await desk.ask({ budget })).admission).toEqual({ kind: "over_budget", countedCredits: 450 });
      await desk.end(first, 12);
      expect(await spent(desk)).toBe(312);
      await desk.create("accepted", { budget: { ...budget, credits: 462 } });
      expect(await spent(desk)).toBe(462);
    });

    it("returns refused reservations and keeps unanswered ones for a day", async () => {
      const desk = newDesk();
      await desk.create("refused", one);
      await desk.create("unsent", one);
      const record = await desk.create("unanswered", one);
      expect(reasonOf(await desk.ask(one))).toBe("over_budget");
      // The reservation of a create does not count against its own repeat.
      await desk.create("unanswered", one, { record });
      expect(await spent(desk)).toBe(150);
      bench().advance(DAY_MS - MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("over_budget");
      // The sum of a quarter of an hour expires as a whole.
      bench().advance(16 * MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("moves a spend with its date, and removes it with its record", async () => {
      const desk = newDesk();
      const atMs = bench().wallMs();
      const record = await desk.put(desk.record({ spend: { credits: 40, atMs: atMs - 23 * HOUR_MS } }));
      await desk.put(desk.record({ spend: { credits: 5, atMs } }));
      expect(await spent(desk)).toBe(45);
      const moved = await desk.change(record, { spend: { credits: 30, atMs: atMs - HOUR_MS } });
      expect(await spent(desk)).toBe(35);
      bench().advance(2 * HOUR_MS);
      expect(await spent(desk)).toBe(35);
      await desk.remove(moved);
      expect(await spent(desk)).toBe(5);
    });

    it("counts future dates, and does not count those long past", async () => {
      const desk = newDesk();
      const atMs = bench().wallMs();
      await desk.put(desk.record({ spend: { credits: 1, atMs: atMs + 3 * DAY_MS } }));
      await desk.put(desk.record({ spend: { credits: 2, atMs: atMs - 2 * DAY_MS } }));
      expect(await spent(desk)).toBe(1);
    });

    it("counts nothing twice when another write wins", async () => {
      const desk = newDesk();
      const record = await desk.create("accepted");
      await desk.change(record, { spend: { credits: 20, atMs: bench().wallMs() } });
      const late = await desk.write(record, { spend: { credits: 99, atMs: bench().wallMs() } });
      expect(late.written).toBe(false);
      expect(await spent(desk)).toBe(20);
    });

    it("is never exceeded by simultaneous requests", async () => {
      const desk = newDesk();
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, at) => desk.ask({ budget }, { processId: `holder ${at % 3}` })),
      );
      expect(answers.filter((answer) => reasonOf(answer) === "admitted")).toHaveLength(3);
      expect(await spent(desk)).toBe(450);
    });

    it("counts every API key of the origin, and no other origin", async () => {
      const desk = newDesk();
      await desk.create("accepted", one);
      expect(reasonOf(await desk.neighbour().ask(one))).toBe("over_budget");
      expect(reasonOf(await newDesk().ask(one))).toBe("admitted");
    });

    it("remains after a damaged row is deleted, and after copies are set aside", async () => {
      const desk = newDesk();
      const { keyId, recordId } = await desk.create("accepted", one);
      await desk.store().documents.set(`set-aside:${recordId}:1`, "what was left of it");
      await desk.store().discard({ keyId, recordId });
      expect(reasonOf(await desk.ask(one))).toBe("over_budget");
      expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      expect(await desk.store().documents.get(`set-aside:${recordId}:1`)).toBe("what was left of it");
    });
  });

  describe("a task that records of two keys name", () => {
    const task = { status: "queued", taskId: "shared" } as const;

    it("counts once, by the record that knows its end", async () => {
      const desk = newDesk();
      const neighbour = desk.neighbour();
      const reserved = { ...task, spend: { credits: 150, atMs: bench().wallMs() } };
      const theirs = await neighbour.put(neighbour.record(reserved));
      bench().advance(HOUR_MS);
      const ours = await desk.put(desk.record(reserved));
      expect(await spent(desk)).toBe(150);
      const ended = await desk.end(ours, 12);
      expect(await spent(desk)).toBe(12);
      await neighbour.change(theirs, { status: "processing" });
      expect(await spent(desk)).toBe(12);
      await desk.change(ended, { fileName: "story" });
      expect(reasonOf(await desk.ask({ budget: { credits: 162, windowMs: DAY_MS } }))).toBe("admitted");
    });

    it("counts 0 once one of them knows that it failed", async () => {
      const desk = newDesk();
      const neighbour = desk.neighbour();
      const reserved = { ...task, spend: { credits: 150, atMs: bench().wallMs() } };
      await neighbour.put(neighbour.record(reserved));
      await desk.end(await desk.put(desk.record(reserved)), 0);
      expect(await spent(desk)).toBe(0);
    });

    it("counts once, also where both keys write at the same moment", async () => {
      const desk = newDesk();
      const neighbour = desk.neighbour();
      for (let tasks = 1; tasks <= 40; tasks += 1) {
        const reserved = {
          status: "queued",
          taskId: `task-${tasks}`,
          spend: { credits: 150, atMs: bench().wallMs() },
        } as const;
        const [ours, theirs] = await Promise.all([
          desk.put(desk.record(reserved)),
          neighbour.put(neighbour.record(reserved)),
        ]);
        await Promise.all([desk.end(ours, 10), neighbour.end(theirs, 10)]);
        expect(await spent(desk)).toBe(10 * tasks);
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
        fc.asyncProperty(changes, async (course) => {
          const first = newDesk();
          const desks = [first, first.neighbour(), first.neighbour()];
          const records = new Map<number, TaskRecord>();
          for (const step of course) {
            const desk = desks[step.key];
            const known = records.get(step.key);
            if (desk === undefined) continue;
            if ("isRemoved" in step) {
              if (known === undefined) continue;
              await desk.remove(known);
              records.delete(step.key);
            } else {
              const { status, taskId } = step;
              const spend =
                step.spend === null
                  ? null
                  : { credits: step.spend.credits, atMs: bench().wallMs() - step.spend.agoMs };
              const changed = { status, taskId, spend };
              records.set(
                step.key,
                known === undefined
                  ? await desk.put(desk.record(changed))
                  : await desk.change(known, changed),
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
 * Computed from the records alone: a record without a task counts by itself; of a task, an end replaces a
 * reservation.
 */
function counted(records: readonly TaskRecord[]): number {
  const creditsOf = (some: readonly TaskRecord[]): number[] => some.map(({ spend }) => spend?.credits ?? 0);
  const alone = creditsOf(records.filter(({ taskId }) => taskId === null));
  const shared = ["one", "other"].map((id) => {
    const all = records.filter(({ taskId }) => taskId === id);
    const ended = all.filter(({ status }) => status === "succeeded" || status === "failed");
    return Math.max(0, ...creditsOf(ended.length > 0 ? ended : all));
  });
  return [...alone, ...shared].reduce((sum, credits) => sum + credits, 0);
}
