/** The ledger file itself: permissions, versions, damage, locks, size. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { toPathLookupKey, toRequestLookupKey, toTaskLookupKey } from "../../src/ledger/identity.ts";
import { type RequestRecord, requestRecordSchema, toRow } from "../../src/ledger/record.ts";
import { SqliteEngine } from "../../src/ledger/sqlite/sqlite-engine.ts";
import { LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import type { Rows, Statement } from "../../src/ledger/store/sql-engine.ts";
import { failureOf } from "../api/failure.ts";
import { asOrdinaryUser } from "../files/folders.ts";
import { scratchFolder } from "../support/scratch.ts";
import { NOT_LINUX, ON_WINDOWS, skipBecause } from "../support/skip-because.ts";
import { openSqliteStore } from "../support/sqlite-ledger.ts";
import { sampleRecord } from "./sample-record.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

const identity = { baseUrl: sampleRecord().baseUrl, apiKeyId: sampleRecord().apiKeyId, processId: "holder" };

function open(stateDir: string): LedgerStore {
  const store = openSqliteStore({ stateDir, clock: systemClock, identity });
  onTestFinished(() => store.close());
  return store;
}

async function put(store: LedgerStore, record: RequestRecord = sampleRecord()): Promise<void> {
  const { apiKeyId, recordId } = record;
  await store.write({
    apiKeyId,
    recordId,
    expectedRevision: null,
    newRow: toRow(record),
    durability: "survives_power_cut",
  });
}

async function read(store: LedgerStore, recordId = "record-1"): Promise<unknown> {
  const value = await store.get(recordId);
  return value === undefined ? undefined : requestRecordSchema.parse(JSON.parse(value));
}

/** Creates a ledger with one record, and closes it. */
async function written(): Promise<{ stateDir: string; file: string }> {
  const stateDir = scratchFolder();
  const store = open(stateDir);
  await put(store);
  await store.close();
  return { stateDir, file: join(stateDir, "ledger.sqlite") };
}

/** An engine that collects the statements of every `read`. */
class RecordingEngine extends SqliteEngine {
  readonly statements: Statement[] = [];

  override async read(statements: readonly Statement[]): Promise<Rows[]> {
    this.statements.push(...statements);
    return await super.read(statements);
  }
}

/** Calls every method of the store that looks for records. */
async function lookUp(store: LedgerStore): Promise<void> {
  for (const accounts of ["own", "all"] as const) {
    await store.recordSearch.list({ apiKeys: accounts, limit: 20 });
    await store.recordSearch.list({ apiKeys: accounts, limit: 20, mustBeResumable: true });
    await store.recordSearch.list({ apiKeys: accounts, limit: 20, status: "failed" });
    await store.recordSearch.list({ apiKeys: accounts, limit: 20, status: "unresolved" });
  }
  await store.recordSearch.findByLookupKey(toRequestLookupKey("work 500"));
  await store.recordSearch.findByLookupKey(toTaskLookupKey(identity.baseUrl, "task 500"));
  await store.recordSearch.findByLookupKey(toPathLookupKey("/nowhere"));
}

describe("the ledger's folder", () => {
  it("is not accessed before the first use", async () => {
    const stateDir = join(scratchFolder(), "state");
    const store = open(stateDir);
    expect(store.description).toContain(stateDir);
    await store.close();
    expect(statSync(stateDir, { throwIfNoEntry: false })).toBeUndefined();
  });

  it("is accessible to its owner alone, whatever the umask", skipBecause(ON_WINDOWS), async () => {
    const stateDir = join(scratchFolder(), "deep", "state");
    const before = process.umask(0o000);
    onTestFinished(() => void process.umask(before));
    await put(open(stateDir));
    expect(modeOf(stateDir)).toBe(0o700);
    expect(modeOf(join(stateDir, ".."))).toBe(0o700);
    const names = readdirSync(stateDir).sort();
    expect(names).toEqual(["ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal"]);
    for (const name of names) expect([name, modeOf(join(stateDir, name))]).toEqual([name, 0o600]);
  });

  it("is closed to others if it was open", skipBecause(ON_WINDOWS), async () => {
    const { stateDir, file } = await written();
    chmodSync(stateDir, 0o755);
    chmodSync(file, 0o644);
    await open(stateDir).check();
    expect(modeOf(stateDir)).toBe(0o700);
    expect(modeOf(file)).toBe(0o600);
  });

  it("keeps its mode if it contains other files", skipBecause(ON_WINDOWS), async () => {
    const stateDir = scratchFolder();
    writeFileSync(join(stateDir, "something"), "");
    chmodSync(stateDir, 0o755);
    await open(stateDir).check();
    expect(modeOf(stateDir)).toBe(0o755);
    expect(modeOf(join(stateDir, "ledger.sqlite"))).toBe(0o600);
  });

  it("that is not writable is reported, with the path", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "file"), "");
    const stateDir = join(folder, "file", "state");
    const failure = await failureOf(open(stateDir).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain(stateDir);
    expect(failure.remedy).toContain("AUDIO_STATE_DIR");
  });

  it("on a file system without folders fails at once", skipBecause(NOT_LINUX), async () => {
    const failure = await failureOf(open("/proc/audio-generation/state").check());
    expect(failure.code).toBe("store_unavailable");
  });

  it("that is read-only is reported", skipBecause(ON_WINDOWS), async () => {
    const stateDir = scratchFolder();
    chmodSync(stateDir, 0o555);
    const failure = await asOrdinaryUser(() => failureOf(open(stateDir).check()));
    expect(failure.code).toBe("store_unavailable");
  });

  it("that is synchronised causes a warning, and works", async () => {
    const stateDir = join(scratchFolder(), "Dropbox", "state");
    const [warning, ...more] = await open(stateDir).check();
    expect(warning).toContain("Dropbox");
    expect(warning).toContain("AUDIO_STATE_DIR");
    expect(more).toEqual([]);
    expect(await open(scratchFolder()).check()).toEqual([]);
  });

  it("works in the same process once its fault is corrected", async () => {
    const folder = scratchFolder();
    const blocker = join(folder, "state");
    writeFileSync(blocker, "");
    const store = open(blocker);
    await failureOf(store.check());
    rmSync(blocker);
    await put(store);
    expect(await read(store)).toEqual(sampleRecord());
  });

  it("that was deleted during a process is created again, and writes are not lost", async () => {
    const { stateDir, file } = await written();
    const store = open(stateDir);
    expect(await read(store)).toEqual(sampleRecord());
    renameSync(file, `${file}.old`);
    expect(await read(store)).toBeUndefined();
    await put(store, sampleRecord({ recordId: "record-2" }));
    const other = open(stateDir);
    expect(await read(other, "record-2")).toBeDefined();
  });
});

describe("a ledger file", () => {
  it("with another schema version is refused in one sentence, and not changed", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 2");
    db.close();
    const failure = await failureOf(read(open(stateDir)));
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain("another version of this program");
    expect(failure.message).toContain(file);
    expect(failure.remedy).toContain("out of the way");
  });

  it("that lacks a table is reported as damaged, and not changed", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("DROP TABLE agm_lookup_keys");
    db.close();
    const failure = await failureOf(put(open(stateDir), sampleRecord({ recordId: "record-2" })));
    expect(failure.message).toContain("is damaged and was left as it is");
    expect(failure.remedy).toContain("Restore it from a backup");
  });

  it("that is another program's database is refused", async () => {
    const stateDir = scratchFolder();
    const db = new DatabaseSync(join(stateDir, "ledger.sqlite"));
    db.exec("CREATE TABLE theirs (id)");
    db.close();
    const failure = await failureOf(put(open(stateDir)));
    expect(failure.message).toContain("another program");
  });

  const damages: Array<[string, (file: string) => void]> = [
    ["overwritten with text", (file) => writeFileSync(file, "no database at all ".repeat(500))],
    ["cut in half", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
    ["emptied", (file) => truncateSync(file, 0)],
    [
      "overwritten inside",
      (file) => {
        const bytes = readFileSync(file);
        bytes.fill(0xa5, 4096);
        writeFileSync(file, bytes);
      },
    ],
  ];
  it.each(damages)("that was %s is reported as damaged, and not changed", async (_, damage) => {
    const { stateDir, file } = await written();
    damage(file);
    const before = readFileSync(file);
    for (const store of [open(stateDir), open(stateDir)]) {
      const failure = await failureOf(read(store));
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toContain("damaged");
      expect(failure.message).toContain(file);
      expect(failure.remedy).toContain("out of the way");
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("locked by another process is waited for, without blocking this process", async () => {
    const { stateDir, file } = await written();
    const store = open(stateDir);
    await store.check();
    const db = new DatabaseSync(file);
    db.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 20);
    setTimeout(() => db.exec("COMMIT"), 700);
    await put(store, sampleRecord({ recordId: "record-2" }));
    clearInterval(ticking);
    db.close();
    expect(turns).toBeGreaterThan(2);
  });

  it("locked for too long is a retryable error", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("BEGIN IMMEDIATE");
    onTestFinished(() => db.close());
    const failure = await failureOf(open(stateDir).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.retryable).toBe(true);
    expect(failure.message).toContain("locked");
  });

  it("finds records by an index, and never reads all of them", async () => {
    const { stateDir, file } = await written();
    const engine = new RecordingEngine({ stateDir, clock: systemClock });
    const store = new LedgerStore({ engine, identity, machineId: "this", wallMs: systemClock.wallMs });
    onTestFinished(() => store.close());
    await lookUp(store);
    const db = new DatabaseSync(file);
    onTestFinished(() => db.close());
    const steps = engine.statements.flatMap(({ sql, values }) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...values)
        .map(({ detail }) => `${detail}: ${sql}`),
    );
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.filter((step) => step.startsWith("SCAN"))).toEqual([]);
    // A query may sort the records of one lookup key, because there are only a few of them.
    const sorts = steps.filter((step) => step.includes("TEMP B-TREE"));
    expect(sorts.filter((step) => !step.includes("WHERE k.lookup_key = ?"))).toEqual([]);
  });
});

describe("loading SQLite", () => {
  it("prints nothing, and lets other warnings through", () => {
    const loader = new URL("../../src/ledger/sqlite/load-sqlite.ts", import.meta.url).href;
    const script = `
      const { loadSqlite } = await import(${JSON.stringify(loader)});
      loadSqlite();
      process.emitWarning("something else", "ExperimentalWarning");`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    expect(stderr).not.toContain("SQLite");
    expect(stderr).toContain("something else");
  });
});

it("two processes that start together create one whole file", async () => {
  const stateDir = join(scratchFolder(), "state");
  mkdirSync(stateDir);
  const stores = Array.from({ length: 8 }, () => open(stateDir));
  await Promise.all(stores.map((store, at) => put(store, sampleRecord({ recordId: `record-${at}` }))));
  for (const [at, store] of stores.entries()) {
    expect(await read(store, `record-${stores.length - 1 - at}`)).toBeDefined();
  }
});
