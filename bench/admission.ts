/** Measures what it costs to admit one create under a budget, in a small ledger and in one that is full, on either store. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@keyv/redis";
import { systemClock } from "../src/clock.ts";
import { newRecord } from "../src/generation/use-cases/find-record.ts";
import { createHolderId } from "../src/holder.ts";
import { accountId } from "../src/ledger/identity.ts";
import { Ledger } from "../src/ledger/ledger.ts";
import type { LedgerIdentity, LedgerStore } from "../src/ledger/ledger-store.ts";
import { openRedisStore } from "../src/ledger/redis/redis-store.ts";
import { openSqliteStore } from "../src/ledger/sqlite/sqlite-store.ts";
import { createLog } from "../src/log.ts";
import { RedisServer, whyNoRedis } from "../test/support/redis-server.ts";
import { atMost, printSamples, type Sample, sample, type Verdict } from "./measure.ts";

const ORIGIN = "https://service.example";
const DAY_MS = 24 * 60 * 60 * 1000;
const log = createLog("silent", (text) => text);

/** Records and accounts of the two ledgers that are compared; each account's records are spread over a day. */
const SMALL = { records: 1000, accounts: 1 };
const FULL = { records: 1_000_000, accounts: 1000 };
type Size = typeof SMALL;

const identityOf = (fingerprint: string): LedgerIdentity => ({
  origin: ORIGIN,
  accountId: accountId(ORIGIN, fingerprint),
  holder: createHolderId(),
});
const OWN = "account 0";

const LIMITS = {
  maxCreates: 1_000_000,
  windowMs: 60_000,
  maxInFlight: 2,
  lapseMs: 30_000,
  budget: { credits: 1e12, windowMs: DAY_MS },
};

/** One admission, and its taking back, which is not measured. */
async function admit(ledger: Ledger, number: number): Promise<number> {
  const work = {
    input: JSON.stringify({ prompt: `Admitted ${number}` }),
    take: 1,
    fileName: null,
    shelf: "output",
  } as const;
  const { record } = await ledger.claim(newRecord({ ledger, clock: systemClock }, work));
  const send = `send ${number}`;
  const beganAtMs = performance.now();
  const admission = await ledger.admit(record, send, LIMITS);
  const tookMs = performance.now() - beganAtMs;
  if (admission.kind !== "admitted") throw new Error(`the create was not admitted: ${admission.kind}`);
  const stored = await ledger.takeBack(admission.record, send);
  if (stored === null) throw new Error("the record is gone");
  await ledger.store.write({ ...stored, expectedRevision: stored.revision, after: null });
  return tookMs;
}

/** Copies of one finished record, as columns and sums hold them. */
function fillSqlite(stateDir: string, size: Size): void {
  const database = new DatabaseSync(join(stateDir, "ledger.sqlite"));
  const accounts = Array.from({ length: size.accounts }, (_, at) => identityOf(`account ${at}`).accountId);
  database.exec("CREATE TEMP TABLE accounts (number INTEGER PRIMARY KEY, id TEXT)");
  const add = database.prepare("INSERT INTO accounts VALUES (?, ?)");
  database.exec("BEGIN");
  for (const [number, id] of accounts.entries()) add.run(number, id);
  const now = Date.now();
  const step = DAY_MS / size.records;
  database
    .prepare(
      `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       INSERT INTO records (key, record_id, account_id, work_id, origin, task_id, status, is_open, created_at_ms,
         revision, spend_credits, spend_bucket, value)
       SELECT 'record:' || id || '/r' || n, 'r' || n, id, 'w' || n, ?, 't' || n, 'succeeded', 0, ? - n * ?, 5, 12,
         CAST((? - n * ?) / 900000 AS INTEGER), printf('%.*c', 900, 'x')
       FROM numbers JOIN accounts ON number = n % ?`,
    )
    .run(size.records - 1, ORIGIN, now, step, now, step, size.accounts);
  database.exec(`INSERT INTO spend SELECT origin, spend_bucket, sum(spend_credits) FROM records
    WHERE spend_bucket IS NOT NULL GROUP BY 1, 2 ON CONFLICT DO UPDATE SET credits = excluded.credits`);
  database.exec("COMMIT");
  database.close();
}

/** The same in Redis, account by account, by a script inside the server. */
const FILL = `
local prefix, account, count, now, step = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local value = string.rep('x', 900)
for n = 1, count do
  local at = now - n * step
  local bucket = string.format('%d', math.floor(at / 900000))
  redis.call('HSET', prefix .. 'record:r' .. n, 'value', value, 'revision', 5, 'status', 'succeeded', 'task', 't' .. n,
    'created', at, 'refs', '["work:w' .. n .. '","task:t' .. n .. '"]', 'flight', '', 'credits', 12, 'bucket', bucket)
  redis.call('HSET', prefix .. 'work:w' .. n, 'r' .. n, '')
  redis.call('HSET', prefix .. 'task:t' .. n, 'r' .. n, '')
  redis.call('ZADD', prefix .. 'newest', at, 'r' .. n)
  redis.call('HINCRBYFLOAT', prefix .. 'spend', bucket, 12)
  redis.call('HINCRBYFLOAT', prefix .. 'spend-parts', string.format('%d', math.floor(bucket / 24)), 12)
end`;

async function fillRedis(url: string, size: Size): Promise<void> {
  const client = createClient({ url });
  await client.connect();
  const count = size.records / size.accounts;
  for (let at = 0; at < size.accounts; at += 1) {
    const id = identityOf(`account ${at}`).accountId;
    const prefix = `audio-generation-mcp:2:{${id}}:`;
    await client.eval(FILL, {
      arguments: [prefix, id, String(count), String(Date.now()), String(DAY_MS / count)],
    });
  }
  client.destroy();
}

interface Filled {
  readonly store: LedgerStore;
  readonly ledger: Ledger;
}

function over(store: LedgerStore, identity: LedgerIdentity): Filled {
  return { store, ledger: new Ledger(store, identity, systemClock, log) };
}

async function compare(name: string, small: Filled, full: Filled, rounds: number): Promise<[Sample, Sample]> {
  const times: [number[], number[]] = [[], []];
  let number = 0;
  const warmUp = 50;
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [at, { ledger }] of [small, full].entries()) {
      number += 1;
      const tookMs = await admit(ledger, number);
      if (round >= 0) times[at]?.push(tookMs);
    }
  }
  return [
    sample(`${name}, ${SMALL.records.toLocaleString("en")} records`, "ms", times[0]),
    sample(`${name}, ${FULL.records.toLocaleString("en")} records`, "ms", times[1]),
  ];
}

async function benchSqlite(root: string, rounds: number): Promise<[Sample, Sample]> {
  const identity = identityOf(OWN);
  const open = async (name: string, size: Size): Promise<Filled> => {
    const stateDir = join(root, name);
    const store = openSqliteStore({ stateDir, log, clock: systemClock, identity });
    await store.check();
    await store.close();
    fillSqlite(stateDir, size);
    return over(openSqliteStore({ stateDir, log, clock: systemClock, identity }), identity);
  };
  const small = await open("small", SMALL);
  const full = await open("full", FULL);
  const samples = await compare("SQLite", small, full, rounds);
  for (const { store } of [small, full]) await store.close();
  return samples;
}

async function benchRedis(rounds: number): Promise<[Sample, Sample] | null> {
  if (whyNoRedis() !== undefined) return null;
  const identity = identityOf(OWN);
  const servers = [await RedisServer.start(), await RedisServer.start()];
  try {
    const filled: Filled[] = [];
    for (const [at, size] of [SMALL, FULL].entries()) {
      const storeUrl = servers[at]?.url ?? "";
      const open = { storeUrl, log, clock: systemClock, identity, machineId: "0".repeat(32) };
      const store = openRedisStore(open);
      await store.check();
      await fillRedis(storeUrl, size);
      filled.push(over(store, identity));
    }
    const [small, full] = filled;
    if (small === undefined || full === undefined) return null;
    const samples = await compare("Redis", small, full, rounds);
    for (const { store } of filled) await store.close();
    return samples;
  } finally {
    for (const server of servers) await server.remove();
  }
}

/** The same admission at a thousand and at a million records: the ratio is the verdict. */
export async function benchAdmission(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const root = await mkdtemp(join(tmpdir(), "agm-admission-"));
  try {
    const pairs = [await benchSqlite(root, rounds * 20), await benchRedis(rounds * 20)];
    const samples = pairs.flatMap((pair) => pair ?? []);
    printSamples("Admission of a create under a budget", samples);
    const ratioOf = (pair: readonly Sample[] | null | undefined): number =>
      (pair?.[1]?.median ?? Number.NaN) / (pair?.[0]?.median ?? Number.NaN);
    return {
      samples,
      verdicts: ["SQLite", "Redis"].map((name, at) =>
        atMost("growth", `admission on ${name} with 1,000,000 records, over 1,000`, ratioOf(pairs[at]), 1.3),
      ),
    };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
