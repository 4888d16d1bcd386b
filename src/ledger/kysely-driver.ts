/** Connects Kysely, which builds the ledger's SQL, to the database's own connections. */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from "kysely";
import type { Connection, Engine, SqlValue } from "./engine.ts";
import type { Tables } from "./schema.ts";

export { sql } from "kysely";

/**
 * One call's use of the connection. It ends with the call or its transaction, so that a statement that nobody awaited
 * cannot get into the transaction of another call.
 */
class Session implements DatabaseConnection {
  readonly connection: Connection;
  isEnded = false;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.isEnded) throw new Error("a statement came after the end of its transaction");
    const { rows, changedRows } = await this.connection.execute({
      sql,
      values: parameters.map(toSqlValue),
      isRead: query.kind === "SelectQueryNode",
    });
    return {
      // Kysely computes the type of the rows from the query. The tables of schema.ts are what makes it true.
      rows: rows as Row[],
      ...(changedRows === null ? {} : { numAffectedRows: BigInt(changedRows) }),
    };
  }

  streamQuery(): never {
    throw new Error("the ledger reads no streams");
  }
}

function toSqlValue(value: unknown): SqlValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  throw new TypeError(`the ledger stores no value of the type ${typeof value}`);
}

class SessionDriver implements Driver {
  readonly #getConnection: () => Connection;

  constructor(getConnection: () => Connection) {
    this.#getConnection = getConnection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<Session> {
    return new Session(this.#getConnection());
  }

  async beginTransaction({ connection }: Session, { accessMode }: TransactionSettings): Promise<void> {
    await connection.begin(accessMode === "read only" ? "snapshot" : "write");
  }

  async commitTransaction(session: Session): Promise<void> {
    session.isEnded = true;
    await session.connection.commit();
  }

  async rollbackTransaction(session: Session): Promise<void> {
    session.isEnded = true;
    await session.connection.rollBack();
  }

  async releaseConnection(session: Session): Promise<void> {
    session.isEnded = true;
  }

  async destroy(): Promise<void> {}
}

/**
 * Creates the builder of queries over our own connections.
 *
 * @param getConnection returns the connection of the call that is running
 */
export function createKysely(
  { dialect }: Pick<Engine, "dialect">,
  getConnection: () => Connection,
): Kysely<Tables> {
  const isSqlite = dialect === "sqlite";
  return new Kysely<Tables>({
    dialect: {
      createDriver: () => new SessionDriver(getConnection),
      createAdapter: () => (isSqlite ? new SqliteAdapter() : new PostgresAdapter()),
      createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
      createIntrospector: (db) => (isSqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
    },
  });
}
