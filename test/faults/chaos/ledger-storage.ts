/** The ledger of a chaos run, and the faults that can happen to it. Each fault ends by itself. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { startLossyProxy } from "../../support/lossy-proxy.ts";
import { PostgresServer } from "../../support/postgres-server.ts";
import type { Random } from "./random.ts";

export const STORES = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof STORES)[number];

export interface LedgerStorage {
  readonly kind: StoreKind;
  /** The settings with which a server uses this ledger. */
  readonly env: Readonly<Record<string, string>>;
  /** The database's address without the fault that loses answers; `null` for a file. */
  readonly directUrl: string | null;
  /** Runs one fault from beginning to end. */
  disturb(random: Random): Promise<void>;
  close(): Promise<void>;
}

/** Returns how long a fault lasts. Most faults end while a server still waits for the ledger. Some last longer. */
const faultMs = (random: Random, most: number): number =>
  random.chance(0.9) ? random.int(10, 500) : random.int(500, most);

class SqliteStorage implements LedgerStorage {
  readonly kind = "sqlite";
  readonly env = {};
  readonly directUrl = null;
  readonly #file: string;

  constructor(stateDir: string) {
    this.#file = join(stateDir, "ledger.sqlite");
  }

  /** Holds the write lock for a while, like another program. */
  async disturb(random: Random): Promise<void> {
    if (!existsSync(this.#file)) return;
    const db = new DatabaseSync(this.#file, { timeout: 2000 });
    try {
      db.exec("BEGIN IMMEDIATE");
      await sleep(faultMs(random, 6500));
      db.exec("ROLLBACK");
    } catch {
      // The servers were busy for so long that the lock was not available, so there was no fault.
    } finally {
      db.close();
    }
  }

  async close(): Promise<void> {}
}

class PostgresStorage implements LedgerStorage {
  readonly kind = "postgres";
  readonly env: Readonly<Record<string, string>>;
  readonly directUrl: string;
  readonly #server: PostgresServer;
  readonly #proxy: Awaited<ReturnType<typeof startLossyProxy>>;

  constructor(server: PostgresServer, proxy: Awaited<ReturnType<typeof startLossyProxy>>) {
    this.#server = server;
    this.#proxy = proxy;
    this.directUrl = server.url;
    const url = new URL(server.url);
    url.port = String(proxy.port);
    this.env = { AUDIO_STORE_URL: url.href };
  }

  async disturb(random: Random): Promise<void> {
    const ms = faultMs(random, 4500);
    switch (random.int(0, 3)) {
      case 0:
        this.#server.freeze();
        await sleep(ms);
        this.#server.thaw();
        return;
      case 1:
        await this.#server.kill();
        await sleep(ms);
        await this.#server.start();
        return;
      case 2:
        this.#proxy.loseAnswers(random.int(1, 4));
        await sleep(Math.min(ms, 1000));
        this.#proxy.loseAnswers(0);
        return;
      default:
        this.#proxy.sever();
    }
  }

  async close(): Promise<void> {
    this.#server.thaw();
    await this.#proxy.close();
    await this.#server.remove();
  }
}

export async function openLedgerStorage(kind: StoreKind, stateDir: string): Promise<LedgerStorage> {
  if (kind === "sqlite") return new SqliteStorage(stateDir);
  const server = await PostgresServer.start();
  return new PostgresStorage(server, await startLossyProxy(server.port));
}
