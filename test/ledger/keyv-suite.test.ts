/** Runs Keyv's own test suite over the storage adapter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import keyvTestSuite from "@keyv/test-suite";
import Keyv from "keyv";
import * as vitest from "vitest";
import type { Database } from "../../src/ledger/database.ts";
import { KeyvDocuments } from "../../src/ledger/documents.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { openUnclosed } from "./shared-database.ts";

const { describe, beforeAll, afterAll } = vitest;

describe("Keyv over SQLite", () => {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-keyv-"));
  let database: Database;
  beforeAll(async () => {
    database = await openUnclosed({ stateDir });
  });
  afterAll(async () => {
    await database.close();
    rmSync(stateDir, { recursive: true });
  });
  keyvTestSuite(vitest, Keyv, () => new KeyvDocuments(database));
});

describe("Keyv over PostgreSQL", skipBecause(whyNoPostgres()), () => {
  let server: PostgresServer;
  let database: Database;
  beforeAll(async () => {
    server = await PostgresServer.start();
    database = await openUnclosed({ storeUrl: server.url });
  });
  afterAll(async () => {
    await database.close();
    await server.remove();
  });
  keyvTestSuite(vitest, Keyv, () => new KeyvDocuments(database));
});
