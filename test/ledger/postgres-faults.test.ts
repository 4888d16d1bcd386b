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
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { toPathLookupKey } from "../../src/ledger/identity.ts";
import { toRow } from "../../src/ledger/record.ts";
import { KeyvDocuments } from "../../src/ledger/store/keyv-documents.ts";
import { sql } from "../../src/ledger/store/sql-engine.ts";
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
import { sampleRecord } from "./sample-record.ts";
import { admit, BASE_URL, claim, expectAway, openEngine, openShared } from "./shared-store.ts";

const DAY_MS = 24 * 60 * 60_000;

/** Starts a server that only one test uses, and removes it after the test. */
async function ownServer(settings: PostgresSettings = {}): Promise<PostgresServer> {
  const server = await PostgresServer.start(settings);
  onTestFinished(() => server.remove());
  return server;
}

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
    const store = openShared(`postgres://somebody:hunter2@127.0.0.1:${await freePort()}/audio`, { logged });
    const failures = await Promise.all([store.get("x"), store.check(), store.heartbeat([])].map(failureOf));
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
      expect(failure.message).toContain("nothing listens there");
      expect(`${failure.message} ${failure.remedy}`).not.toMatch(/hunter2|somebody/);
    }
    expect(`${logged.join()} ${store.description}`).not.toMatch(/hunter2|somebody/);
    expect(store.description).toContain("127.0.0.1");
  });

  it("is reported in time if a program listens there that never answers", async () => {
    const store = openShared(`postgres://127.0.0.1:${await foreignPort(() => undefined)}`);
    await expectAway(store.check(), /does not answer/);
  });

  it("is reported in time if another program answers there", async () => {
    const port = await foreignPort((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await expect(openShared(`postgres://127.0.0.1:${port}`).check()).rejects.toMatchObject({
      code: "store_unavailable",
    });
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("an outage", () => {
  it.each([700, 1300, 2500])("of %d ms is not noticed by callers", async (ms) => {
    const server = await ownServer();
    const store = openShared(server.url);
    await claim(store);
    await server.kill();
    const call = admit(store);
    await sleep(ms);
    await server.start();
    expect(await call).toEqual({ kind: "admitted" });
  });

  it("that lasts is reported by all calls together, and acknowledged writes exist afterwards", async () => {
    const server = await ownServer();
    const store = openShared(server.url);
    await claim(store);
    await server.kill();
    await Promise.all([
      expectAway(store.get("record-1"), /nothing listens there/),
      expectAway(claim(store), /nothing listens there/),
      expectAway(store.recordSearch.findByLookupKey("x"), /nothing listens there/),
    ]);
    // A tool call that continues after the failure reads and claims again. Both calls of the store report the outage.
    await expectAway(store.get("record-1"), /nothing listens there/);
    await expectAway(claim(store), /nothing listens there/);
    await server.start();
    expect(await store.get("record-1")).toBe(toRow(sampleRecord()).recordJson);
    expect(await store.heartbeat(["record-1"])).toEqual([]);
    expect(await store.check()).toEqual([]);
  });

  it("after a crash ends no process that has an idle connection", async () => {
    const server = await ownServer();
    const stores = Array.from({ length: 9 }, () => openShared(server.url));
    await Promise.all(stores.map((store) => store.check()));
    await server.kill();
    // Give the idle connections time to detect that the server is gone.
    await sleep(200);
    await server.start();
    await Promise.all(stores.map((store) => store.check()));
  });

  it("of a server that hangs is reported as the database's fault, and ends when the server continues", async () => {
    const server = await ownServer();
    const store = openShared(server.url);
    await store.check();
    server.freeze();
    await Promise.all([
      expectAway(store.get("x"), /does not answer/),
      expectAway(store.heartbeat([]), /does not answer/),
    ]);
    server.thaw();
    await store.check();
  });

  it("because a suspended process holds a lock makes the next call wait, and the transaction is run again", async () => {
    const server = await ownServer();
    const store = openShared(server.url);
    await store.heartbeat([]);
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
    const heartbeat = store.heartbeat([]);
    // Continue the process as soon as the server has ended its transaction, because it retries for 5 s only.
    await waitForIdleTransactions(0);
    processId.kill("SIGCONT");
    expect(await heartbeat).toEqual([]);
    expect(await printed).toBe("runs: 2\n");
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("a lost answer", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  it("after a COMMIT repeats no effect", async () => {
    const { proxy, url } = await proxyTo(server);
    const store = openShared(url);
    await store.check();
    const losing = async <T>(call: () => Promise<T>): Promise<T> => {
      proxy.loseAnswers(1, "COMMIT\0");
      return await call();
    };
    const waiting = sampleRecord({ recordId: "lost", status: "waiting", taskId: null });
    expect(await losing(() => claim(store, waiting))).toMatchObject({ leaseOwner: "holder" });
    const spend = { credits: 150, atMs: Date.now() };
    const after = toRow({ ...waiting, status: "unresolved", revision: 2, spend });
    const limits = {
      maxSubmissions: 1,
      limitWindowMs: 60_000,
      maxConcurrentTasks: 1,
      unresolvedSlotTtlMs: 30_000,
      narrationId: null,
    };
    const budget = { credits: 150, windowMs: DAY_MS };
    const sendId = randomUUID();
    const ask = { ...limits, admittedRow: after, budget, expectedRevision: 1, sendId };
    expect(await losing(() => store.admissions.admit(ask))).toEqual({ kind: "admitted" });
    const accepted = toRow({ ...waiting, status: "queued", taskId: "t", revision: 3, spend });
    const write = { apiKeyId: "account", recordId: "lost", expectedRevision: 2, newRow: accepted };
    const sendOutcome = { sendId, outcome: "sent" } as const;
    expect(
      await losing(() => store.write({ ...write, durability: "survives_power_cut", sendOutcome })),
    ).toEqual({
      isWritten: true,
    });
    expect(await losing(() => store.heartbeat(["lost"]))).toEqual([]);
    await losing(() => store.documents.set("plan", "text"));
    expect(await store.documents.get("plan")).toBe("text");
    expect(await store.admissions.sumSpentCredits(DAY_MS)).toBe(150);
    const [state] = await server.command("SELECT state FROM agm_api_keys");
    expect(JSON.parse((state as { state: string }).state).rateSlots).toHaveLength(1); // the query selects one column
  });

  it("of another statement is requested again", async () => {
    const { proxy, url } = await proxyTo(server);
    const apiKeyId = randomUUID();
    for (let lost = 1; lost <= 4; lost += 1) {
      proxy.loseAnswers(lost);
      expect(await admit(openShared(url, { apiKeyId }), apiKeyId)).toEqual({ kind: "admitted" });
    }
  });

  it("is not read as a commit if it says ROLLBACK", async () => {
    const { proxy, url } = await proxyTo(server);
    const engine = openEngine(url);
    await engine.check();
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
    const decide = () => {
      runs += 1;
      return { result: runs, saveStatements: [] };
    };
    expect(
      await engine.transact({ durability: "survives_power_cut", locks: [], loadStatements: [], decide }),
    ).toBe(2);
  });

  it("does not cost an admission more than its two round trips", async () => {
    const { proxy, url } = await proxyTo(server);
    const store = openShared(url);
    await store.check();
    await admit(store);
    const before = proxy.roundTrips();
    await admit(store);
    // `admit` claims the record first, which takes two of these four round trips.
    expect(proxy.roundTrips() - before).toBeLessThanOrEqual(4);
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("a database", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  /** Creates an empty database. `command` runs a statement in the database directly, not through the ledger. */
  async function empty() {
    const url = await server.newDatabase();
    const database = new URL(url).pathname.slice(1);
    return { url, database, command: (statement: string) => server.command(statement, database) };
  }

  it("gets its tables once from processes that start together", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { url, command } = await empty();
      await Promise.all(Array.from({ length: 8 }, () => openShared(url).check()));
      expect(await command("SELECT count(*)::int AS layouts FROM agm_layout")).toEqual([{ layouts: 1 }]);
    }
  });

  it("is checked under load without a deadlock", async () => {
    const { url } = await empty();
    const logged: string[] = [];
    const keys = Array.from({ length: 6 }, (_, at) => `key ${at}`);
    await Promise.all(
      keys.map(async (apiKeyId) => {
        const store = openShared(url, { apiKeyId, logged });
        const doctor = openShared(url, { apiKeyId, logged });
        for (let round = 0; round < 10; round += 1)
          await Promise.all([admit(store, apiKeyId), doctor.check()]);
      }),
    );
    expect(await openShared(url).admissions.sumSpentCredits(DAY_MS)).toBe(60 * 150);
    expect(logged.filter((line) => line.includes("deadlock"))).toEqual([]);
  });

  it("serves many calls of one process, even if they wait for each other", async () => {
    const engine = openEngine((await empty()).url);
    const slow = {
      durability: "survives_process_kill",
      locks: [sql("SELECT pg_sleep(0.06)")],
      loadStatements: [],
    } as const;
    const calls = Array.from({ length: 95 }, (_, at) =>
      engine.transact({ ...slow, decide: () => ({ result: at, saveStatements: [] }) }),
    );
    expect(await Promise.all(calls)).toHaveLength(95);
  });

  it("with another schema version is refused and not changed", async () => {
    const { url, command } = await empty();
    await openShared(url).check();
    await command("UPDATE agm_layout SET version = 99");
    const failure = await failureOf(openShared(url).check());
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toMatch(/holds a ledger of another version/);
    expect(failure.remedy).toMatch(/another database/);
  });

  it.each(["CREATE TABLE agm_records (x int)", "CREATE TABLE agm_layout (x int)"])(
    "of another program (%s) is refused and not changed",
    async (statement) => {
      const { url, command } = await empty();
      await command(statement);
      const failure = await failureOf(openShared(url).check());
      expect(failure.message).toMatch(/has tables named agm_… that are not this program's/);
      expect(
        await command("SELECT count(*)::int AS tables FROM pg_tables WHERE tablename LIKE 'agm%'"),
      ).toEqual([{ tables: 1 }]);
    },
  );

  it("that does not exist is named", async () => {
    const failure = await failureOf(openShared(server.urlOf("nowhere")).check());
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toContain("PostgreSQL database nowhere on 127.0.0.1");
    expect(failure.message).toContain("does not exist");
  });

  it("whose user may not create tables is reported, and works once the tables exist", async () => {
    const { url, database, command } = await empty();
    await command("CREATE ROLE guest LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    const guest = server.urlOf(database, "guest");
    const failure = await failureOf(openShared(guest).check());
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toContain("denied this user a right");
    expect(failure.remedy).toContain("CREATE");
    await openShared(url).check();
    await command("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest");
    expect(await openShared(guest).check()).toEqual([]);
    expect(await admit(openShared(guest))).toEqual({ kind: "admitted" });
    await command("REVOKE UPDATE ON agm_records FROM guest");
    expect(await openShared(guest).check()).toEqual([
      "This user may not read and write every table: grant SELECT, INSERT, UPDATE and DELETE on agm_records.",
    ]);
  });

  it("that is read-only is reported as such, and works once it is writable", async () => {
    const { url, database, command } = await empty();
    const store = openShared(url);
    await store.check();
    await command(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await command(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'audio-%'",
    );
    await expectAway(claim(store), /is read-only/);
    await command(`ALTER DATABASE ${database} RESET default_transaction_read_only`).catch(async () => {
      await server.command(
        `SET default_transaction_read_only = off; ALTER DATABASE ${database} RESET default_transaction_read_only`,
      );
    });
    await claim(store);
  });

  it("that is read-only is reported as such if it does not answer the last, short try", async () => {
    const { url, database, command } = await empty();
    await openShared(url).check();
    await command(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    const { proxy, url: proxyUrl } = await proxyTo(server);
    const proxiedUrl = new URL(url);
    proxiedUrl.port = new URL(proxyUrl).port;
    const claiming = claim(openShared(proxiedUrl.href));
    const silence = setTimeout(() => proxy.alterAnswers(() => Buffer.alloc(0)), 3_500);
    onTestFinished(() => clearTimeout(silence));
    await expectAway(claiming, /is read-only/);
  });

  it("that is full is reported as such, and stores nothing partially", async () => {
    const { url, command } = await empty();
    const store = openShared(url);
    await store.check();
    await command(
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT ON agm_lookup_keys FOR EACH ROW EXECUTE FUNCTION full_disk()`,
    );
    await expectAway(claim(store), /has no space left on its disk/);
    expect(await store.get("record-1")).toBeUndefined();
    await command("DROP TRIGGER full_disk ON agm_lookup_keys");
    expect(await claim(store)).toMatchObject({ leaseOwner: "holder" });
  });

  it("sorts by bytes and finds any text, whatever its language", async () => {
    const name = `icu_${randomUUID().slice(0, 8)}`;
    await server.command(
      `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'`,
    );
    const store = openShared(server.urlOf(name));
    for (const one of ["é", "b", "Z", "a", "_"]) await store.documents.set(one, one);
    const found: unknown[] = [];
    const documents = new KeyvDocuments(openEngine(server.urlOf(name)));
    for await (const [key] of documents.iterator("document")) found.push(key);
    expect(found).toEqual(["Z", "_", "a", "b", "é"].map((one) => `document:${one}`));
    const path = `/${"a long folder/".repeat(5000)}file.mp3`;
    const files = [{ path, sizeBytes: 1, sha256: "0", savedAtMs: 1, matchesFormat: true }];
    await claim(store, { status: "succeeded", files });
    expect(await store.recordSearch.findByLookupKey(toPathLookupKey(path))).toHaveLength(1);
    expect(await store.get("nobody's \0 id")).toBeUndefined();
  });

  it("is not used after the store was closed", async () => {
    const store = openShared(server.url);
    await store.check();
    await store.close();
    await store.close();
    await expect(store.check()).rejects.toMatchObject({ code: "store_unavailable" });
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("a server", () => {
  it("with settings that may lose acknowledged writes causes a warning", async () => {
    const unsafe = { fsync: "off", full_page_writes: "off", synchronous_commit: "off" };
    const server = await ownServer({ more: unsafe });
    const warnings = await openShared(server.url).check();
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
    const first = openShared(url);
    const second = openShared(url);
    await first.check();
    await second.check();
    const third = openShared(url);
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
      const failure = await failureOf(openShared(url, { logged }).check());
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
      expect(failure.message).toContain("refused the login");
      expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
    }
    const right = openShared(server.url);
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
    expect(await openShared(server.url).check()).toEqual([]);
    const withoutPassword = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    expect((await failureOf(openShared(withoutPassword).check())).message).toContain("refused the login");
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("a failover", () => {
  it("leads the same call to the new primary behind the same address", async () => {
    const old = await ownServer();
    const next = await ownServer();
    const address = await startRedirector(old.port);
    onTestFinished(() => address.close());
    const store = openShared(`postgres://127.0.0.1:${address.port}`);
    await claim(store);
    // Make the old server like a primary that became a standby: reachable, but read-only.
    await old.command("ALTER SYSTEM SET default_transaction_read_only = on");
    await old.command("SELECT pg_reload_conf()");
    address.leadTo(next.port);
    await vi.waitFor(async () =>
      expect(await old.command("SHOW transaction_read_only")).toEqual([{ transaction_read_only: "on" }]),
    );
    expect(await claim(store)).toMatchObject({ leaseOwner: "holder" });
    expect(await next.command("SELECT record_id FROM agm_records")).toEqual([{ record_id: "record-1" }]);
  });
});

describe.skipIf(whyNoPostgres() !== undefined)("TLS", () => {
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
    expect(await openShared(`${plain}?sslrootcert=${certificate.certificate}`).check()).toEqual([]);
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
      const failure = await failureOf(openShared(url, { logged }).check());
      expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
      expect(failure.message).toContain("has a certificate that is not trusted");
      expect(JSON.stringify([failure.message, failure.remedy, logged])).not.toContain("hunter2");
    }
  });

  it("is always used for another machine", async () => {
    const server = await ownServer();
    const failure = await failureOf(openShared(server.url.replace("127.0.0.1", "0.0.0.0")).check());
    expect(failure).toMatchObject({ code: "store_unavailable", retryable: false });
    expect(failure.message).toContain("does not offer TLS");
    expect(await server.command("SELECT 1 FROM pg_tables WHERE tablename = 'agm_layout'")).toEqual([]);
  });
});

describe.skipIf(whyNoPostgres() !== undefined || whyNoPgBouncer() !== undefined)(
  "PgBouncer in transaction mode",
  () => {
    it("serves more processes than it has connections, and bridges a crash of the server", async () => {
      const server = await ownServer();
      const bouncer = await PgBouncer.start(server, 2);
      onTestFinished(() => bouncer.remove());
      const keys = Array.from({ length: 6 }, (_, at) => `key ${at}`);
      const stores = keys.map((apiKeyId) => ({ apiKeyId, store: openShared(bouncer.url, { apiKeyId }) }));
      const round = () => Promise.all(stores.map(({ apiKeyId, store }) => admit(store, apiKeyId)));
      for (let at = 0; at < 5; at += 1) await round();
      expect(await openShared(server.url).admissions.sumSpentCredits(DAY_MS)).toBe(30 * 150);
      expect(await stores[0]?.store.check()).toEqual([]);
      await server.kill();
      const bridged = round();
      await server.start();
      expect(await bridged).toEqual(keys.map(() => ({ kind: "admitted" })));
      const baseUrls = await server.command(
        `SELECT count(*)::int AS found FROM agm_records WHERE base_url = '${BASE_URL}'`,
      );
      expect(baseUrls).toEqual([{ found: 36 }]);
    });
  },
);
