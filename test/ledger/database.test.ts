/** The database on both engines: transactions, snapshots, locks, retries, and calls in turn. */
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { AudioError } from "../../src/errors.ts";
import type { Database, Tx } from "../../src/ledger/database.ts";
import { createProcessId } from "../../src/process-id.ts";
import { failureOf } from "../api/failure.ts";
import { databasesOfFile, whyNoPostgres } from "../support/postgres-server.ts";
import { scratchFolder } from "../support/scratch.ts";
import { skipBecause } from "../support/skip-because.ts";
import {
  addSend,
  listSends,
  openTestDatabase,
  read,
  type TestDatabaseOptions,
  write,
} from "./shared-database.ts";

const newPostgresUrl = databasesOfFile();

/** Returns what opens the same new database several times, like several processes. */
type NewDatabase = () => Promise<TestDatabaseOptions>;
const engines: Array<[string, NewDatabase, string | null]> = [
  ["SQLite", async () => ({ stateDir: scratchFolder() }), null],
  ["PostgreSQL", async () => ({ storeUrl: await newPostgresUrl() }), whyNoPostgres()],
];

const insert = (tx: Tx, name: string) => tx.insertInto("agm_document").values({ name, value: "" }).execute();

async function listNames(database: Database): Promise<string[]> {
  const rows = await database.run((db) =>
    db.selectFrom("agm_document").select("name").orderBy("name").execute(),
  );
  return rows.map(({ name }) => name);
}

for (const [engine, newDatabase, whyNot] of engines) {
  describe(`a database of ${engine}`, skipBecause(whyNot), () => {
    const open = async (): Promise<Database> => await openTestDatabase(await newDatabase());
    const openTwo = async (): Promise<[Database, Database]> => {
      const options = await newDatabase();
      return [await openTestDatabase(options), await openTestDatabase(options)];
    };

    it("answers a write only when it survives a power cut, whatever the server's default says", async () => {
      const options = await newDatabase();
      const isSqlite = options.storeUrl === undefined;
      if (!isSqlite) {
        const name = sql.ref(new URL(options.storeUrl ?? "").pathname.slice(1));
        await (await openTestDatabase(options)).run((db) =>
          sql`ALTER DATABASE ${name} SET synchronous_commit = off`.execute(db),
        );
      }
      const database = await openTestDatabase(options);
      const setting = isSqlite
        ? sql<string>`(SELECT synchronous FROM pragma_synchronous)`
        : sql<string>`current_setting('synchronous_commit')`;
      await database.run((db) =>
        db.insertInto("agm_document").values({ name: "alone", value: setting }).execute(),
      );
      await database.tx((tx) =>
        tx.insertInto("agm_document").values({ name: "in a transaction", value: setting }).execute(),
      );
      // 2 is FULL: https://sqlite.org/pragma.html#pragma_synchronous
      for (const name of ["alone", "in a transaction"])
        expect(await read(database, name)).toBe(isSqlite ? "2" : "on");
    });

    it("returns numbers for counts, sums, truth values and changed rows", async () => {
      const database = await open();
      for (const name of ["a", "b", "c"]) await write(database, name);
      const row = await database.run((db) =>
        db
          .selectFrom("agm_document")
          .select(({ fn }) => [
            fn.countAll<number>().as("count"),
            fn.sum<number>(sql`length(name)`).as("sum"),
          ])
          .select([sql<number>`1.5 * count(*)`.as("product"), sql<number>`count(*) > 1`.as("isMany")])
          .executeTakeFirstOrThrow(),
      );
      expect(row).toEqual({ count: 3, sum: 3, product: 4.5, isMany: 1 });
      const change = await database.run((db) =>
        db.updateTable("agm_document").set({ value: "" }).where("name", "<", "c").executeTakeFirstOrThrow(),
      );
      expect(change.numUpdatedRows).toBe(2n);
      const returned = await database.run((db) => db.deleteFrom("agm_document").returning("name").execute());
      expect(returned).toHaveLength(3);
    });

    it("keeps any text, and finds nothing for a text with NUL", async () => {
      const database = await open();
      const value = "é😀 \u{2028} ' \" \\ ? $1";
      await write(database, "name", value);
      expect(await read(database, "name")).toBe(value);
      expect(await read(database, "nobody's \0 id")).toBeUndefined();
    });

    it("refuses a value that no column has", async () => {
      const database = await open();
      const query = database.run((db) =>
        db.selectFrom("agm_document").select(sql<number>`${new Date()}`.as("now")).execute(),
      );
      await expect(query).rejects.toThrow(TypeError);
    });

    it.each([
      ["AudioError", new AudioError("not_found", "there is no such row")],
      ["TypeError", new TypeError("a fault of the program")],
    ])("throws the work's %s unchanged, and rolls back", async (_, error) => {
      const database = await open();
      const failing = database.tx(async (tx) => {
        await insert(tx, "lost");
        throw error;
      });
      await expect(failing).rejects.toBe(error);
      await database.tx((tx) => insert(tx, "kept"));
      expect(await listNames(database)).toEqual(["kept"]);
    });

    it("reports a statement that it refuses once, as its own error", async () => {
      const database = await open();
      let runs = 0;
      const failing = database.tx(async (tx) => {
        runs += 1;
        await insert(tx, "twice");
        await insert(tx, "twice");
      });
      expect(await failureOf(failing)).toMatchObject({ code: "store_unavailable" });
      expect(runs).toBe(1);
      expect(await listNames(database)).toEqual([]);
    });

    it("runs no statement after the end of its transaction or call", async () => {
      const database = await open();
      const late: Promise<unknown>[] = [];
      const failing = database.tx(async (tx) => {
        const statements = ["twice", "twice", "late"].map((name) => insert(tx, name));
        late.push(...statements);
        await Promise.all(statements);
      });
      expect((await failureOf(failing)).code).toBe("store_unavailable");
      await database.run(async (db) => {
        const insertLater = async () => {
          await yieldToOthers();
          await db.insertInto("agm_document").values({ name: "later", value: "" }).execute();
        };
        late.push(insertLater());
      });
      expect((await Promise.allSettled(late)).at(-1)?.status).toBe("rejected");
      expect(await listNames(database)).toEqual([]);
    });

    it("runs the calls of a process one after the other", async () => {
      const database = await open();
      const steps: string[] = [];
      await Promise.all(
        ["a", "b", "c"].map((name) =>
          database.tx(async (tx) => {
            steps.push(name);
            await insert(tx, name);
            steps.push(name);
          }),
        ),
      );
      expect(steps).toEqual(["a", "a", "b", "b", "c", "c"]);
    });

    it("shows a snapshot no change that is committed meanwhile, and a time that is not earlier", async () => {
      const [database, other] = await openTwo();
      await addSend(database, "account");
      await database.snapshot(async (tx, nowSteadyMs) => {
        const readSends = () => tx.selectFrom("agm_gate").select("sends").executeTakeFirstOrThrow();
        const before = await readSends();
        expect(JSON.parse(before.sends)[0].atSteadyMs).toBeLessThanOrEqual(nowSteadyMs);
        await addSend(other, "account");
        expect(await readSends()).toEqual(before);
      });
      expect(await listSends(database, "account")).toHaveLength(2);
    });

    it("lets processes change a row one after the other, at times in the order of the changes", async () => {
      const options = await newDatabase();
      const databases = await Promise.all(Array.from({ length: 4 }, () => openTestDatabase(options)));
      await Promise.all(
        databases.flatMap((database) => Array.from({ length: 8 }, () => addSend(database, "account"))),
      );
      const times = (await listSends(await openTestDatabase(options), "account")).map(
        (send) => send.atSteadyMs,
      );
      expect(times).toHaveLength(32);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });

    it("locks a row until the transaction ends", async () => {
      const [database, other] = await openTwo();
      const row = {
        ...{ id: "request", base_url: "", api_key_id: "", fingerprint: "", loose: null, take: 1, attempt: 1 },
        ...{ is_listed: 1, error_code: null, owner: null, lease_until_steady_ms: 0, created_at_ms: 0 },
        ...{ updated_at_ms: 0, error: null, note: null, file_name: null, replaces: null, written: null },
        ...{ asked: null, body: null },
      };
      await database.run((db) => db.insertInto("agm_request").values(row).execute());
      const addOne = (database: Database) =>
        database.tx(async (tx) => {
          await database.lockRow(tx, "agm_request", "request");
          const { take } = await tx.selectFrom("agm_request").select("take").executeTakeFirstOrThrow();
          await tx
            .updateTable("agm_request")
            .set({ take: (take ?? 0) + 1 })
            .execute();
        });
      await Promise.all(Array.from({ length: 20 }, (_, at) => addOne(at % 2 === 0 ? database : other)));
      const stored = await database.run((db) => db.selectFrom("agm_request").select("take").execute());
      expect(stored).toEqual([{ take: 21 }]);
    });

    it("regards a lease as held while its process may live", async () => {
      const database = await open();
      const { leaseMs } = database;
      const owner = createProcessId();
      const isHeld = (leftMs: number, by: string | null = owner) =>
        database.isHeld({ owner: by, lease_until_steady_ms: 1_000_000 + leftMs }, 1_000_000);
      expect([isHeld(leaseMs), isHeld(1), isHeld(0), isHeld(leaseMs, null)]).toEqual([
        true,
        true,
        false,
        false,
      ]);
      // After a restart of the machine, the steady clock begins again, so leases seem to end far in the future.
      expect(isHeld(2 * leaseMs + 1)).toBe(false);
      const dead = owner.replace(/\.\d+\./, ".999999999.");
      expect([isHeld(leaseMs, dead), isHeld(leaseMs, "another machine's process")]).toEqual([false, true]);
    });

    it("prepares any number of different statements", async () => {
      const database = await open();
      await write(database, "1");
      for (let length = 1; length <= 450; length += 1) {
        const names = Array.from({ length }, (_, at) => String(at + 1));
        const rows = await database.run((db) =>
          db.selectFrom("agm_document").select("name").where("name", "in", names).execute(),
        );
        expect(rows).toHaveLength(1);
      }
    });

    it("is checked without a trace", async () => {
      const database = await open();
      expect(await database.check()).toEqual([]);
      expect(await listNames(database)).toEqual([]);
      expect(database.outage).toBeNull();
      expect(database.description).toContain(engine);
    });

    it("finishes the running call when it is closed, and refuses the others", async () => {
      const database = await open();
      const closings: Promise<void>[] = [];
      await database.tx(async (tx) => {
        closings.push(database.close(), database.close());
        await insert(tx, "name");
      });
      await Promise.all(closings);
      expect((await failureOf(read(database, "name"))).message).toBe("The ledger was already closed.");
    });
  });
}

it("a database without a folder and an address is an error of the settings", async () => {
  await expect(openTestDatabase({})).rejects.toMatchObject({ code: "configuration_error" });
  await expect(openTestDatabase({ storeUrl: "mysql://localhost/audio" })).rejects.toMatchObject({
    code: "configuration_error",
  });
});
