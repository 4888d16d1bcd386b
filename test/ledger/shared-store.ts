/** Owns a store on Redis for tests of what befalls it: opened on an address, closed with the test. */
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { LedgerStore } from "../../src/ledger/ledger-store.ts";
import { rowOf } from "../../src/ledger/record.ts";
import { openRedisStore } from "../../src/ledger/redis/redis-store.ts";
import { createLog } from "../../src/log.ts";
import { failureOf } from "../api/failure.ts";
import { aRecord } from "./a-record.ts";

/** Connecting and one command together may take five seconds; the rest is a slow machine's. */
const BOUND_MS = 8_000;
/** Of {@link claim}'s record. */
export const KEY = "account/record-1";

export function openShared(storeUrl: string, logged: string[] = []): LedgerStore {
  const log = createLog(
    "debug",
    (text) => text,
    (line) => logged.push(line),
  );
  const identity = { origin: "https://service.example", accountId: "account", holder: "holder" };
  const store = openRedisStore({ storeUrl, log, clock: systemClock, identity, machineId: "machine" });
  onTestFinished(() => store.close());
  return store;
}

export const claim = (store: LedgerStore) => store.claim({ row: rowOf(aRecord()), leaseTtlMs: 15_000 });

/** A call that has to say, in time, that the store is away. */
export async function expectAway(call: Promise<unknown>): Promise<void> {
  const startedAtMs = performance.now();
  const failure = await failureOf(call);
  expect(failure.code).toBe("store_unavailable");
  expect(performance.now() - startedAtMs).toBeLessThan(BOUND_MS);
}
