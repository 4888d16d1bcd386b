/** Owns the tests of several processes on one store, killed ones among them; the same for SQLite and Redis. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createHolderId, isHolderGone } from "../../src/holder.ts";
import { openStore } from "../../src/ledger/open-store.ts";
import { createLimits, type Limits } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";
import { scratchFolder } from "../support/scratch.ts";
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

    async function openHere(place: Place): Promise<{ limits: Limits; close: () => Promise<void> }> {
      const store = await openStore({ ...place, log, clock: systemClock });
      const limits = createLimits({
        coordinator: store.coordinator,
        clock: systemClock,
        log,
        accountId: "account",
        origin: "https://service.example",
        holder: createHolderId(),
        timeScale: TIME_SCALE,
        creditBudget: null,
      });
      const close = async (): Promise<void> => {
        await limits.close();
        await store.close();
      };
      onTestFinished(close);
      return { limits, close };
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
      const store = await openStore({ ...place, log, clock: systemClock });
      onTestFinished(() => store.close());
      const records = await store.records.getMany(written);
      expect(records.map((record) => record?.recordId)).toEqual(written);
    });

    it("are not held up by one that was killed before its answer came", async () => {
      const place = await newPlace();
      const children = [
        new Child({ ...place, job: "hang" }),
        new Child({ ...place, job: "hang", name: "b" }),
      ];
      await Promise.all(children.map((child) => child.told(1)));
      const { limits } = await openHere(place);
      // Both slots are held by living processes, for longer than a dead one's would last.
      const tooEarly = AbortSignal.timeout(1400);
      const waiting: string[] = [];
      const ask = (signal: AbortSignal) =>
        limits.admitCreate({
          recordId: "mine",
          attempt: 1,
          signal,
          onWaiting: (reason) => waiting.push(reason),
        });
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

describe.skipIf(whyNoRedis() !== undefined)("with a Redis server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  let databases = -1;
  processesSuite("Redis", async () => {
    databases += 1;
    return { stateDir: "/nowhere", storeUrl: `${server.url}/${databases}` };
  });
});

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
