/** One connection to PostgreSQL. Sends statements together where it can, and limits the time of each answer. */
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import Client from "pg/lib/client.js";
import { z } from "zod";
import type { PostgresAddress } from "../../config/postgres-address.ts";
import { AudioError } from "../../errors.ts";
import { describeSystemError } from "../../files/file-error.ts";
import type { Connection, SqlValue, Statement, StatementResult, TransactionKind } from "../engine.ts";
import { isReadOnly, LostConnectionError, NoAnswerError, NotCommittedError } from "./postgres-errors.ts";

/**
 * How long the server waits for a lock, or for the next statement of a transaction. A process that hangs for longer
 * loses its transaction.
 */
const SERVER_WAIT_MS = 2_000;
const STATEMENT_MS = 2_200;
/**
 * Maximum wait for an answer of the server. It is longer than the server's own time limits, so that the server can
 * report a timeout itself. It is half of the retry time of a call, so that a call can be tried twice.
 */
const ANSWER_MS = 2_500;
const CONNECT_MS = 2_000;
const CLOSE_MS = 500;

/** Settings hold for each transaction, because PgBouncer refuses them at the start of a connection. */
const SET_TIME_LIMITS = `SET LOCAL lock_timeout = ${SERVER_WAIT_MS}; SET LOCAL statement_timeout = ${STATEMENT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${SERVER_WAIT_MS}`;
const BEGIN_STATEMENTS: Readonly<Record<TransactionKind, string>> = {
  // A commit is flushed before it is answered, whatever the server's default says: money is spent on its word.
  write: `BEGIN ISOLATION LEVEL READ COMMITTED; ${SET_TIME_LIMITS}; SET LOCAL synchronous_commit = on`,
  snapshot: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${SET_TIME_LIMITS}`,
};

const clockRow = z.tuple([z.object({ now: z.number() })]);

/** The numbers of PostgreSQL's types whose values pg would return as text or as booleans. */
const BIGINT_TYPE = 20;
const NUMERIC_TYPE = 1700;
const BOOLEAN_TYPE = 16;

type Query = Pick<Statement, "sql" | "values"> | string;

interface Answer {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

class PlainClient extends Client {
  readonly #address: PostgresAddress;

  constructor(address: PostgresAddress, socket: Socket) {
    const { host, port, database, user, password } = address;
    super({
      ...{ host, port, database, user },
      // Pass the password as a function, because pg would replace an empty password with that of PGPASSWORD or
      // ~/.pgpass.
      password: () => password,
      ssl: buildTlsOptions(address),
      sslnegotiation: "postgres",
      stream: () => socket,
      keepAlive: true,
      pipeline: true,
    });
    this.#address = address;
    // Return the same values as SQLite. No number of the ledger is too large for a JavaScript number.
    this.setTypeParser(BIGINT_TYPE, Number);
    this.setTypeParser(NUMERIC_TYPE, Number);
    this.setTypeParser(BOOLEAN_TYPE, (text) => Number(text === "t"));
  }

  /** Ignores the environment variables PGOPTIONS, PGREPLICATION and PGAPPNAME. */
  override getStartupConf(): Record<string, string> {
    const { user, database } = this.#address;
    return { user, database, application_name: "audio-generation-mcp", client_encoding: "UTF8" };
  }
}

/**
 * Returns the options of TLS; `false` for a connection without TLS. All checks are set explicitly, so that neither
 * NODE_TLS_REJECT_UNAUTHORIZED nor options of the process weaken them.
 */
function buildTlsOptions({ tls }: PostgresAddress): ConnectionOptions | false {
  if (tls === null) return false;
  const checked = { rejectUnauthorized: true, minVersion: "TLSv1.2" } as const;
  if (tls.rootCertificate === null) return checked;
  try {
    return { ...checked, ca: readFileSync(tls.rootCertificate) };
  } catch (error) {
    const reason = describeSystemError(error) ?? "it cannot be read";
    throw new AudioError("store_unavailable", `The file of sslrootcert cannot be read: ${reason}.`, {
      remedy: "Correct sslrootcert in AUDIO_STORE_URL.",
      cause: error,
    });
  }
}

interface PostgresConnectionOptions {
  readonly address: PostgresAddress;
  /** An SQL expression for the steady time in milliseconds. */
  readonly clockSql: () => string;
  /** When the caller stops waiting, on the clock of `performance`. */
  readonly untilMs: number;
}

/**
 * One connection to the database. After a timeout, or after the connection broke, `isLost` is true, and a new
 * connection must be opened. Calls throw LostConnectionError, NotCommittedError, or the error that the server reported.
 */
export class PostgresConnection implements Connection {
  isLost = false;
  nowSteadyMs = 0;
  /** When the present caller stops waiting, on the clock of `performance`. */
  untilMs: number;
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #clockSql: () => string;

  private constructor({ address, clockSql, untilMs }: PostgresConnectionOptions) {
    this.#socket = new Socket();
    const client = new PlainClient(address, this.#socket);
    this.#client = client;
    this.#clockSql = clockSql;
    this.untilMs = untilMs;
    // Listen to errors. Without a listener, a server that ends a connection would end this process.
    client.on("error", () => {
      this.isLost = true;
    });
    client.on("end", () => {
      this.isLost = true;
    });
  }

  /** Opens a connection. */
  static async open(options: PostgresConnectionOptions): Promise<PostgresConnection> {
    const connection = new PostgresConnection(options);
    try {
      await connection.#runWithTimeout(CONNECT_MS, () => connection.#client.connect());
    } catch (error) {
      connection.drop();
      throw error;
    }
    return connection;
  }

  async execute(statement: Statement): Promise<StatementResult> {
    const isAlone = !this.#isInTransaction && !statement.isRead;
    // Let a single write have the time limits of a transaction, because it may wait for a lock, too.
    const answers = isAlone
      ? await this.run(BEGIN_STATEMENTS.write, statement, "COMMIT")
      : await this.run(statement);
    if (isAlone) requireCommit(answers.at(-1));
    const { rows = [], rowCount = null } = answers[isAlone ? 1 : 0] ?? {};
    return { rows, changedRows: statement.isRead ? null : rowCount };
  }

  async begin(kind: TransactionKind): Promise<void> {
    const [, clock] = await this.run(BEGIN_STATEMENTS[kind], `SELECT ${this.#clockSql()} AS now`);
    this.nowSteadyMs = clockRow.parse(clock?.rows)[0].now;
  }

  async commit(): Promise<void> {
    const [answer] = await this.run("COMMIT");
    requireCommit(answer);
  }

  /**
   * Sends the statements together. Throws the error of the first statement that fails, because inside a transaction all
   * later ones fail, too. After an error of a read-only server, drops the connection, because after a failover only a
   * new connection leads to the new primary at the same address.
   */
  run(...queries: readonly Query[]): Promise<Answer[]> {
    return this.#runWithTimeout(ANSWER_MS, async () => {
      this.#client.ref();
      // Send all statements together, so that the server sends its answers together, too.
      this.#socket.cork();
      const sent = queries.map((query) =>
        typeof query === "string"
          ? this.#client.query(query)
          : this.#client.query(query.sql, query.values.map(withoutNul)),
      );
      this.#socket.uncork();
      const answers = await Promise.allSettled(sent);
      // Let the process end while the connection is idle.
      if (!this.isLost) this.#client.unref();
      return answers.map((answer) => {
        if (answer.status === "fulfilled") return answer.value;
        if (isReadOnly(answer.reason)) this.drop();
        throw answer.reason;
      });
    });
  }

  async rollBack(): Promise<void> {
    if (this.isLost || !this.#isInTransaction) return;
    await this.run("ROLLBACK").catch(() => this.drop());
  }

  drop(): void {
    this.isLost = true;
    this.#socket.destroy();
  }

  async close(): Promise<void> {
    const end = this.#client.end();
    const timer = setTimeout(() => this.drop(), CLOSE_MS);
    await end;
    clearTimeout(timer);
  }

  get #isInTransaction(): boolean {
    return this.#client.getTransactionStatus() !== "I";
  }

  async #runWithTimeout<T>(maxMs: number, work: () => Promise<T>): Promise<T> {
    const waitMs = Math.max(1, Math.min(maxMs, this.untilMs - performance.now()));
    // Close the connection on a timeout. Otherwise, a late answer would be taken for the answer to a later request.
    const timer = setTimeout(() => this.#socket.destroy(new NoAnswerError()), waitMs);
    try {
      return await work();
    } catch (error) {
      // Errors of the server have a severity; errors of the connection have none.
      if (error instanceof Error && "severity" in error && error.severity !== undefined) throw error;
      this.drop();
      throw new LostConnectionError(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Requires that the server has committed. If a statement has failed, the server answers COMMIT with ROLLBACK. */
function requireCommit(answer: Answer | undefined): void {
  if (answer?.command !== "COMMIT") throw new NotCommittedError();
}

/**
 * Replaces NUL, because PostgreSQL's text cannot contain NUL. Values that the ledger stores contain NUL only in escaped
 * form, but a search value may contain NUL itself.
 */
const withoutNul = (value: SqlValue): SqlValue =>
  typeof value === "string" ? value.replaceAll("\0", "\u{fffd}") : value;
