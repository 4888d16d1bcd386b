/**
 * What one admission costs in Redis, in a ledger of a thousand records and in one of a million (of a thousand
 * accounts), asked in turns: `node bench/redis-admission.ts [records]`. Takes about three minutes and 3 GB.
 */
import { performance } from "node:perf_hooks";
import { systemClock } from "../src/clock.ts";
import { accountId, recordId, workId } from "../src/ledger/identity.ts";
import type { LedgerStore } from "../src/ledger/ledger-store.ts";
import { rowOf, type TaskRecord } from "../src/ledger/record.ts";
import { openRedisStore } from "../src/ledger/redis/redis-store.ts";
import { createLog } from "../src/log.ts";
import { aRecord } from "../test/ledger/a-record.ts";
import { RedisServer } from "../test/support/redis-server.ts";

const FEW = 1_000;
const MANY = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 4_000;
/** The first are slower: scripts are taught, code is compiled. */
const WARM_UP = 200;
const TWO_DAYS_MS = 48 * 60 * 60 * 1000;
const ORIGIN = "https://service.example";

const account = (at: number): string => accountId(ORIGIN, `key ${at}`);

function newRecord(owner: string, text: string, changes: Partial<TaskRecord>): TaskRecord {
  const work = workId(ORIGIN, text, 1);
  const ids = { recordId: recordId(work, owner), workId: work, accountId: owner, origin: ORIGIN };
  return aRecord({ ...ids, input: text, taskId: null, createdAtMs: Date.now(), ...changes });
}

function open(server: RedisServer, owner: string): LedgerStore {
  const identity = { origin: ORIGIN, accountId: owner, holder: "bench" };
  const log = createLog("warn", (text) => text);
  return openRedisStore({ storeUrl: server.url, log, clock: systemClock, identity, machineId: "bench" });
}

/** Each account's records are of the last two days, as many quarters of an hour as there are. */
async function fill(server: RedisServer, records: number, accounts: number): Promise<void> {
  const store = open(server, account(0));
  for (let from = 0; from < records; from += 1000) {
    const writes = Array.from({ length: Math.min(1000, records - from) }, (_, index) => {
      const at = from + index;
      const spend = { credits: 0.001, atMs: Date.now() - (at / records) * TWO_DAYS_MS };
      const path = `/audio/${at}.mp3`;
      const files = [{ path, sizeBytes: 1, sha256: "0", savedAtMs: 1, isSound: true }];
      const ended = { status: "succeeded" as const, taskId: `task-${at}`, spend, files };
      const record = newRecord(account(at % accounts), `text ${at}`, ended);
      const { accountId: owner, recordId: id } = record;
      return store.write({ accountId: owner, recordId: id, expectedRevision: null, after: rowOf(record) });
    });
    await Promise.all(writes);
  }
  await store.close();
}

/** Milliseconds of one admission; what it leaves is taken back. */
async function admissionMs(store: LedgerStore, name: string): Promise<number> {
  const record = newRecord(account(0), name, { status: "waiting" });
  await store.claim({ row: rowOf(record), leaseTtlMs: 15_000 });
  const spend = { credits: 150, atMs: Date.now() };
  const after = rowOf({ ...record, revision: 2, status: "unresolved", spend });
  const budget = { credits: 1e9, windowMs: TWO_DAYS_MS / 2 };
  const limits = { maxCreates: 6, windowMs: 60_000, maxInFlight: 2, lapseMs: 30_000, budget };
  const startedAtMs = performance.now();
  const admission = await store.admit({ ...limits, after, expectedRevision: 1, slotId: name });
  const endedAtMs = performance.now();
  if (admission.kind !== "admitted") throw new Error(JSON.stringify(admission));
  const settle = { limitClass: "creates", slotId: name, outcome: "unsent" } as const;
  const { accountId: owner, recordId: id } = record;
  await store.write({ accountId: owner, recordId: id, expectedRevision: 2, after: null, settle });
  return endedAtMs - startedAtMs;
}

/** Without its journal: what the disk takes is the same for both. */
const inMemory = { more: ["--appendonly", "no"] };
const servers = await Promise.all([RedisServer.start(inMemory), RedisServer.start(inMemory)]);
try {
  const [few, many] = servers;
  await Promise.all([fill(few, FEW, 1), fill(many, MANY, 1000)]);
  const stores = servers.map((server) => ({ store: open(server, account(0)), times: [] as number[] }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { store, times } of stores) {
      const ms = await admissionMs(store, `new ${round}`);
      if (round >= WARM_UP) times.push(ms);
    }
  }
  const medians = stores.map(({ times }) => times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN);
  const [fewMs = Number.NaN, manyMs = Number.NaN] = medians;
  console.log(`${FEW} records: ${fewMs.toFixed(3)} ms; ${MANY}: ${manyMs.toFixed(3)} ms`);
  console.log(`ratio ${(manyMs / fewMs).toFixed(2)} (at most 1.3)`);
  for (const { store } of stores) await store.close();
} finally {
  await Promise.all(servers.map((server) => server.remove()));
}
