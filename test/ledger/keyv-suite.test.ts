/** Runs Keyv's own test suite over the storage adapter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import keyvTestSuite from "@keyv/test-suite";
import Keyv from "keyv";
import * as vitest from "vitest";
import { systemClock } from "../../src/clock.ts";
import { PostgresEngine } from "../../src/ledger/postgres/postgres-engine.ts";
import { SqliteEngine } from "../../src/ledger/sqlite/sqlite-engine.ts";
import { KeyvDocuments } from "../../src/ledger/store/keyv-documents.ts";
import { createLog } from "../../src/log.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";

const { describe, beforeAll, afterAll } = vitest;

describe("Keyv over SQLite", () => {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-keyv-"));
  const engine = new SqliteEngine({ stateDir, clock: systemClock });
  afterAll(async () => {
    await engine.close();
    rmSync(stateDir, { recursive: true });
  });
  keyvTestSuite(vitest, Keyv, () => new KeyvDocuments(engine));
});

describe.skipIf(whyNoPostgres() !== undefined)("Keyv over PostgreSQL", () => {
  let server: PostgresServer;
  let engine: PostgresEngine;
  beforeAll(async () => {
    server = await PostgresServer.start();
    engine = new PostgresEngine({ storeUrl: server.url, log: createLog("silent", (text) => text) });
  });
  afterAll(async () => {
    await engine.close();
    await server.remove();
  });
  keyvTestSuite(vitest, Keyv, () => new KeyvDocuments(engine));
});
