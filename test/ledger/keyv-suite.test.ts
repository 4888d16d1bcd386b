/** Owns running Keyv's own test suite over both storage adapters. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import keyvTestSuite from "@keyv/test-suite";
import Keyv from "keyv";
import * as vitest from "vitest";
import { systemClock } from "../../src/clock.ts";
import { KeyvShared } from "../../src/ledger/redis/keyv-shared.ts";
import { RedisConnection } from "../../src/ledger/redis/redis-connection.ts";
import { Rows } from "../../src/ledger/redis/redis-rows.ts";
import { Scripts } from "../../src/ledger/redis/redis-script.ts";
import { LedgerDatabase } from "../../src/ledger/sqlite/database.ts";
import { KeyvSqlite } from "../../src/ledger/sqlite/keyv-sqlite.ts";
import { createLog } from "../../src/log.ts";
import { RedisServer, whyNoRedis } from "../support/redis-server.ts";

const { describe, beforeAll, afterAll } = vitest;

describe("Keyv over SQLite", () => {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-keyv-"));
  const log = createLog("silent", (text) => text);
  const database = new LedgerDatabase({ stateDir, log, clock: systemClock });
  afterAll(() => {
    database.close();
    rmSync(stateDir, { recursive: true });
  });
  const newStore = (): KeyvSqlite => new KeyvSqlite(database, { clock: systemClock, holder: "holder" });
  keyvTestSuite(vitest, Keyv, newStore);
});

describe.skipIf(whyNoRedis() !== undefined)("Keyv over Redis", () => {
  let server: RedisServer;
  let connection: RedisConnection;
  const rows = new Rows(new Scripts(systemClock, () => 0), "holder");
  beforeAll(async () => {
    server = await RedisServer.start();
    connection = new RedisConnection({ storeUrl: server.url, log: createLog("silent", (text) => text) });
  });
  afterAll(async () => {
    await connection.close();
    await server.remove();
  });
  const newStore = (): KeyvShared => new KeyvShared((work) => connection.use(work), rows, "test");
  keyvTestSuite(vitest, Keyv, newStore);
});
