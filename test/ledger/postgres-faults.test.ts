/**
 * A PostgreSQL that is unreachable, frozen, full, inaccessible or used by another program. Callers do not notice a
 * short outage. Any other fault is reported within a time limit, without secrets.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { failureOf } from "../api/failure.ts";
import { selfSigned } from "../support/certificates.ts";
import { freePort } from "../support/free-port.ts";
import { startLossyProxy } from "../support/lossy-proxy.ts";
import { PgBouncer, whyNoPgBouncer } from "../support/pgbouncer.ts";
import {
  PASSWORD,
  PostgresServer,
  type PostgresSettings,
  whyNoPostgres,
} from "../support/postgres-server.ts";
import { startRedirector } from "../support/redirector.ts";
import { scratchFolder } from "../support/scratch.ts";
import { skipBecause } from "../support/skip-because.ts";
import { addSend, expectAway, listSends, openShared, read, write } from "./shared-database.ts";

const NO_POSTGRES = skipBecause(whyNoPostgres());

/** Starts a server that only one test uses, and removes it after the test. */
async function ownServer(settings: PostgresSettings = {}): Promise<PostgresServer> {
  const server = await PostgresServer.start(settings);
  onTestFinished(() => server.remove());
  return server;
}

const checkOnce = async (url: string, logged: string[] = []): Promise<string[]> =>
  (await openShared(url, logged)).check();

async function proxyTo(server: PostgresServer) {
  const proxy = await startLossyProxy(server.port);
  onTestFinished(() => proxy.close());
  const url = new URL(server.url);
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}

/** Returns the port of a program that is not PostgreSQL. */
async function foreignPort(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    // The store closes its connection with a reset, which would otherwise be an uncaught error.
    socket.on("error", () => undefined);
    onConnection(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

describe("a missing server", () => {
  it("is reported in time, without the credentials", async () => {
    const logged: string[] = [];
    const database = await openShared(
      `postgres://somebody:hunter2@127.0.0.1:${await freePort()}/audio`,
      logged,
    );
    const calls = [read(database, "x"), database.check(), addSend(database, "account")];
    const failures = await Promise.all(calls.map(failureOf));
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
      expect(failure.message).toContain("nothing listens there");
      expect(`${failure.message} ${failure.remedy}`).not.toMatch(/hunter2|somebody/);
    }
    expect(`${logged.join()} ${database.description}`).not.toMatch(/hunter2|somebody/);
    expect(database.description).toContain("127.0.0.1");
  });

  it("is reported in time if a program listens there that never answers", async () => {
    const database = await openShared(`postgres://127.0.0.1:${await foreignPort(() => undefined)}`);
    await expectAway(database.check(), /does not answer/);
  });

  it("is reported in time if another program answers there", async () => {
    const port = await foreignPort((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await expect(checkOnce(`postgres://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: "store_unavailable",
    });
  });
});

describe("an outage", NO_POSTGRES, () => {
  it.each([700, 1300, 2500])("of %d ms is not noticed by callers", async (ms) => {
    const server = await ownServer();
    const database = await openShared(server.url);
    await write(database, "name");
    await server.kill();
    const call = addSend(database, "account");
    await sleep(ms);
    await server.start();
    await call;
    expect(await listSends(database, "account")).toHaveLength(1);
  });

  it("that lasts is reported by all calls together, and acknowledged writes exist afterwards", async () => {
    const server = await ownServer();
    const database = await openShared(server.url);
    await write(database, "name");
    await server.kill();
    await Promise.all([
      expectAway(read(database, "name"), /nothing listens there/),
      expectAway(write(database, "name"), /nothing listens there/),
      expectAway(addSend(database, "account"), /nothing listens there/),
    ]);
    // A tool call that continues after the failure reads and writes again. Both calls report the outage.
    await expectAway(read(database, "name"), /nothing listens there/);
    await expectAway(write(database, "name"), /nothing listens there/);
    await server.start();
    expect(await read(database, "name")).toBe("name");
    await addSend(database, "account");
    expect(await database.check()).toEqual([]);
  });

  it("after a crash ends no process that has an idle connection", async () => {
    const server = await ownServer();
    const databases = await Promise.all(Array.from({ length: 9 }, () => openShared(server.url)));
    await Promise.all(databases.map((database) => database.check()));
    await server.kill();
    // Give the idle connections time to detect that the server is gone.
    await sleep(200);
    await server.start();
    await Promise.all(databases.map((database) => database.check()));
  });

  it("of a server that hangs is reported as the database's fault, and ends when the server continues", async () => {
    const server = await ownServer();
    const database = await openShared(server.url);
    await database.check();
    server.freeze();
    await Promise.all([
      expectAway(read(database, "x"), /does not answer/),
      expectAway(addSend(database, "account"), /does not answer/),
      sleep(1_000).then(() => expect(database.outage?.message).toMatch(/does not answer/)),
    ]);
    server.thaw();
    await database.check();
  });

  it("because a suspended process holds a lock makes the next call wait, and the transaction is run again", async () => {
    const server = await ownServer();
    const database = await openShared(server.url);
    await addSend(database, "account");
    const processId = spawn(
      process.execPath,
      [fileURLToPath(new URL("./suspended-lock-owner.ts", import.meta.url)), server.url, "account"],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void processId.kill("SIGKILL"));
    const printed = text(processId.stdout);
    const waitForIdleTransactions = (count: number): Promise<void> =>
      vi.waitFor(
        async () => {
          const [locks] = await server.command(
            "SELECT count(*)::int AS held FROM pg_stat_activity WHERE state = 'idle in transaction'",
          );
          expect(locks).toEqual({ held: count });
        },
        { timeout: 15_000 },
      );
    await waitForIdleTransactions(1);
    const change = addSend(database, "account");
    // Continue the process as soon as the server has ended its transaction, because it retries for 5 s only.
    await waitForIdleTransactions(0);
    processId.kill("SIGCONT");
    await change;
    expect(await listSends(database, "account")).toHaveLength(2);
    expect(await printed).toBe("runs: 2\n");
  });
});

describe("a lost answer", NO_POSTGRES, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  it("after a COMMIT repeats no effect", async () => {
    const { proxy, url } = await proxyTo(server);
    const database = await openShared(url);
    await database.check();
    const losing = async <T>(call: () => Promise<T>): Promise<T> => {
      proxy.loseAnswers(1, "COMMIT\0");
      return await call();
    };
    await losing(() => addSend(database, "account"));
    expect(await listSends(database, "account")).toHaveLength(1);
    await losing(() => write(database, "plan", "text"));
    expect(await read(database, "plan")).toBe("text");
  });

  it("of another statement is requested again", async () => {
    const { proxy, url } = await proxyTo(server);
    for (let lost = 1; lost <= 4; lost += 1) {
      const database = await openShared(url);
      proxy.loseAnswers(lost);
      await addSend(database, "other account");
      expect(await listSends(database, "other account")).toHaveLength(lost);
    }
  });

  it("in the middle of a transaction makes the work run again, from its beginning", async () => {
    const database = await openShared(server.url);
    let runs = 0;
    await database.tx(async (tx) => {
      runs += 1;
      await tx
        .insertInto("agm_document")
        .values({ name: `run ${runs}`, value: "" })
        .execute();
      if (runs === 1) {
        const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(tx);
        await server.command(`SELECT pg_terminate_backend(${rows[0]?.pid})`);
      }
      await tx.selectFrom("agm_document").select("name").execute();
    });
    expect(runs).toBe(2);
    expect([await read(database, "run 1"), await read(database, "run 2")]).toEqual([undefined, ""]);
  });

  it("is not read as a commit if it says ROLLBACK", async () => {
    const { proxy, url } = await proxyTo(server);
    const database = await openShared(url);
    await database.check();
    let changes = 0;
    const tag = (word: string): Buffer =>
      Buffer.from(`C\0\0\0${String.fromCharCode(word.length + 5)}${word}\0`, "latin1");
    proxy.alterAnswers((bytes) => {
      const at = changes === 0 ? bytes.indexOf(tag("COMMIT")) : -1;
      if (at === -1) return bytes;
      changes += 1;
      return Buffer.concat([
        bytes.subarray(0, at),
        tag("ROLLBACK"),
        bytes.subarray(at + tag("COMMIT").length),
      ]);
    });
    let runs = 0;
    await database.tx(async (tx) => {
      runs += 1;
      await tx.selectFrom("agm_gate").selectAll().execute();
    });
    expect(runs).toBe(2);
  });

  it("does not cost a transaction more round trips than its statements, BEGIN and COMMIT", async () => {
    const { proxy, url } = await proxyTo(server);
    const database = await openShared(url);
    await addSend(database, "account");
    const countRoundTrips = async (call: () => Promise<unknown>): Promise<number> => {
      const before = proxy.roundTrips();
      await call();
      return proxy.roundTrips() - before;
    };
    expect(await countRoundTrips(() => addSend(database, "account"))).toBe(4);
    expect(await countRoundTrips(() => write(database, "name"))).toBe(1);
    expect(await countRoundTrips(() => read(database, "name"))).toBe(1);
  });
});

describe("a database", NO_POSTGRES, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  /** Creates an empty database. `command` runs a statement in the database directly, not through the ledger. */
  async function empty() {
    const url = await server.newDatabase();
    const name = new URL(url).pathname.slice(1);
    return { url, name, command: (statement: string) => server.command(statement, name) };
  }

  it("gets its tables once from processes that start together", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { url, command } = await empty();
      await Promise.all(Array.from({ length: 8 }, () => checkOnce(url)));
      expect(await command("SELECT count(*)::int AS layouts FROM agm_layout")).toEqual([{ layouts: 1 }]);
    }
  });

  it("is checked under load without a deadlock", async () => {
    const { url } = await empty();
    const logged: string[] = [];
    await Promise.all(
      ["a", "b", "c", "d", "e", "f"].map(async (account) => {
        const [database, doctor] = [await openShared(url, logged), await openShared(url, logged)];
        for (let round = 0; round < 10; round += 1)
          await Promise.all([addSend(database, account), doctor.check()]);
        expect(await listSends(database, account)).toHaveLength(10);
      }),
    );
    expect(logged.filter((line) => line.includes("deadlock"))).toEqual([]);
  });

  it("serves many calls of one process, even if they wait for each other", async () => {
    const database = await openShared((await empty()).url);
    const calls = Array.from({ length: 95 }, () =>
      database.tx((tx) => sql`SELECT pg_sleep(0.06)`.execute(tx)),
    );
    expect(await Promise.all(calls)).toHaveLength(95);
  });

  it("with another schema version is refused and not changed", async () => {
    const { url, command } = await empty();
    await checkOnce(url);
    await command("UPDATE agm_layout SET version = 99");
    const failure = await failureOf(checkOnce(url));
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toMatch(/holds a ledger of another version/);
    expect(failure.remedy).toMatch(/another database/);
  });

  it.each(["CREATE TABLE agm_request (x int)", "CREATE TABLE agm_layout (x int)"])(
    "of another program (%s) is refused and not changed",
    async (statement) => {
      const { url, command } = await empty();
      await command(statement);
      const failure = await failureOf(checkOnce(url));
      expect(failure.message).toMatch(/has tables named agm_… that are not this program's/);
      expect(
        await command("SELECT count(*)::int AS tables FROM pg_tables WHERE tablename LIKE 'agm%'"),
      ).toEqual([{ tables: 1 }]);
    },
  );

  it("that does not exist is named", async () => {
    const failure = await failureOf(checkOnce(server.urlOf("nowhere")));
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toContain("PostgreSQL database nowhere on 127.0.0.1");
    expect(failure.message).toContain("does not exist");
  });

  it("whose user may not create tables is reported, and works once the tables exist", async () => {
    const { url, name, command } = await empty();
    await command("CREATE ROLE guest LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    const guest = server.urlOf(name, "guest");
    const failure = await failureOf(checkOnce(guest));
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toContain("denied this user a right");
    expect(failure.remedy).toContain("CREATE");
    await checkOnce(url);
    await command("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest");
    expect(await checkOnce(guest)).toEqual([]);
    await addSend(await openShared(guest), "account");
    await command("REVOKE UPDATE ON agm_request FROM guest");
    // A right that the check itself needs is named, too, before a statement fails for it.
    await command("REVOKE DELETE ON agm_document FROM guest");
    const lacking = await failureOf(checkOnce(guest));
    expect(lacking.message).toMatch(/does not let this user read and write every table/);
    expect(lacking.remedy).toMatch(/GRANT SELECT, INSERT, UPDATE, DELETE ON agm_request, agm_document TO/);
  });

  it("that is read-only is reported as such, and works once it is writable", async () => {
    const { url, name, command } = await empty();
    const database = await openShared(url);
    await database.check();
    await command(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await command(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'audio-%'",
    );
    await expectAway(write(database, "name"), /is read-only/);
    await command(`ALTER DATABASE ${name} RESET default_transaction_read_only`).catch(async () => {
      await server.command(
        `SET default_transaction_read_only = off; ALTER DATABASE ${name} RESET default_transaction_read_only`,
      );
    });
    await write(database, "name");
  });

  it("that is read-only is reported as such if it does not answer the last, short try", async () => {
    const { url, name, command } = await empty();
    await checkOnce(url);
    await command(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const { proxy, url: proxyUrl } = await proxyTo(server);
    const proxiedUrl = new URL(url);
    proxiedUrl.port = new URL(proxyUrl).port;
    const writing = write(await openShared(proxiedUrl.href), "name");
    const silence = setTimeout(() => proxy.alterAnswers(() => Buffer.alloc(0)), 3_500);
    onTestFinished(() => clearTimeout(silence));
    await expectAway(writing, /is read-only/);
  });

  it("that is full is reported as such, and stores nothing partially", async () => {
    const { url, command } = await empty();
    const database = await openShared(url);
    await database.check();
    await command(
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE UPDATE ON agm_gate FOR EACH ROW EXECUTE FUNCTION full_disk()`,
    );
    await expectAway(addSend(database, "account"), /has no space left on its disk/);
    expect(await listSends(database, "account")).toEqual([]);
    await command("DROP TRIGGER full_disk ON agm_gate");
    await addSend(database, "account");
    expect(await listSends(database, "account")).toHaveLength(1);
  });

  it("sorts by bytes and finds any text, whatever its language", async () => {
    const name = `icu_${randomUUID().slice(0, 8)}`;
    await server.command(
      `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'`,
    );
    const database = await openShared(server.urlOf(name));
    for (const name of ["é", "b", "Z", "a", "_"]) await write(database, name);
    const rows = await database.run((db) =>
      db.selectFrom("agm_document").select("name").orderBy("name").execute(),
    );
    expect(rows.map(({ name: found }) => found)).toEqual(["Z", "_", "a", "b", "é"]);
  });
});

describe("a server", NO_POSTGRES, () => {
  it("with settings that may lose acknowledged writes causes a warning", async () => {
    const unsafe = { fsync: "off", full_page_writes: "off" };
    const server = await ownServer({ more: unsafe });
    const warnings = await checkOnce(server.url);
    expect(warnings).toEqual(
      Object.keys(unsafe).map(
        (name) => `A crash of the server can lose what was paid for (${name} is off): set ${name} to on.`,
      ),
    );
  });

  it("with too many connections is reported, and how to plan for them", async () => {
    const server = await ownServer({ more: { max_connections: "5", superuser_reserved_connections: "3" } });
    await server.command("CREATE ROLE team LOGIN");
    await server.command("CREATE DATABASE team OWNER team");
    const url = server.urlOf("team", "team");
    const first = await openShared(url);
    const second = await openShared(url);
    await first.check();
    await second.check();
    const third = await openShared(url);
    await expectAway(third.check(), /has too many connections/);
    expect((await failureOf(third.check())).remedy).toMatch(/PgBouncer/);
    await second.close();
    await third.check();
  });

  it("that requires another password is reported, without the password that was tried", async () => {
    const server = await ownServer({ asksPassword: true });
    const logged: string[] = [];
    for (const credentials of ["postgres:hunter2", "postgres", "nobody:hunter2"]) {
      const url = `postgres://${credentials}@127.0.0.1:${server.port}/postgres`;
      const failure = await failureOf(checkOnce(url, logged));
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
      expect(failure.message).toContain("refused the login");
      expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
    }
    const right = await openShared(server.url);
    await right.check();
    expect(right.description).not.toContain(PASSWORD);
  });

  it("is found by its address alone, whatever the environment contains", async () => {
    const server = await ownServer({ asksPassword: true });
    const home = scratchFolder();
    writeFileSync(join(home, ".pgpass"), `*:*:*:*:${PASSWORD}\n`, { mode: 0o600 });
    const elsewhere = {
      HOME: home,
      USER: "nobody",
      PGHOST: "nowhere.invalid",
      PGPORT: "1",
      PGUSER: "nobody",
      PGDATABASE: "nowhere",
      PGPASSWORD: PASSWORD,
      PGPASSFILE: join(home, ".pgpass"),
      PGSSLMODE: "require",
      PGSSLNEGOTIATION: "direct",
      PGOPTIONS: "-c default_transaction_read_only=on",
      PGREPLICATION: "true",
      PGAPPNAME: "x".repeat(100),
      PGBINARY: "true",
      PGCLIENT_ENCODING: "latin1",
      NODE_PG_FORCE_NATIVE: "1",
    };
    for (const [name, value] of Object.entries(elsewhere)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await checkOnce(server.url)).toEqual([]);
    const withoutPassword = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    expect((await failureOf(checkOnce(withoutPassword))).message).toContain("refused the login");
  });
});

describe("a failover", NO_POSTGRES, () => {
  it("leads the same call to the new primary behind the same address", async () => {
    const old = await ownServer();
    const next = await ownServer();
    const address = await startRedirector(old.port);
    onTestFinished(() => address.close());
    const database = await openShared(`postgres://127.0.0.1:${address.port}`);
    await write(database, "name");
    // Make the old server like a primary that became a standby: reachable, but read-only.
    await old.command("ALTER SYSTEM SET default_transaction_read_only = on");
    await old.command("SELECT pg_reload_conf()");
    address.leadTo(next.port);
    await vi.waitFor(async () =>
      expect(await old.command("SHOW transaction_read_only")).toEqual([{ transaction_read_only: "on" }]),
    );
    await write(database, "name");
    expect(await next.command("SELECT name FROM agm_document")).toEqual([{ name: "name" }]);
  });
});

describe("TLS", NO_POSTGRES, () => {
  it("accepts only a certificate that sslrootcert confirms, whatever the environment contains", async () => {
    const certificate = selfSigned();
    const other = selfSigned();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      certificate.remove();
      other.remove();
    });
    const server = await ownServer({ tls: certificate });
    const plain = `postgres://postgres:hunter2@127.0.0.1:${server.port}/postgres`;
    expect(await checkOnce(`${plain}?sslrootcert=${certificate.certificate}`)).toEqual([]);
    for (const [name, value] of [
      ["NODE_TLS_REJECT_UNAUTHORIZED", "0"],
      ["PGSSLMODE", "no-verify"],
    ] as const) {
      vi.stubEnv(name, value);
    }
    // Linux connects 0.0.0.0 to this machine, but 0.0.0.0 is not a name of this machine.
    const away = plain.replace("127.0.0.1", "0.0.0.0");
    const logged: string[] = [];
    for (const url of [
      `${plain}?sslmode=require`,
      `${plain}?sslmode=verify-full`,
      `${plain}?sslrootcert=${other.certificate}`,
      away,
      `${away}?sslmode=prefer`,
      // The right authority signed this certificate, but for another host.
      `${away}?sslrootcert=${certificate.certificate}`,
    ]) {
      const failure = await failureOf(checkOnce(url, logged));
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
      expect(failure.message).toContain("has a certificate that is not trusted");
      expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
    }
  });

  it("is always used for another machine", async () => {
    const server = await ownServer();
    const failure = await failureOf(checkOnce(server.url.replace("127.0.0.1", "0.0.0.0")));
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toContain("does not offer TLS");
    expect(await server.command("SELECT 1 FROM pg_tables WHERE tablename = 'agm_layout'")).toEqual([]);
  });
});

describe("PgBouncer in transaction mode", skipBecause(whyNoPostgres() ?? whyNoPgBouncer() ?? null), () => {
  it("serves more processes than it has connections, and bridges a crash of the server", async () => {
    const server = await ownServer();
    const bouncer = await PgBouncer.start(server, 2);
    onTestFinished(() => bouncer.remove());
    const databases = await Promise.all(Array.from({ length: 6 }, () => openShared(bouncer.url)));
    const round = () => Promise.all(databases.map((database, at) => addSend(database, `account ${at % 2}`)));
    for (let at = 0; at < 5; at += 1) await round();
    expect(await databases[0]?.check()).toEqual([]);
    await server.kill();
    const bridged = round();
    await server.start();
    await bridged;
    const direct = await openShared(server.url);
    const sends = await Promise.all(["account 0", "account 1"].map((account) => listSends(direct, account)));
    expect(sends.map((list) => list.length)).toEqual([18, 18]);
  });
});
