/** A ledger of version 0.1.0 is taken over whole: records, money, files, places in flight, and what is damaged or newer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { accountId } from "../../src/ledger/identity.ts";
import type { AdmitRequest, LedgerIdentity, LedgerStore } from "../../src/ledger/ledger-store.ts";
import { rowOf, type TaskRecord, taskRecordSchema } from "../../src/ledger/record.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import { createLog } from "../../src/log.ts";
import { HandClock } from "../support/hand-clock.ts";
import { scratchFolder } from "../support/scratch.ts";
import { aRecord } from "./a-record.ts";

const FIXTURE = join(import.meta.dirname, "fixtures", "0.1.0", "ledger.sqlite");
const DAY_MS = 24 * 60 * 60_000;
/** Shortly after the fixture was made, on the clocks of the machine that made it. */
const MADE = { wallMs: 1_795_309_753_000, steadyMs: 3_009_000 };

const oldRecord = z.looseObject({
  recordId: z.string(),
  origin: z.string(),
  fingerprint: z.string(),
  input: z.string().nullable(),
});
const valueRow = z.object({ value: z.string() });
const envelope = z.object({ value: z.unknown() });
const [{ origin, fingerprint }] = z.tuple([oldRecord], z.unknown()).parse(oldRecords());

/** As 0.1.0 wrote them, straight from the file; those of the key with most of them first. */
function oldRecords(): z.infer<typeof oldRecord>[] {
  // A copy: SQLite puts files of its own beside what it reads.
  const folder = mkdtempSync(join(tmpdir(), "agm-fixture-"));
  copyFileSync(FIXTURE, join(folder, "ledger.sqlite"));
  const db = new DatabaseSync(join(folder, "ledger.sqlite"));
  const rows = valueRow.array().parse(db.prepare("SELECT value FROM kv").all());
  db.close();
  rmSync(folder, { recursive: true });
  const records = rows.map(({ value }) => oldRecord.parse(envelope.parse(JSON.parse(value)).value));
  const ofSameKey = ({ fingerprint: of }: { fingerprint: string }): number =>
    records.filter((record) => record.fingerprint === of).length;
  return records.sort((a, b) => ofSameKey(b) - ofSameKey(a));
}

interface Opened {
  readonly store: LedgerStore;
  readonly clock: HandClock;
  readonly logged: string[];
  readonly stateDir: string;
}

/** A copy of the fixture, opened by the key that made most of it; `prepare` may change the copy before. */
async function taken(prepare: (db: DatabaseSync) => void = () => {}): Promise<Opened> {
  const stateDir = scratchFolder();
  copyFileSync(FIXTURE, join(stateDir, "ledger.sqlite"));
  const db = new DatabaseSync(join(stateDir, "ledger.sqlite"));
  prepare(db);
  db.close();
  const clock = new HandClock();
  clock.moveWall(MADE.wallMs - clock.wallMs());
  const logged: string[] = [];
  const identity: LedgerIdentity = { origin, accountId: accountId(origin, fingerprint), holder: "h" };
  const log = createLog(
    "info",
    (text) => text,
    (line) => logged.push(line),
  );
  const steady = { ...steadyFrom(clock), wallMs: () => clock.wallMs(), sleep: clock.sleep.bind(clock) };
  const store = openSqliteStore({ stateDir, log, clock: steady, identity });
  onTestFinished(() => store.close());
  return { store, clock, logged, stateDir };
}

/** The steady clock of the machine that made the fixture, going on with the test's. */
function steadyFrom(clock: HandClock): { steadyMs(): number } {
  const startMs = clock.steadyMs();
  return { steadyMs: () => MADE.steadyMs + clock.steadyMs() - startMs };
}

async function recordsOf(store: LedgerStore, accounts: "own" | "all" | "others"): Promise<TaskRecord[]> {
  const found = await store.list({ accounts, limit: 100 });
  return found.map(({ value }) => taskRecordSchema.parse(envelope.parse(JSON.parse(value)).value));
}

const promptOf = ({ input }: Pick<TaskRecord, "input">): string =>
  input === null ? "made elsewhere" : z.looseObject({ prompt: z.string() }).parse(JSON.parse(input)).prompt;

async function byPrompt(store: LedgerStore, prompt: string): Promise<TaskRecord> {
  const record = (await recordsOf(store, "all")).find((one) => promptOf(one) === prompt);
  if (record === undefined) throw new Error(`no record of "${prompt}"`);
  return record;
}

/** Whether one more create is admitted, or what holds it. */
async function ask(
  store: LedgerStore,
  identity: Pick<TaskRecord, "accountId">,
  maxInFlight: number,
): Promise<string> {
  const record = aRecord({
    ...identity,
    origin,
    recordId: `new ${Math.random()}`,
    status: "waiting",
    taskId: null,
  });
  await store.claim({ row: rowOf(record), leaseTtlMs: 60_000 });
  const request: AdmitRequest = {
    after: rowOf({ ...record, status: "unresolved", revision: 2, workId: record.recordId }),
    expectedRevision: 1,
    slotId: record.recordId,
    maxCreates: 100,
    windowMs: 60_000,
    maxInFlight,
    lapseMs: 30_000,
    budget: null,
  };
  const admission = await store.admit(request);
  return admission.kind === "held" ? admission.reason : admission.kind;
}

describe("a ledger of version 0.1.0", () => {
  it("is there with every record, its status and its spend", async () => {
    const { store, logged } = await taken();
    const records = await recordsOf(store, "all");
    expect(
      Object.fromEntries(
        records.map((record) => [
          promptOf(record),
          [record.status, record.attempt, record.spend?.credits ?? 0, record.files.length],
        ]),
      ),
    ).toEqual({
      "of another key": ["succeeded", 1, 10, 1],
      saved: ["succeeded", 1, 10, 1],
      fails: ["failed", 2, 0, 0],
      "made elsewhere": ["succeeded", 1, 0, 1],
      queued: ["queued", 1, 150, 0],
      unresolved: ["unresolved", 1, 150, 0],
      waiting: ["waiting", 1, 0, 0],
    });
    expect(records).toHaveLength(oldRecords().length);
    expect(await store.spentCredits(DAY_MS)).toBe(320);
    expect((await recordsOf(store, "others")).map(promptOf)).toEqual(["of another key"]);
    expect(logged.join("")).toContain("7 records");
    expect(logged.join("")).not.toContain("damaged");
  });

  it("keeps what every record said", async () => {
    const { store } = await taken();
    const records = await recordsOf(store, "all");
    const known = [
      "input",
      "idempotencyKey",
      "taskId",
      "billing",
      "files",
      "createdAtMs",
      "sentAtMs",
      "workId",
    ];
    for (const old of oldRecords()) {
      const now = records.find(({ workId }) => workId === old["workId"]);
      for (const field of known) expect(now).toHaveProperty(field, old[field]);
    }
  });

  it("is found by work, task and file", async () => {
    const { store } = await taken();
    const saved = await byPrompt(store, "saved");
    const [file] = saved.files;
    const found = [{ accountId: saved.accountId, recordId: saved.recordId, value: rowOf(saved).value }];
    expect(await store.ofWork(saved.workId)).toEqual(found);
    expect(await store.ofTask(saved.taskId ?? "")).toEqual(found);
    expect(await store.ofPath(file?.path ?? "")).toEqual(found);
    const open = await store.list({ accounts: "own", openOnly: true, limit: 9 });
    expect(open.map(({ recordId }) => recordId)).toEqual([(await byPrompt(store, "queued")).recordId]);
  });

  it("has in flight what had a place, until it lapses", async () => {
    const { store, clock } = await taken();
    const own = await byPrompt(store, "queued");
    expect(await ask(store, own, 2)).toBe("in_flight");
    // The process of the unanswered create was last seen when it was killed.
    clock.skip(29_000);
    expect(await ask(store, own, 2)).toBe("in_flight");
    clock.skip(2_000);
    expect(await ask(store, own, 2)).toBe("admitted");
    clock.skip(66 * 60_000);
    expect(await ask(store, own, 1)).toBe("admitted");
  });

  it("counts its creates and reads, and keeps its pauses", async () => {
    const account = accountId(origin, fingerprint);
    const { store, clock } = await taken((db) => {
      db.exec(`INSERT INTO pauses VALUES ('${account}', 'creates', ${MADE.steadyMs - 1000}, 60000)`);
    });
    const own = await byPrompt(store, "queued");
    const reads = { slotId: "r", maxReads: 100, windowMs: 60_000 };
    expect((await store.admitRead(reads)).kind).toBe("admitted");
    expect(await store.admitRead({ ...reads, slotId: "r2", maxReads: 2 })).toMatchObject({ reason: "rate" });
    expect(await ask(store, own, 9)).toBe("paused");
    clock.skip(60_000);
    expect(await ask(store, own, 9)).toBe("admitted");
  });

  it("keeps aside what is damaged, with its money, and leaves what is newer", async () => {
    const damaged = oldRecords().find((record) => record.input?.includes("queued"))?.recordId ?? "";
    const newer = oldRecords().find((record) => record.input?.includes("waiting"))?.recordId ?? "";
    const newerText = JSON.stringify({ value: { version: 9, whatever: true } });
    const { store, logged, stateDir } = await taken((db) => {
      const put = db.prepare("INSERT OR REPLACE INTO kv VALUES (?, ?)");
      put.run(`record:${damaged}`, "{ cut sho");
      put.run(`record:${newer}`, newerText);
      put.run("record:set-aside:before:1", '{"value":"kept"}');
    });
    expect(await store.spentCredits(DAY_MS)).toBe(320);
    expect(logged.join("")).toContain("1 damaged record");
    const found = await store.list({ accounts: "all", status: "waiting", limit: 9 });
    expect(found.map(({ recordId, value }) => [recordId, value])).toEqual([[newer, newerText]]);
    expect(await store.keyv.get("set-aside:before:1")).toBe("kept");
    const db = new DatabaseSync(join(stateDir, "ledger.sqlite"), { readOnly: true });
    const aside = db
      .prepare("SELECT value FROM records WHERE key LIKE ?")
      .all(`record:set-aside:${damaged}:%`);
    db.close();
    expect(aside).toEqual([{ value: JSON.stringify({ value: "{ cut sho" }) }]);
  });

  it("is taken over once by processes that start together, and refused by the old program then", async () => {
    const stateDir = scratchFolder();
    copyFileSync(FIXTURE, join(stateDir, "ledger.sqlite"));
    const at = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const script = `
      const { openSqliteStore } = await import(${at("ledger/sqlite/sqlite-store.ts")});
      const { systemClock: clock } = await import(${at("clock.ts")});
      const { createLog } = await import(${at("log.ts")});
      const identity = { origin: ${JSON.stringify(origin)}, accountId: "a", holder: "h" };
      const log = createLog("info", (text) => text);
      const store = openSqliteStore({ stateDir: ${JSON.stringify(stateDir)}, log, clock, identity });
      console.log((await store.list({ accounts: "all", limit: 100 })).length);`;
    const runs = Array.from({ length: 4 }, async () => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
      let [out, noise] = ["", ""];
      child.stdout.on("data", (data) => {
        out += String(data);
      });
      child.stderr.on("data", (data) => {
        noise += String(data);
      });
      await once(child, "close");
      return { out: out.trim(), noise };
    });
    const told = await Promise.all(runs);
    expect(told.map(({ out }) => out)).toEqual(["7", "7", "7", "7"]);
    expect(told.filter(({ noise }) => noise.includes("was taken over"))).toHaveLength(1);
    const db = new DatabaseSync(join(stateDir, "ledger.sqlite"), { readOnly: true });
    onTestFinished(() => db.close());
    // 0.1.0 refuses a file whose version is above 1.
    expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 2 });
    expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(db.prepare("SELECT name FROM sqlite_master WHERE name = 'kv'").get()).toBeUndefined();
  });
});
