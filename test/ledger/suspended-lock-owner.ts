/** A process that stops in the middle of a transaction with a lock on the row of an API key, and continues later. */
import { systemClock } from "../../src/clock.ts";
import { openDatabase } from "../../src/ledger/database.ts";
import { createLog } from "../../src/log.ts";

const [storeUrl = "", apiKeyId = ""] = process.argv.slice(2);
const log = createLog("silent", (text) => text);
const database = await openDatabase({ config: { stateDir: null, storeUrl }, log, clock: systemClock });
let runs = 0;
await database.tx(async (tx) => {
  await database.lockGate(tx, apiKeyId);
  runs += 1;
  if (runs === 1) process.kill(process.pid, "SIGSTOP");
});
await database.close();
process.stdout.write(`runs: ${runs}\n`);
