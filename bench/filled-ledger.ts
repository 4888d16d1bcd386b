/** Owns ledgers of a chosen size on either store: the bin makes the newest records itself, and the rest are copies of one of them. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@keyv/redis";
import { systemClock } from "../src/clock.ts";
import { createHolderId } from "../src/holder.ts";
import { SPEND_BUCKET_MS } from "../src/ledger/horizons.ts";
import { accountFingerprint, accountId } from "../src/ledger/identity.ts";
import type { Ledger } from "../src/ledger/ledger.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { accountKeys } from "../src/ledger/redis/redis-keys.ts";
import { BUCKETS_A_PART, LIST_ROWS } from "../src/ledger/redis/row-fragments.ts";
import { createLog } from "../src/log.ts";
import { RedisServer } from "../test/support/redis-server.ts";
import { OURS } from "./contenders.ts";
import { openPlace, type Place } from "./place.ts";
import { RawClient } from "./raw-client.ts";

export type StoreName = "SQLite" | "Redis";

/** Records made by real calls, with real files: more than a list of twenty shows. */
const REAL_RECORDS = 25;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Scripts of Redis hold everything else up, so a million copies are made in pieces. */
const COPIES_A_SCRIPT = 10_000;

/** A request that the ledger holds already. */
export const KNOWN_CALL = { prompt: "Number 7 of the newest" };

export interface FilledLedger {
  readonly records: number;
  /** For the bin; with a budget that nothing here reaches. */
  readonly env: Readonly<Record<string, string>>;
  /** The same account's ledger, opened in this process. */
  open(): Promise<Ledger>;
  remove(): Promise<void>;
}

/** Copies of the oldest record, spread over the day before it; columns and sums as the program writes them. */
function copyInSqlite(stateDir: string, copies: number): void {
  const database = new DatabaseSync(join(stateDir, "ledger.sqlite"));
  database.exec("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -262144; BEGIN IMMEDIATE");
  const { changes } = database
    .prepare(
      `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       INSERT INTO records (key, record_id, account_id, work_id, origin, task_id, status, is_open, is_listed,
           created_at_ms, revision, spend_credits, spend_bucket, value)
         SELECT replace(key, record_id, 'copy-' || n), 'copy-' || n, account_id, 'work-' || n, origin, 'task-' || n,
           status, is_open, is_listed, created_at_ms - n * ?, revision, spend_credits,
           CAST((created_at_ms - n * ?) / ${SPEND_BUCKET_MS} AS INTEGER),
           replace(replace(value, record_id, 'copy-' || n), task_id, 'task-' || n)
         FROM numbers, (SELECT * FROM records WHERE task_id IS NOT NULL ORDER BY created_at_ms LIMIT 1)`,
    )
    .run(copies, DAY_MS / copies, DAY_MS / copies);
  if (changes !== copies) throw new Error(`${changes} copies in place of ${copies}`);
  database.exec(`INSERT INTO paths (path, account_id, record_id)
    SELECT '/somewhere/' || record_id || '.mp3', account_id, record_id FROM records WHERE record_id LIKE 'copy-%'`);
  database.exec(`INSERT INTO spend (origin, bucket, credits)
    SELECT origin, spend_bucket, sum(spend_credits) FROM records WHERE spend_bucket IS NOT NULL GROUP BY 1, 2
    ON CONFLICT DO UPDATE SET credits = excluded.credits`);
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** KEYS: the list, the sums, the sums of parts, a real record. ARGV: prefix, its id, its task, first, last, step. */
const COPY = `
local newest, spend, parts, real = unpack(KEYS)
local prefix, id, task = ARGV[1], ARGV[2], ARGV[3]
local all = redis.call('HGETALL', real)
local fields = {}
for at = 1, #all, 2 do fields[all[at]] = all[at + 1] end
local function swap(text, old, new)
  local at, to = string.find(text, old, 1, true)
  while at do
    text = string.sub(text, 1, at - 1) .. new .. string.sub(text, to + 1)
    at, to = string.find(text, old, at + #new, true)
  end
  return text
end
local created = tonumber(fields.created)
for n = tonumber(ARGV[4]), tonumber(ARGV[5]) do
  local copy, copy_task, date = 'copy-' .. n, 'task-' .. n, created - n * tonumber(ARGV[6])
  local bucket = string.format('%d', math.floor(date / ${SPEND_BUCKET_MS}))
  local refs = { 'work:copy-' .. n, 'task:' .. copy_task, 'path:' .. redis.sha1hex(copy) }
  fields.value = swap(swap(fields.value, id, copy), task, copy_task)
  id, task = copy, copy_task
  fields.task, fields.created, fields.bucket, fields.refs = copy_task, string.format('%.3f', date), bucket, cjson.encode(refs)
  local flat = {}
  for name, value in pairs(fields) do flat[#flat + 1] = name; flat[#flat + 1] = value end
  redis.call('HSET', prefix .. 'record:' .. copy, unpack(flat))
  for _, ref in ipairs(refs) do redis.call('HSET', prefix .. ref, copy, '') end
  redis.call('ZADD', newest, fields.created, copy)
  redis.call('HINCRBYFLOAT', spend, bucket, fields.credits)
  redis.call('HINCRBYFLOAT', parts, string.format('%d', math.floor(bucket / ${BUCKETS_A_PART})), fields.credits)
end
redis.call('ZREMRANGEBYRANK', newest, 0, -${LIST_ROWS + 1})
return { id, task }`;

async function copyInRedis(url: string, account: string, copies: number): Promise<void> {
  const client = await createClient({ url }).connect();
  const { prefix, newest, spend, parts } = accountKeys(account);
  const [id = ""] = await client.zRange(newest, 0, 0);
  const real = `${prefix}record:${id}`;
  const task = (await client.hGet(real, "task")) ?? "";
  for (let from = 1; from <= copies; from += COPIES_A_SCRIPT) {
    const to = Math.min(copies, from + COPIES_A_SCRIPT - 1);
    await client.eval(COPY, {
      keys: [newest, spend, parts, real],
      arguments: [prefix, id, task, String(from), String(to), String(DAY_MS / copies)],
    });
  }
  const [last, more] = await Promise.all(
    [copies, copies + 1].map((number) => client.hLen(`${prefix}record:copy-${number}`)),
  );
  if (last === 0 || more !== 0) throw new Error(`the last of ${copies} copies is not there`);
  client.destroy();
}

/** The newest records, by the bin itself. */
async function makeRealRecords(env: Readonly<Record<string, string>>): Promise<void> {
  const client = new RawClient(OURS, env);
  await client.initialize();
  for (let number = 0; number < REAL_RECORDS; number += 1) {
    await client.call("generate_audio", { prompt: `Number ${number} of the newest` });
  }
  await client.stop();
}

/** A ledger that holds so many records of one account, all of one day. */
export async function openFilledLedger(name: StoreName, records: number): Promise<FilledLedger> {
  const place: Place = await openPlace(20_000);
  // What is written to an append-only file costs the same at every size, and would only hide what does not.
  const redis = name === "Redis" ? await RedisServer.start({ more: ["--appendonly", "no"] }) : null;
  const stateDir = place.env["AUDIO_STATE_DIR"] ?? "";
  const env = {
    ...place.env,
    AUDIO_CREDIT_BUDGET: String(1e12),
    ...(redis === null ? {} : { AUDIO_STORE_URL: redis.url }),
  };
  const remove = async (): Promise<void> => {
    await redis?.remove();
    await place.remove();
  };
  try {
    await makeRealRecords(env);
    const copies = records - REAL_RECORDS;
    if (redis === null) copyInSqlite(stateDir, copies);
    else await copyInRedis(redis.url, accountId(place.baseUrl, accountFingerprint(place.apiKey)), copies);
  } catch (error) {
    await remove();
    throw error;
  }
  const open = (): Promise<Ledger> =>
    openLedger({
      config: { stateDir, storeUrl: redis?.url ?? null },
      address: { baseUrl: place.baseUrl, apiKey: place.apiKey },
      holder: createHolderId(),
      log: createLog("silent", (text) => text),
      clock: systemClock,
    });
  return { records, env, open, remove };
}
