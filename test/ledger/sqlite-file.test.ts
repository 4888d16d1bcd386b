/** The ledger file itself: permissions, versions, damage, locks, size. */
import { execFileSync, spawnSync } from "node:child_process";
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
import type { Database } from "../../src/ledger/database.ts";
import { failureOf } from "../api/failure.ts";
import { asOrdinaryUser, mountedFolder, NO_MOUNT, removeFolders } from "../files/folders.ts";
import { scratchFolder } from "../support/scratch.ts";
import { ON_WINDOWS, skipBecause } from "../support/skip-because.ts";
import { addSend, listSends, openTestDatabase, read, write } from "./shared-database.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

const open = (stateDir: string): Promise<Database> => openTestDatabase({ stateDir });

const checkOnce = async (stateDir: string): Promise<string[]> => (await open(stateDir)).check();

/** Creates a ledger with one document, and closes it. */
async function written(): Promise<{ stateDir: string; file: string }> {
  const stateDir = scratchFolder();
  const database = await open(stateDir);
  await write(database, "name");
  await database.close();
  return { stateDir, file: join(stateDir, "ledger.sqlite") };
}

describe("the ledger's folder", () => {
  it("is not accessed before the first use", async () => {
    const stateDir = join(scratchFolder(), "state");
    const database = await open(stateDir);
    expect(database.description).toContain(stateDir);
    await database.close();
    expect(statSync(stateDir, { throwIfNoEntry: false })).toBeUndefined();
  });

  it("is accessible to its owner alone, whatever the umask", skipBecause(ON_WINDOWS), async () => {
    const stateDir = join(scratchFolder(), "deep", "state");
    const before = process.umask(0o000);
    onTestFinished(() => void process.umask(before));
    await write(await open(stateDir), "name");
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
    await checkOnce(stateDir);
    expect(modeOf(stateDir)).toBe(0o700);
    expect(modeOf(file)).toBe(0o600);
  });

  it("keeps its mode if it contains other files", skipBecause(ON_WINDOWS), async () => {
    const stateDir = scratchFolder();
    writeFileSync(join(stateDir, "something"), "");
    chmodSync(stateDir, 0o755);
    await checkOnce(stateDir);
    expect(modeOf(stateDir)).toBe(0o755);
    expect(modeOf(join(stateDir, "ledger.sqlite"))).toBe(0o600);
  });

  it("that is read-only is reported", skipBecause(ON_WINDOWS), async () => {
    const stateDir = scratchFolder();
    chmodSync(stateDir, 0o555);
    const failure = await asOrdinaryUser(() => failureOf(checkOnce(stateDir)));
    expect(failure.code).toBe("store_unavailable");
  });

  it("that is synchronised causes a warning, and works", async () => {
    const stateDir = join(scratchFolder(), "Dropbox", "state");
    const [warning, ...more] = await checkOnce(stateDir);
    expect(warning).toContain("Dropbox");
    expect(warning).toContain("AUDIO_STATE_DIR");
    expect(more).toEqual([]);
    expect(await checkOnce(scratchFolder())).toEqual([]);
  });

  it("works in the same process once its fault is corrected", async () => {
    const folder = scratchFolder();
    const blocker = join(folder, "state");
    writeFileSync(blocker, "");
    const database = await open(blocker);
    await failureOf(database.check());
    rmSync(blocker);
    await write(database, "name");
    expect(await read(database, "name")).toBe("name");
  });

  it("that was deleted during a process is created again, and writes are not lost", async () => {
    const { stateDir, file } = await written();
    const database = await open(stateDir);
    expect(await read(database, "name")).toBe("name");
    renameSync(file, `${file}.old`);
    expect(await read(database, "name")).toBeUndefined();
    await write(database, "name 2");
    expect(await read(await open(stateDir), "name 2")).toBeDefined();
  });
});

describe("a ledger file", () => {
  it("with another schema version is refused in one sentence, and not changed", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 2");
    db.close();
    const failure = await failureOf(read(await open(stateDir), "name"));
    expect(failure.code).toBe("store_unavailable");
    expect(failure.message).toContain("another version of this program");
    expect(failure.message).toContain(file);
    expect(failure.remedy).toContain("out of the way");
  });

  it("that lacks a table is reported as damaged, and not changed", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("DROP TABLE agm_gate");
    db.close();
    const failure = await failureOf(addSend(await open(stateDir), "account"));
    expect(failure.message).toContain("is damaged and was left as it is");
    expect(failure.remedy).toContain("Restore it from a backup");
  });

  it("that is another program's database is refused", async () => {
    const stateDir = scratchFolder();
    const db = new DatabaseSync(join(stateDir, "ledger.sqlite"));
    db.exec("CREATE TABLE theirs (id)");
    db.close();
    const failure = await failureOf(write(await open(stateDir), "name"));
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
    for (const database of [await open(stateDir), await open(stateDir)]) {
      const failure = await failureOf(read(database, "name"));
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toContain("damaged");
      expect(failure.message).toContain(file);
      expect(failure.remedy).toContain("out of the way");
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("locked by another process is waited for, without blocking this process", async () => {
    const { stateDir, file } = await written();
    const database = await open(stateDir);
    await database.check();
    const db = new DatabaseSync(file);
    db.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 20);
    setTimeout(() => db.exec("COMMIT"), 700);
    await write(database, "name 2");
    clearInterval(ticking);
    db.close();
    expect(turns).toBeGreaterThan(2);
  });

  it("locked for too long is a retryable error", async () => {
    const { stateDir, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("BEGIN IMMEDIATE");
    onTestFinished(() => db.close());
    const failure = await failureOf(checkOnce(stateDir));
    expect(failure.code).toBe("store_unavailable");
    expect(failure.retryable).toBe(true);
    expect(failure.message).toContain("locked");
  });

  it(
    "on a full disk is reported as such, stores nothing partially, and works once there is space",
    skipBecause(NO_MOUNT),
    async () => {
      onTestFinished(removeFolders);
      const folder = mountedFolder("size=1m");
      const database = await open(join(folder, "state"));
      await addSend(database, "account");
      const filler = join(folder, "filler");
      expect(() => writeFileSync(filler, Buffer.alloc(2 ** 20))).toThrow(/ENOSPC/);
      const big = "x".repeat(100_000);
      const failing = database.tx(async (tx) => {
        await tx.updateTable("agm_gate").set({ sends: "[]" }).execute();
        await tx.insertInto("agm_document").values({ name: "big", value: big }).execute();
      });
      const failure = await failureOf(failing);
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toMatch(/^The disk of the ledger file .* is full\.$/);
      rmSync(filler);
      expect(await read(database, "big")).toBeUndefined();
      expect(await listSends(database, "account")).toHaveLength(1);
      await write(database, "big", big);
      await database.close();
    },
  );

  it("that is no longer writable is reported", skipBecause(NO_MOUNT), async () => {
    onTestFinished(removeFolders);
    const folder = mountedFolder("size=1m");
    const database = await open(join(folder, "state"));
    await write(database, "name");
    await database.close();
    execFileSync("mount", ["-o", "remount,ro", folder]);
    const failure = await failureOf(write(await open(join(folder, "state")), "name 2"));
    expect(failure.code).toBe("store_unavailable");
    expect(failure.remedy).toContain("AUDIO_STATE_DIR");
  });
});

it("loading SQLite prints nothing, and lets other warnings through", () => {
  const loader = new URL("../../src/ledger/sqlite/sqlite-connection.ts", import.meta.url).href;
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

it("two processes that start together create one whole file", async () => {
  const stateDir = join(scratchFolder(), "state");
  mkdirSync(stateDir);
  const databases = await Promise.all(Array.from({ length: 8 }, () => open(stateDir)));
  await Promise.all(databases.map((database, at) => write(database, `name ${at}`)));
  for (const [at, database] of databases.entries())
    expect(await read(database, `name ${databases.length - 1 - at}`)).toBeDefined();
});
