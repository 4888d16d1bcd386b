/** Several processes on one ledger, killed ones among them. */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createHolderId, isHolderGone } from "../../src/holder.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { NO_TASK_YET } from "../../src/ledger/lifecycle.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { createLimits, type Limits } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { scratchFolder } from "../support/scratch.ts";
import { aRecord } from "./a-record.ts";
import { Child } from "./child.ts";
import type { Job } from "./worker.ts";

const log = createLog("silent", (text) => text);
/** Coarse enough that a busy machine does not take a process that is merely slow for a dead one. */
const TIME_SCALE = 0.03;
const WINDOW_MS = 1800;

type Place = Pick<Job, "stateDir" | "storeUrl">;

function processesSuite(name: string, newPlace: () => Promise<Place>): void {
  describe(`several processes on ${name}`, () => {
    const four = (place: Place, job: Partial<Job> & Pick<Job, "job">): Child[] =>
      ["a", "b", "c", "d"].map((letter) => new Child({ ...place, name: letter, ...job }));

    async function openHere(place: Place): Promise<{ ledger: Ledger; limits: Limits }> {
      const ledger = await openLedger({
        config: place,
        address: { baseUrl: "https://service.example", apiKey: "sk-test" },
        holder: createHolderId(),
        log,
        clock: systemClock,
      });
      const limits = createLimits({
        ledger,
        clock: systemClock,
        log,
        timeScale: TIME_SCALE,
        creditBudget: null,
      });
      onTestFinished(async () => {
        await limits.close();
        await ledger.store.close();
      });
      return { ledger, limits };
    }

    it("keep within the service's limits together, and use them", async () => {
      const children = four(await newPlace(), { job: "create", count: 4 });
      await Promise.all(children.map((child) => child.ended()));
      expect(children.map(({ noise }) => noise).join("")).toBe("");
      const tasks = children.flatMap(({ facts }) => facts);
      expect(tasks.map(({ created }) => created).sort()).toHaveLength(16);
      const arrivals = tasks.map(({ arrivedAtMs = 0 }) => arrivedAtMs).sort((a, b) => a - b);
      const spans = arrivals.slice(6).map((atMs, at) => atMs - (arrivals[at] ?? 0));
      expect(Math.min(...spans)).toBeGreaterThanOrEqual(WINDOW_MS);
      for (const { arrivedAtMs = 0 } of tasks) {
        const meanwhile = tasks.filter(
          (other) => (other.arrivedAtMs ?? 0) <= arrivedAtMs && (other.endedAtMs ?? 0) > arrivedAtMs,
        );
        expect(meanwhile.length).toBeLessThanOrEqual(2);
      }
    });

    it("create exactly what a budget allows", async () => {
      const children = four(await newPlace(), { job: "create", creditBudget: 450 });
      await Promise.all(children.map((child) => child.ended()));
      const facts = children.flatMap((child) => child.facts);
      expect(facts.filter(({ created }) => created !== undefined)).toHaveLength(3);
      expect(facts.filter(({ refused }) => refused === "budget_exceeded")).toHaveLength(1);
    });

    it("lose no acknowledged write, also when they are killed", async () => {
      const place = await newPlace();
      const children = four(place, { job: "write", count: 10_000 });
      await Promise.all(children.map((child) => child.told(40)));
      await Promise.all(children.map((child) => child.kill()));
      expect(children.map(({ noise }) => noise).join("")).toBe("");
      const written = children.flatMap(({ facts }) => facts.map((fact) => fact.written ?? ""));
      expect(written.length).toBeGreaterThanOrEqual(160);
      const { ledger } = await openHere(place);
      const records = await Promise.all(written.map((recordId) => ledger.get(recordId)));
      expect(records.map((record) => record?.recordId)).toEqual(written);
      // Listed by its columns, which were written with it.
      const listed = await ledger.list({ accounts: "own", limit: 100_000 });
      expect(listed.map(({ recordId }) => recordId)).toEqual(expect.arrayContaining(written));
    });

    it("are not held up by one that was killed before its answer came", async () => {
      const place = await newPlace();
      const children = [
        new Child({ ...place, job: "hang" }),
        new Child({ ...place, job: "hang", name: "b" }),
      ];
      await Promise.all(children.map((child) => child.told(1)));
      const { ledger, limits } = await openHere(place);
      const { origin, accountId } = ledger.identity;
      const names = { recordId: "mine", workId: "my work", origin, accountId };
      const { record } = await ledger.claim(aRecord({ ...NO_TASK_YET, ...names, revision: 0 }));
      // Both places are held by living processes, for longer than a dead one's would last.
      const tooEarly = AbortSignal.timeout(1400);
      const waiting: string[] = [];
      const ask = (signal: AbortSignal) =>
        limits.admitCreate({ record, signal, onWaiting: (reason) => waiting.push(reason) });
      await expect(ask(tooEarly)).rejects.toMatchObject({ name: "TimeoutError" });
      expect(waiting[0]).toBe("in_flight");
      await children[0]?.kill();
      await ask(AbortSignal.timeout(10_000));
    });

    it("end although something is pending", async () => {
      const child = new Child({ ...(await newPlace()), job: "idle" });
      await child.told(1);
      await child.ended();
      expect(child.facts).toHaveLength(1);
    });
  });
}

processesSuite("SQLite", async () => ({ stateDir: scratchFolder(), storeUrl: null }));

describe("a holder", () => {
  it("is told dead only when its process certainly is", async () => {
    const own = createHolderId();
    expect(isHolderGone(own)).toBe(false);
    expect(createHolderId()).not.toBe(own);
    const [place, , random] = own.split(".");
    // Above every process number that Linux, macOS or Windows gives in practice.
    expect(isHolderGone(`${place}.4194999.${random}`)).toBe(true);
    expect(isHolderGone(`0123456789abcdef.4194999.${random}`)).toBe(false);
    expect(isHolderGone(`${place}.1.${random}`)).toBe(false);
    for (const strange of ["", "a", `${place}.0.${random}`, `${place}.-1.${random}`]) {
      expect(isHolderGone(strange)).toBe(false);
    }
  });
});
