/** A process that stops in the middle of a transaction with a lock on the row of an API key, and continues later. */
import { PostgresEngine } from "../../src/ledger/postgres/postgres-engine.ts";
import { sql } from "../../src/ledger/store/sql-engine.ts";
import { createLog } from "../../src/log.ts";

const [storeUrl = "", apiKeyId = ""] = process.argv.slice(2);
const engine = new PostgresEngine({ storeUrl, log: createLog("silent", (text) => text) });
let runs = 0;
await engine.transact({
  durability: "survives_power_cut",
  locks: [sql("SELECT state FROM agm_api_keys WHERE api_key_id = ? FOR UPDATE", apiKeyId)],
  loadStatements: [],
  decide: () => {
    runs += 1;
    if (runs === 1) process.kill(process.pid, "SIGSTOP");
    return { result: undefined, saveStatements: [] };
  },
});
await engine.close();
process.stdout.write(`runs: ${runs}\n`);
