/** Owns the store on one machine: composes the ledger file's parts; knows nothing of other machines. */
import Keyv from "keyv";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { createRecords, RECORD_KEYV_OPTIONS } from "../records.ts";
import type { Store } from "../store.ts";
import { LedgerDatabase } from "./database.ts";
import { KeyvSqlite } from "./keyv-sqlite.ts";
import { SqliteCoordinator } from "./sqlite-coordinator.ts";

/** The ledger in `stateDir`; nothing is opened or created before its first use. */
export function openSqliteStore(options: { stateDir: string; log: Log; clock: Clock }): Store {
  const database = new LedgerDatabase(options.stateDir);
  const keyv = new Keyv(new KeyvSqlite(database), RECORD_KEYV_OPTIONS);
  return {
    records: createRecords(keyv, options.log, options.clock),
    coordinator: new SqliteCoordinator(database, options.clock),
    description: `SQLite file ${database.file}`,
    async check() {
      await database.write(
        (session) =>
          session.run(
            "INSERT INTO checks (name, count) VALUES ('writable', 1) ON CONFLICT (name) DO UPDATE SET count = count + 1",
          ),
        "process_kill",
      );
    },
    async close() {
      database.close();
    },
  };
}
