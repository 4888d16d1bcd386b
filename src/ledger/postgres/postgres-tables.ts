/**
 * Creates the ledger's tables in a database that has none. Refuses tables of another schema version or another program.
 */
import { z } from "zod";
import { SCHEMA_STATEMENTS, SCHEMA_VERSION } from "../schema.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import { foreignTablesError, otherPostgresSchemaError } from "./postgres-errors.ts";

/**
 * The number of the lock ("AuGM") that a process takes to create tables. The lock is needed because two processes may
 * start at once on an empty database.
 */
const CREATION_LOCK = 0x4175474d;

/** The statements that create the tables. Text sorts by bytes, as in SQLite, whatever the database's language. */
const CREATE_STATEMENTS: readonly string[] = [
  ...SCHEMA_STATEMENTS,
  `CREATE TABLE agm_layout (version INTEGER NOT NULL)`,
  `INSERT INTO agm_layout (version) VALUES (${SCHEMA_VERSION})`,
].map((text) => text.replaceAll(/ TEXT\b/g, ' TEXT COLLATE "C"'));

const nameRows = z.array(z.object({ tablename: z.string() }));
const versionRows = z.array(z.object({ version: z.int() }));

const FIND_TABLES =
  "SELECT tablename FROM pg_tables WHERE schemaname = ANY (current_schemas(false)) AND left(tablename, 4) = 'agm_'";

/**
 * Creates the tables if they are missing, and checks their schema version.
 *
 * @param description the name of the database, without credentials
 * @throws AudioError `store_unavailable` for tables of another version or another program. Errors of the server are
 *   thrown unchanged
 */
export async function prepareTables(connection: PostgresConnection, description: string): Promise<void> {
  const [found] = await connection.run(FIND_TABLES);
  const tableNames = nameRows.parse(found?.rows);
  if (tableNames.length === 0) {
    // Look for tables again after the lock is granted. Unlike to_regclass, this query sees tables that another process
    // has created meanwhile.
    const lock = `SELECT pg_advisory_xact_lock(${CREATION_LOCK})`;
    const [, , foundNow] = await connection.run("BEGIN", lock, FIND_TABLES);
    const isMade = nameRows.parse(foundNow?.rows).length > 0;
    await connection.run(...(isMade ? [] : CREATE_STATEMENTS), "COMMIT");
  } else if (!tableNames.some(({ tablename }) => tablename === "agm_layout")) {
    throw foreignTablesError(description);
  }
  const [versionResult] = await connection.run("SELECT version FROM agm_layout");
  if (versionRows.parse(versionResult?.rows)[0]?.version !== SCHEMA_VERSION)
    throw otherPostgresSchemaError(description);
}
