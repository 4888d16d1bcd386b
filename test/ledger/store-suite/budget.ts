/** What every store must do for the budget: what records say they spend is counted, exactly and no longer than it must. */
import { describe, expect, it } from "vitest";
import { DAY_MS, type Desk, HOUR_MS, MINUTE_MS, reasonOf, type StoreBench } from "./desk.ts";

export function budgetSuite(bench: () => StoreBench, newDesk: () => Desk): void {
  const budget = { credits: 450, windowMs: DAY_MS };
  const one = { budget: { credits: 150, windowMs: DAY_MS } };
  const spent = (desk: Desk): Promise<number> => desk.store().spentCredits(DAY_MS);

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

    it("gives refused reservations back and keeps unanswered ones for a day", async () => {
      const desk = newDesk();
      await desk.create("refused", one);
      await desk.create("unsent", one);
      const record = await desk.create("unanswered", one);
      expect(reasonOf(await desk.ask(one))).toBe("over_budget");
      // Its own reservation is no reason against its own repeat.
      await desk.create("unanswered", one, { record });
      expect(await spent(desk)).toBe(150);
      bench().advance(DAY_MS - MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("over_budget");
      // A sum of a quarter of an hour leaves as a whole.
      bench().advance(16 * MINUTE_MS);
      expect(reasonOf(await desk.ask(one))).toBe("admitted");
    });

    it("moves a spend with its date, and takes it back with its record", async () => {
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

    it("counts dates ahead, and does not count what is long past", async () => {
      const desk = newDesk();
      const atMs = bench().wallMs();
      await desk.put(desk.record({ spend: { credits: 1, atMs: atMs + 3 * DAY_MS } }));
      await desk.put(desk.record({ spend: { credits: 2, atMs: atMs - 2 * DAY_MS } }));
      expect(await spent(desk)).toBe(1);
    });

    it("counts nothing twice when a write is lost to another", async () => {
      const desk = newDesk();
      const record = await desk.create("accepted");
      await desk.change(record, { spend: { credits: 20, atMs: bench().wallMs() } });
      const late = await desk.write(record, { spend: { credits: 99, atMs: bench().wallMs() } });
      expect(late.written).toBe(false);
      expect(await spent(desk)).toBe(20);
    });

    it("is never exceeded by requests that come together", async () => {
      const desk = newDesk();
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, at) => desk.ask({ budget }, { holder: `holder ${at % 3}` })),
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

    it("outlives a damaged row that is deleted, and the copies that are set aside", async () => {
      const desk = newDesk();
      const { accountId, recordId } = await desk.create("accepted", one);
      await desk.store().documents.set(`set-aside:${recordId}:1`, "what was left of it");
      await desk.store().discard({ accountId, recordId });
      expect(reasonOf(await desk.ask(one))).toBe("over_budget");
      expect(reasonOf(await desk.ask({ maxInFlight: 1 }))).toBe("admitted");
      expect(await desk.store().documents.get(`set-aside:${recordId}:1`)).toBe("what was left of it");
    });
  });
}
