/** Owns the tests of the ledger file itself: permissions, versions, damage, locks, size. */
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
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import type { Store } from "../../src/ledger/store.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { scratchFolder } from "../support/scratch.ts";
import { aRecord } from "./a-record.ts";

const log = createLog("silent", (text) => text);
const onPosix = process.platform !== "win32";
const modeOf = (path: string): number => statSync(path).mode & 0o777;

function open(stateDir: string): Store {
  const store = openSqliteStore({ stateDir, log, clock: systemClock });
  onTestFinished(() => store.close());
  return store;
}

/** A ledger with one record in it, closed. */
async function written(): Promise<{ stateDir: string; file: string }> {
  const stateDir = scratchFolder();
  const store = open(stateDir);
  await store.records.set(aRecord());
  await store.close();
  return { stateDir, file: join(stateDir, "ledger.sqlite") };
}

describe("the ledger's place", () => {
  it("is not touched before the first use", async () => {
    const stateDir = join(scratchFolder(), "state");
    const store = open(stateDir);
    expect(store.description).toContain(stateDir);
    await store.close();
    expect(statSync(stateDir, { throwIfNoEntry: false })).toBeUndefined();
  });

  it.runIf(onPosix)("is open to its owner alone, whatever the umask", async () => {
    const stateDir = join(scratchFolder(), "deep", "state");
    const before = process.umask(0o000);
    onTestFinished(() => void process.umask(before));
    await open(stateDir).records.set(aRecord());
    expect(modeOf(stateDir)).toBe(0o700);
    expect(modeOf(join(stateDir, ".."))).toBe(0o700);
    const names = readdirSync(stateDir).sort();
    expect(names).toEqual(["ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal"]);
    for (const name of names) expect([name, modeOf(join(stateDir, name))]).toEqual([name, 0o600]);
  });

  it.runIf(onPosix)("is closed to others where it was left open", async () => {
    const { stateDir, file } = await written();
    chmodSync(stateDir, 0o755);
    chmodSync(file, 0o644);
    await open(stateDir).check();
    expect(modeOf(stateDir)).toBe(0o700);
    expect(modeOf(file)).toBe(0o600);
  });

  it.runIf(onPosix)("leaves the mode of a folder that holds other things", async () => {
    const stateDir = scratchFolder();
    writeFileSync(join(stateDir, "something"), "");
    chmodSync(stateDir, 0o755);
    await open(stateDir).check();
    expect(modeOf(stateDir)).toBe(0o755);
    expect(modeOf(join(stateDir, "ledger.sqlite"))).toBe(0o600);
  });

  it("that cannot be written is said, with the path", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "file"), "");
    const stateDir = join(folder, "file", "state");
    const failure = await failureOf(open(stateDir).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain(stateDir);
    expect(failure.remedy).toContain("AUDIO_STATE_DIR");
  });

  it.runIf(process.platform === "linux")("on a file system without folders fails at once", async () => {
    const failure = await failureOf(open("/proc/audio-generation/state").check());
    expect(failure.code).toBe("store_unavailable");
  });

  it.runIf(onPosix && process.getuid?.() !== 0)("that is read-only is said", async () => {
    const stateDir = scratchFolder();
    chmodSync(stateDir, 0o500);
    expect((await failureOf(open(stateDir).check())).code).toBe("store_unavailable");
  });

  it("works once what was wrong is mended, in the same process", async () => {
    const folder = scratchFolder();
    const blocker = join(folder, "state");
    writeFileSync(blocker, "");
    const store = open(blocker);
    await failureOf(store.check());
    rmSync(blocker);
    await store.records.set(aRecord());
    expect(await store.records.get("record-1")).toEqual(aRecord());
  });

  it("that vanishes under a running process is made anew, not written into the void", async () => {
    const { stateDir, file } = await written();
    const store = open(stateDir);
    expect(await store.records.get("record-1")).toEqual(aRecord());
    renameSync(file, `${file}.old`);
    expect(await store.records.get("record-1")).toBeUndefined();
    await store.records.set(aRecord({ recordId: "record-2" }));
    const other = open(stateDir);
    expect(await other.records.get("record-2")).toBeDefined();
  });
});

describe("a ledger file", () => {
  it("of a newer version is refused and left alone", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 2");
    db.close();
    const failure = await failureOf(open(stateDir).records.get("record-1"));
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain("newer version");
    expect(failure.message).toContain(file);
  });

  it("that is another program's database is refused", async () => {
    const stateDir = scratchFolder();
    const db = new DatabaseSync(join(stateDir, "ledger.sqlite"));
    db.exec("CREATE TABLE theirs (id)");
    db.close();
    const failure = await failureOf(open(stateDir).records.set(aRecord()));
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
  it.each(damages)("that was %s is said to be damaged, and left as it is", async (_, damage) => {
    const { stateDir, file } = await written();
    damage(file);
    const before = readFileSync(file);
    for (const store of [open(stateDir), open(stateDir)]) {
      const failure = await failureOf(store.records.get("record-1"));
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toContain("damaged");
      expect(failure.message).toContain(file);
      expect(failure.remedy).toContain("out of the way");
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("locked by somebody is waited for, without blocking this process", async () => {
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
    await store.records.set(aRecord({ recordId: "record-2" }));
    clearInterval(ticking);
    db.close();
    expect(turns).toBeGreaterThan(2);
  });

  it("locked for too long is an error that may be tried again", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("BEGIN IMMEDIATE");
    onTestFinished(() => db.close());
    const failure = await failureOf(open(stateDir).check());
    expect(failure.code).toBe("store_unavailable");
    expect(failure.retryable).toBe(true);
    expect(failure.message).toContain("locked");
  });

  it("finds the newest of 100,000 records without reading them all", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec(`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO task_index SELECT 'record ' || i, 'work ' || i, 'o', 'task ' || i,
        CASE WHEN i % 1000 = 0 THEN 'failed' ELSE 'succeeded' END, i % 2000 = 0, i FROM n`);
    db.close();
    const { coordinator } = open(stateDir);
    const queries = [
      { origin: "o", limit: 20 },
      { origin: "o", limit: 20, openOnly: true },
      { origin: "o", limit: 20, statuses: ["failed", "unresolved"] as const },
    ];
    const startedAtMs = performance.now();
    for (let round = 0; round < 100; round += 1) {
      for (const query of queries) await coordinator.listIndex(query);
      await coordinator.recordsOfWork("work 500");
      await coordinator.recordsOfTask("o", "task 500");
    }
    // 500 look-ups take some 30 ms; a single kind of them that walks an origin's records takes a second.
    expect(performance.now() - startedAtMs).toBeLessThan(600);
    expect(await coordinator.listIndex({ origin: "o", limit: 1 })).toMatchObject([
      { recordId: "record 100000" },
    ]);
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

it("two processes that start together end with one whole file", async () => {
  const stateDir = join(scratchFolder(), "state");
  mkdirSync(stateDir);
  const stores = Array.from({ length: 8 }, () => open(stateDir));
  await Promise.all(stores.map((store, at) => store.records.set(aRecord({ recordId: `record-${at}` }))));
  for (const [at] of stores.entries()) {
    expect(await stores[0]?.records.get(`record-${at}`)).toBeDefined();
  }
});
