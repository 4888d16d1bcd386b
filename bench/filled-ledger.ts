/**
 * Adds copies of one request to a ledger, with their attempts and files, as the program would write them. The copies are
 * ten seconds apart, as many as the service's limit of six a minute allows. Usage: `node bench/filled-ledger.ts COPIES`,
 * with the ledger's settings in the environment. Only this file of the bench knows the tables. Its statements run on
 * SQLite and on PostgreSQL.
 */
import { sql } from "kysely";
import { systemClock } from "../src/clock.ts";
import { openDatabase } from "../src/ledger/database.ts";
import { createLog } from "../src/log.ts";

const APART_MS = 10_000;
/** How many copies one transaction adds. The database gives up a transaction that takes seconds. */
const COPIES_A_TRANSACTION = 2000;

const copies = Number(process.argv[2]);
const storeUrl = process.env["AUDIO_STORE_URL"] ?? null;
const database = await openDatabase({
  config: { stateDir: process.env["AUDIO_STATE_DIR"] ?? null, storeUrl },
  log: createLog("silent", (text) => text),
  clock: systemClock,
});
const { id } = await database.run((db) =>
  db
    .selectFrom("agm_current_attempt")
    .select("id")
    .where("status", "=", "saved")
    .orderBy("created_at_ms")
    .executeTakeFirstOrThrow(),
);

for (let first = 1; first <= copies; first += COPIES_A_TRANSACTION) {
  const last = Math.min(copies, first + COPIES_A_TRANSACTION - 1);
  const numbers = `WITH RECURSIVE numbers(step) AS
    (SELECT ${first} UNION ALL SELECT step + 1 FROM numbers WHERE step < ${last})`;
  // A fraction, because whole numbers of PostgreSQL end at two thousand million.
  const earlier = (column: string): string => `${column} - step * ${APART_MS}.0 AS ${column}`;
  const statements = [
    `${numbers} INSERT INTO agm_request (id, base_url, api_key_id, fingerprint, loose, take, attempt, is_listed, error_code,
        owner, lease_until_steady_ms, created_at_ms, updated_at_ms, error, note, file_name, replaces, written, asked, body)
      SELECT 'copy-' || step, base_url, api_key_id, fingerprint || '-' || step, loose || '-' || step, take, attempt,
        is_listed, error_code, owner, lease_until_steady_ms, ${earlier("created_at_ms")}, ${earlier("updated_at_ms")},
        error, note, file_name, replaces, written, asked, body
      FROM numbers CROSS JOIN agm_request WHERE id = '${id}'`,
    `${numbers} INSERT INTO agm_attempt (request, n, status, maybe, send_id, sent_steady_ms, task_id, charged_credits,
        refunded_credits, audio_seconds, output_format, output_rate_hz, output_seconds, is_charge_told, is_paid, payer_run, spent_at_ms,
        accepted_at_ms, finished_at_ms, polled_steady_ms)
      SELECT 'copy-' || step, n, status, maybe, send_id, sent_steady_ms, task_id || '-' || step, charged_credits,
        refunded_credits, audio_seconds, output_format, output_rate_hz, output_seconds, is_charge_told, is_paid, payer_run,
        ${earlier("spent_at_ms")}, ${earlier("accepted_at_ms")}, ${earlier("finished_at_ms")}, polled_steady_ms
      FROM numbers CROSS JOIN agm_attempt WHERE request = '${id}'`,
    `${numbers} INSERT INTO agm_file (path, owner, kind, size_bytes, sha256, saved_at_ms)
      SELECT path || '-' || step, 'copy-' || step, kind, size_bytes, sha256, ${earlier("saved_at_ms")}
      FROM numbers CROSS JOIN agm_file WHERE owner = '${id}'`,
  ];
  await database.tx(async (tx) => {
    // The database may repeat a transaction whose answer was lost. If the first copy exists, add nothing again.
    const done = await tx.selectFrom("agm_request").select("id").where("id", "=", `copy-${first}`).execute();
    if (done.length > 0) return;
    for (const statement of statements) await sql.raw(statement).execute(tx);
  });
}
// PostgreSQL gathers these statistics by itself, but only after a minute.
if (storeUrl !== null) {
  for (const table of ["agm_request", "agm_attempt", "agm_file"])
    await database.run((db) => sql.raw(`ANALYZE ${table}`).execute(db));
}
await database.close();
