/** The ledger of random rounds, and the faults that can happen to it. Each fault ends by itself. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { startLossyProxy } from "./lossy-proxy.ts";
import { PostgresServer } from "./postgres-server.ts";
import type { Random } from "./random.ts";

export const STORES = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof STORES)[number];

export interface LedgerStorage {
  /** The settings with which a server uses this ledger. */
  readonly env: Readonly<Record<string, string>>;
  /** The database's address without the fault that loses answers; `null` for a file. */
  readonly directUrl: string | null;
  /** Runs one fault from beginning to end. */
  disturb(random: Random): Promise<void>;
}

/** Opens an empty ledger for each round. */
export interface LedgerStores {
  open(stateDir: string): Promise<LedgerStorage>;
  close(): Promise<void>;
}

/** Returns how long a fault lasts. Most faults end while a server still waits for the ledger. Some last longer. */
const faultMs = (random: Random, most: number): number =>
  random.chance(0.9) ? random.int(10, 500) : random.int(500, most);

/** Holds the write lock of a file for a while, like another program. */
async function disturbFile(file: string, random: Random): Promise<void> {
  if (!existsSync(file)) return;
  const db = new DatabaseSync(file, { timeout: 2000 });
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

type Proxy = Awaited<ReturnType<typeof startLossyProxy>>;

async function disturbServer(server: PostgresServer, proxy: Proxy, random: Random): Promise<void> {
  const ms = faultMs(random, 4500);
  switch (random.int(0, 3)) {
    case 0:
      server.freeze();
      await sleep(ms);
      server.thaw();
      return;
    case 1:
      await server.kill();
      await sleep(ms);
      await server.start();
      return;
    case 2:
      proxy.loseAnswers(random.int(1, 4));
      await sleep(Math.min(ms, 1000));
      proxy.loseAnswers(0);
      return;
    default:
      proxy.sever();
  }
}

export async function openLedgerStores(kind: StoreKind): Promise<LedgerStores> {
  if (kind === "sqlite") {
    return {
      open: async (stateDir) => ({
        env: {},
        directUrl: null,
        disturb: (random) => disturbFile(join(stateDir, "ledger.sqlite"), random),
      }),
      close: async () => undefined,
    };
  }
  const server = await PostgresServer.start();
  const proxy = await startLossyProxy(server.port);
  return {
    open: async () => {
      const directUrl = await server.newDatabase();
      const url = new URL(directUrl);
      url.port = String(proxy.port);
      // One fault after the other: a server that is being started cannot be killed.
      let last = Promise.resolve();
      const disturb = (random: Random): Promise<void> => {
        last = last.then(() => disturbServer(server, proxy, random));
        return last;
      };
      return { env: { AUDIO_STORE_URL: url.href }, directUrl, disturb };
    },
    close: async () => {
      await proxy.close();
      await server.remove();
    },
  };
}
