/** Names the file of the SQLite ledger. This module is small, because the server needs the name when it starts. */
import { join } from "node:path";

export const LEDGER_FILE_NAME = "ledger.sqlite";

export const buildLedgerPath = (stateDir: string): string => join(stateDir, LEDGER_FILE_NAME);
