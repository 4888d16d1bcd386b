/** The ledger in a PostgreSQL database. Opens one connection, and creates the tables if the database has none. */
import { z } from "zod";
import { type PostgresAddress, parsePostgresAddress } from "../../config/postgres-address.ts";
import { AudioError } from "../../errors.ts";
import type { Connection, DatabaseFailure, Engine } from "../engine.ts";
import { TABLE_NAMES } from "../schema.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { describePostgresFailure, silentServerError } from "./postgres-errors.ts";
import { prepareTables } from "./postgres-tables.ts";

const SERVER_SETTINGS = `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  current_setting('server_encoding') AS encoding`;
const settingRow = z.tuple([
  z.object({
    fsync: z.string(),
    full_page_writes: z.string(),
    encoding: z.string(),
  }),
]);
const DENIED_TABLES = `SELECT name FROM unnest(ARRAY[${TABLE_NAMES.map((name) => `'${name}'`).join(", ")}]) AS name
  WHERE NOT (has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT')
    AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))`;
const nameRows = z.array(z.object({ name: z.string() }));

export interface PostgresEngineOptions {
  readonly storeUrl: string;
  /** An SQL expression for the clock in milliseconds. All users of the database must share this clock. */
  readonly clockSql?: () => string;
}

export class PostgresEngine implements Engine {
  readonly dialect = "postgres";
  readonly locksRows = true;
  readonly description: string;
  readonly clockSql: () => string;
  readonly silenceError: AudioError;
  readonly minPauseMs = 20;
  readonly #address: PostgresAddress;
  #connection: PostgresConnection | undefined;

  /**
   * Parses the address without connecting.
   *
   * @throws AudioError `configuration_error` for an invalid address
   */
  constructor({ storeUrl, clockSql }: PostgresEngineOptions) {
    const address = parsePostgresAddress(storeUrl);
    if ("what" in address) {
      throw new AudioError("configuration_error", `AUDIO_STORE_URL ${address.what}.`, {
        remedy: address.fix,
      });
    }
    const { host, port, database } = address;
    this.#address = address;
    const clock = clockSql ?? (() => "extract(epoch from clock_timestamp()) * 1000");
    this.clockSql = () => `(${clock()})::float8`;
    this.description = `PostgreSQL database ${database} on ${host.includes(":") ? `[${host}]` : host}:${port}`;
    this.silenceError = silentServerError(this.description);
  }

  async connect(untilMs: number): Promise<PostgresConnection> {
    if (this.#connection?.isLost === false) {
      this.#connection.untilMs = untilMs;
      return this.#connection;
    }
    const connection = await PostgresConnection.open({
      address: this.#address,
      clockSql: this.clockSql,
      untilMs,
    });
    try {
      await prepareTables(connection, this.description);
    } catch (error) {
      connection.drop();
      throw error;
    }
    this.#connection = connection;
    return connection;
  }

  describeFailure(error: unknown): DatabaseFailure | null {
    return describePostgresFailure(this.description, error);
  }

  async findWarnings(connection: Connection): Promise<string[]> {
    const read = async (sql: string) => (await connection.execute({ sql, values: [], isRead: true })).rows;
    const [{ encoding, ...switches }] = settingRow.parse(await read(SERVER_SETTINGS));
    const names = nameRows.parse(await read(DENIED_TABLES)).map(({ name }) => name);
    if (names.length > 0) {
      const message = `${this.description} does not let this user read and write every table.`;
      const remedy = `Let the owner of the tables run: GRANT SELECT, INSERT, UPDATE, DELETE ON ${names.join(", ")} TO this user.`;
      throw new AudioError("store_unavailable", message, { remedy });
    }
    return [
      ...Object.entries(switches)
        .filter(([, value]) => value === "off")
        .map(
          ([name]) => `A crash of the server can lose what was paid for (${name} is off): set ${name} to on.`,
        ),
      ...(encoding === "UTF8" || encoding === "SQL_ASCII"
        ? []
        : [
            `The database stores ${encoding}, which lacks characters of many languages: use a database in UTF8.`,
          ]),
    ];
  }

  async close(): Promise<void> {
    await this.#connection?.close();
    this.#connection = undefined;
  }
}
