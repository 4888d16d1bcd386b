/**
 * Adds copies of one record to a ledger, spread over the day before it, with every column, name and sum that the
 * program writes: `node bench/filled-ledger.ts COPIES`, with the ledger's settings in the environment. Nothing else in
 * the bench knows the tables.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SPEND_BUCKET_MS } from "../src/ledger/horizons.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

const copies = Number(process.argv[2]);
const database = new DatabaseSync(join(process.env["AUDIO_STATE_DIR"] ?? "", "ledger.sqlite"));
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
