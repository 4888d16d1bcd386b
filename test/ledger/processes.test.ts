/** Several processes on one ledger, some of them killed. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { sumSpentCredits } from "../../src/ledger/bills.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { acquireRequest } from "../../src/ledger/request-rows.ts";
import type { RequestRow } from "../../src/ledger/schema.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId, isProcessDead } from "../../src/process-id.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { scratchFolder } from "../support/scratch.ts";
import { skipBecause } from "../support/skip-because.ts";
import { Child } from "./child.ts";
import { ask, place } from "./place-request.ts";
import type { Job } from "./worker.ts";

const log = createLog("silent", (text) => text);
/** At this time scale, a lease is long enough that a slow process on a busy machine does not count as dead. */
const TIME_SCALE = 0.03;

/** Number of processes that are started and killed at the same time. */
const AT_ONCE = 4;
const DAY_MS = 24 * 60 * 60_000;

type StorageSettings = Pick<Job, "stateDir" | "storeUrl">;

interface StorageFactory {
  /** Returns the settings of a new, empty ledger. */
  newStorage(): Promise<StorageSettings>;
  /** Stops the database while it is in use, and starts it again. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

async function openPostgresFactory(): Promise<StorageFactory> {
  const server = await PostgresServer.start();
  return {
    newStorage: async () => ({ stateDir: scratchFolder(), storeUrl: await server.newDatabase() }),
    crash: async () => {
      await server.kill();
      await server.start();
    },
    close: () => server.remove(),
  };
}

const openSqliteFactory = async (): Promise<StorageFactory> => ({
  newStorage: async () => ({ stateDir: scratchFolder(), storeUrl: null }),
  crash: async () => undefined,
  close: async () => undefined,
});

function processesSuite(name: string, openFactory: () => Promise<StorageFactory>): void {
  describe(`several processes on ${name}`, () => {
    let factory: StorageFactory;
    beforeAll(async () => {
      factory = await openFactory();
    });
    afterAll(() => factory.close());

    const four = (storage: StorageSettings, job: Partial<Job> & Pick<Job, "job">): Child[] =>
      ["a", "b", "c", "d"].map((letter) => new Child({ ...storage, name: letter, ...job }));

    async function openHere(
      storage: StorageSettings,
      baseUrl = "https://service.example",
      creditBudget: number | null = null,
    ): Promise<Ledger> {
      const ledger = await openLedger({
        config: { ...storage, timeScale: TIME_SCALE, creditBudget },
        serviceAccess: { baseUrl, apiKey: "sk-test" },
        processId: createProcessId(),
        log,
        clock: systemClock,
      });
      onTestFinished(() => ledger.database.close());
      return ledger;
    }

    const spentCredits = (ledger: Ledger): Promise<number> =>
      ledger.database.run((db) => sumSpentCredits(db, ledger, systemClock.wallMs() - DAY_MS));

    it("lose no acknowledged write or admission, even when they are killed", async () => {
      const storage = await factory.newStorage();
      const children = four(storage, { job: "load", count: 10_000 });
      await Promise.all(children.map((child) => child.reported(30)));
      await children[0]?.kill();
      await factory.crash();
      await Promise.all(children.slice(1).map((child) => child.reported(90)));
      await Promise.all(children.map((child) => child.kill()));
      expect(children.map(({ noise }) => noise).join("")).toBe("");
      const facts = children.flatMap((child) => child.facts);
      const written = facts.flatMap((fact) => fact.written ?? []);
      const admitted = facts.flatMap((fact) => fact.admitted ?? []);
      expect(admitted.length).toBeGreaterThanOrEqual(120);
      const ledger = await openHere(storage);
      const rows = await ledger.database.run((db) =>
        db.selectFrom("agm_current_attempt").select(["id", "status", "spent"]).execute(),
      );
      const stored = new Map(rows.map((row) => [row.id, row]));
      expect(written.filter((id) => !stored.has(id))).toEqual([]);
      expect(admitted.filter((id) => stored.get(id)?.status !== "unresolved")).toEqual([]);
      // No transaction was applied partly: what is spent is what was admitted, including admissions that were never
      // acknowledged.
      const sent = rows.filter(({ status }) => status === "unresolved");
      expect(await spentCredits(ledger)).toBe(sent.length * 150);
      expect(rows.filter(({ spent }) => spent > 0)).toHaveLength(sent.length);
      const gates = await ledger.database.run((db) => db.selectFrom("agm_gate").select("sends").execute());
      const stamped = gates.filter(({ sends }) => sends !== "[]");
      expect(stamped).toHaveLength(sent.length);
    }, 120_000);

    it("leave rate slot, concurrency slot and credits to the next, at whichever step of an admission they are killed", async () => {
      const storage = await factory.newStorage();
      const baseUrl = "https://whole.example";
      await fillAccount(await openHere(storage, baseUrl));
      const whole = new Child({ ...storage, job: "step", baseUrl, timeScale: 1 });
      await whole.ended();
      expect(whole.noise).toBe("");
      const steps = whole.facts[0]?.steps ?? 0;
      expect(steps).toBeGreaterThan(8);
      const each = Array.from({ length: steps }, (_, at) => at + 1).values();
      const left: unknown[] = [];
      const walk = async (): Promise<void> => {
        for (const step of each) left[step - 1] = await leftAfter(storage, step);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, walk));
      expect(left).toEqual([...Array.from({ length: steps - 1 }, () => "waiting"), "unresolved"]);
    }, 120_000);

    /** Leaves room for two submissions and for one task: of the same account, four were sent and one task runs. */
    async function fillAccount(ledger: Ledger): Promise<void> {
      await place(ledger, "runs", { status: "queued", task_id: "runs", is_paid: 0 }, false);
      await ledger.database.tx(async (tx) => {
        const { nowSteadyMs, id } = await ledger.database.lockGate(tx, ledger.identity.apiKeyId);
        const sends = Array.from({ length: 4 }, (_, at) => ({ id: `sent ${at}`, atSteadyMs: nowSteadyMs }));
        const filled = { sends: JSON.stringify(sends) };
        await tx.updateTable("agm_gate").set(filled).where("id", "=", id).execute();
        await tx
          .updateTable("agm_attempt")
          .set({ sent_steady_ms: nowSteadyMs })
          .where("task_id", "=", "runs")
          .execute();
      });
    }

    /**
     * Kills a process after a step of its admission. Lets the process of this test continue the work at once. Returns
     * the status in which the killed process left the request.
     */
    async function leftAfter(storage: StorageSettings, step: number): Promise<string | undefined> {
      const baseUrl = `https://step-${step}.example`;
      const ledger = await openHere(storage, baseUrl, 150);
      await fillAccount(ledger);
      const job = { job: "step", baseUrl, diesAfter: step, timeScale: 1 } as const;
      const killTarget = new Child({ ...storage, ...job });
      await killTarget.ended();
      expect(killTarget.facts).toEqual([]);
      const slow = { ...ledger, timeScale: 1 };
      const found = await findOnly(ledger, "a-0");
      const next = await place(slow, "next");
      if (found.status === "unresolved") {
        // The submission may have been sent. Its concurrency slot stays reserved for the repeat, which any process may
        // send.
        expect(await ask(slow, next)).toMatchObject({ kind: "over_budget" });
        expect(await acquireRequest(slow, found.id)).toMatchObject({ isMine: true });
        expect(await ask(slow, found, "again", true)).toMatchObject({ kind: "admitted" });
      } else expect(await ask(slow, next)).toMatchObject({ kind: "admitted" });
      expect(await spentCredits(ledger)).toBe(150);
      const third = await place(slow, "third");
      const unlimited = { ...slow, creditBudget: null };
      const reason = found.status === "unresolved" ? "rate" : "concurrency";
      expect(await ask(unlimited, third)).toMatchObject({ kind: "hold", reason });
      return found.status;
    }

    const findOnly = (ledger: Ledger, text: string): Promise<RequestRow> =>
      ledger.database.run((db) =>
        db
          .selectFrom("agm_current_attempt")
          .selectAll()
          .where("fingerprint", "=", text)
          .where("base_url", "=", ledger.identity.baseUrl)
          .executeTakeFirstOrThrow(),
      );
  });
}

processesSuite("SQLite", openSqliteFactory);
describe("with PostgreSQL", skipBecause(whyNoPostgres()), () => {
  processesSuite("PostgreSQL", openPostgresFactory);
});

it("a lease owner counts as dead only when its process certainly is", async () => {
  const own = createProcessId();
  expect(isProcessDead(own)).toBe(false);
  expect(createProcessId()).not.toBe(own);
  const [machine, , random] = own.split(".");
  // In practice, no process of Linux, macOS or Windows has an id as large as 4194999.
  expect(isProcessDead(`${machine}.4194999.${random}`)).toBe(true);
  expect(isProcessDead(`0123456789abcdef.4194999.${random}`)).toBe(false);
  expect(isProcessDead(`${machine}.1.${random}`)).toBe(false);
  for (const strange of ["", "a", `${machine}.0.${random}`, `${machine}.-1.${random}`]) {
    expect(isProcessDead(strange)).toBe(false);
  }
});
