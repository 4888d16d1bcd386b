/**
 * Names the file of the SQLite ledger. The server loads this module when it starts, so this module imports no other
 * module of the ledger.
 */
import { join } from "node:path";

export const LEDGER_FILE_NAME = "ledger.sqlite";

export const buildLedgerPath = (stateDir: string): string => join(stateDir, LEDGER_FILE_NAME);
