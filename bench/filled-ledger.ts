/**
 * Adds copies of one record to a ledger, with their lookup keys and their spend, as the program would write them. The
 * dates of the copies are spread over the 24 hours before the record. Usage: `node bench/filled-ledger.ts COPIES`, with
 * the ledger's settings in the environment. Only this file of the bench knows the tables. Its statements run on SQLite
 * and on PostgreSQL.
 */
import { z } from "zod";
import { systemClock } from "../src/clock.ts";
import { openEngine } from "../src/ledger/open-ledger.ts";
import { sql } from "../src/ledger/store/sql-engine.ts";
import { createLog } from "../src/log.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const BUCKETS_A_DAY = 96;
/** How many copies one transaction adds. The engine gives up a transaction that takes seconds. */
const COPIES_A_TRANSACTION = 2000;

const copies = Number(process.argv[2]);
const engine = await openEngine({
  config: {
    stateDir: process.env["AUDIO_STATE_DIR"] ?? null,
    storeUrl: process.env["AUDIO_STORE_URL"] ?? null,
  },
  log: createLog("silent", (text) => text),
  clock: systemClock,
});
const [oldest] = await engine.read([
  sql(
    "SELECT api_key_id, record_id FROM agm_records WHERE spend_bucket IS NOT NULL ORDER BY created_at_ms LIMIT 1",
  ),
]);
const [{ api_key_id, record_id }] = z
  .tuple([z.object({ api_key_id: z.string(), record_id: z.string() })])
  .parse(oldest);

for (let first = 1; first <= copies; first += COPIES_A_TRANSACTION) {
  const last = Math.min(copies, first + COPIES_A_TRANSACTION - 1);
  const numbers = `WITH RECURSIVE numbers(n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${last})`;
  const ofOldest = "WHERE real.api_key_id = ? AND real.record_id = ?";
  const bucket = `real.spend_bucket - n * ${BUCKETS_A_DAY} / ${copies}`;
  const statements = [
    `${numbers} INSERT INTO agm_records (api_key_id, record_id, base_url, status, is_resumable, is_listed, created_at_ms, revision,
         spend_bucket, spend_credits, record_json)
       SELECT api_key_id, 'copy-' || n, base_url, status, is_resumable, is_listed, created_at_ms - n * ${DAY_MS / copies}, revision,
         ${bucket}, spend_credits, replace(record_json, record_id, 'copy-' || n)
       FROM numbers CROSS JOIN agm_records AS real ${ofOldest}`,
    `${numbers} INSERT INTO agm_lookup_keys (lookup_key, api_key_id, record_id)
       SELECT lookup_key || '-' || n, api_key_id, 'copy-' || n FROM numbers CROSS JOIN agm_lookup_keys AS real ${ofOldest}`,
    `${numbers} INSERT INTO agm_spend (base_url, bucket, credits)
       SELECT base_url, ${bucket}, sum(spend_credits) FROM numbers CROSS JOIN agm_records AS real ${ofOldest} GROUP BY 1, 2
       ON CONFLICT (base_url, bucket) DO UPDATE SET credits = agm_spend.credits + excluded.credits`,
  ];
  await engine.transact({
    durability: "survives_process_kill",
    locks: [],
    // The engine may repeat a transaction whose answer was lost. If the first copy exists, add nothing again.
    loadStatements: [
      sql("SELECT 1 FROM agm_records WHERE api_key_id = ? AND record_id = ?", api_key_id, `copy-${first}`),
    ],
    decide: ({ loaded: [done = []] }) => ({
      result: undefined,
      saveStatements: done.length > 0 ? [] : statements.map((text) => sql(text, api_key_id, record_id)),
    }),
  });
}
// PostgreSQL gathers these statistics by itself, but only after a minute.
if (process.env["AUDIO_STORE_URL"] !== undefined) {
  await engine.transact({
    durability: "survives_process_kill",
    locks: [],
    loadStatements: [],
    decide: () => ({
      result: undefined,
      saveStatements: [sql("ANALYZE agm_records"), sql("ANALYZE agm_lookup_keys")],
    }),
  });
}
await engine.close();
