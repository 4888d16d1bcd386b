/** One connection to PostgreSQL. Sends statements in batches, and limits the time of each answer. */
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import Client from "pg/lib/client.js";
import { z } from "zod";
import type { PostgresAddress } from "../../config/postgres-address.ts";
import { AudioError } from "../../errors.ts";
import { describeSystemError } from "../../files/file-error.ts";
import { type Rows, type SqlValue, type Statement, sql, type Transaction } from "../store/sql-engine.ts";
import { LostConnectionError, NoAnswerError, NotCommittedError } from "./postgres-errors.ts";

/**
 * How long the server waits for a lock, or for the next statement of a transaction. A process that hangs for longer
 * loses its transaction.
 */
const SERVER_WAIT_MS = 2_000;
const STATEMENT_MS = 2_200;
/**
 * Maximum wait for an answer of the server. It is longer than the server's own time limits, so that the server can
 * report a timeout itself. It is half of the engine's retry time, so that the engine can try twice.
 */
const ANSWER_MS = 2_500;
const CONNECT_MS = 2_000;
const CLOSE_MS = 500;

/** Sets the time limits within each transaction, because PgBouncer refuses them at the start of a connection. */
const BEGIN_STATEMENTS = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL lock_timeout = ${SERVER_WAIT_MS}; SET LOCAL statement_timeout = ${STATEMENT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${SERVER_WAIT_MS}`;

const clockRow = z.tuple([z.object({ now: z.number() })]);

interface Answer {
  readonly command: string;
  readonly rows: Rows;
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

/**
 * One connection to the database. After a timeout, or after the connection broke, `isLost` is true, and a new
 * connection must be opened. `untilMs` is always the time at which the caller stops waiting, on the clock of
 * `performance`. Calls throw LostConnectionError, NotCommittedError, or the error that the server reported.
 */
export class PostgresConnection {
  readonly #client: Client;
  readonly #socket: Socket;
  #isLost = false;

  private constructor(client: Client, socket: Socket) {
    this.#client = client;
    this.#socket = socket;
    // Listen to errors. Without a listener, a server that ends a connection would end this process.
    client.on("error", () => {
      this.#isLost = true;
    });
    client.on("end", () => {
      this.#isLost = true;
    });
  }

  /**
   * Opens a connection.
   *
   * @param untilMs the time at which the caller stops waiting, on the clock of `performance`
   */
  static async open(address: PostgresAddress, untilMs: number): Promise<PostgresConnection> {
    const socket = new Socket();
    const client = new PlainClient(address, socket);
    const connection = new PostgresConnection(client, socket);
    try {
      await connection.#runWithTimeout(CONNECT_MS, untilMs, () => client.connect());
    } catch (error) {
      connection.drop();
      throw error;
    }
    return connection;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async transact<T>(
    { durability, locks, loadStatements, decide }: Transaction<T>,
    clockSql: string,
    untilMs: number,
  ): Promise<T> {
    const begin =
      durability === "survives_power_cut"
        ? BEGIN_STATEMENTS
        : `${BEGIN_STATEMENTS}; SET LOCAL synchronous_commit = off`;
    // Read the clock in a separate statement after the locks, so that the clock shows the time at which the locks were
    // granted.
    const clock = sql(`SELECT (${clockSql})::float8 AS now`);
    const [, ...answers] = await this.run([sql(begin), ...locks, clock, ...loadStatements], untilMs);
    const rows = answers.map((answer) => answer.rows);
    const [{ now }] = clockRow.parse(rows[locks.length]);
    const { result, saveStatements } = decide({
      locked: rows.slice(0, locks.length),
      loaded: rows.slice(locks.length + 1),
      steadyMs: now,
    });
    const ends = await this.run([...saveStatements, sql("COMMIT")], untilMs);
    if (ends.at(-1)?.command !== "COMMIT") throw new NotCommittedError();
    return result;
  }

  async read(statements: readonly Statement[], untilMs: number): Promise<Rows[]> {
    if (statements.length < 2) return (await this.run(statements, untilMs)).map(({ rows }) => rows);
    const begin = sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const answers = await this.run([begin, ...statements, sql("COMMIT")], untilMs);
    return answers.slice(1, -1).map(({ rows }) => rows);
  }

  /**
   * Sends the statements together. Throws the error of the first statement that fails, because inside a transaction all
   * later ones fail, too.
   */
  run(statements: readonly Statement[], untilMs: number): Promise<Answer[]> {
    return this.#runWithTimeout(ANSWER_MS, untilMs, async () => {
      this.#client.ref();
      // Send all statements together, so that the server sends its answers together, too.
      this.#socket.cork();
      const queries = statements.map(({ sql: text, values }) =>
        this.#client.query(numberPlaceholders(text), values.map(withoutNul)),
      );
      this.#socket.uncork();
      const answers = await Promise.allSettled(queries);
      // Let the process end while the connection is idle.
      if (!this.#isLost) this.#client.unref();
      return answers.map((answer) => {
        if (answer.status === "rejected") throw answer.reason;
        return answer.value;
      });
    });
  }

  /**
   * Rolls back a transaction that failed, so that the connection can be used again. Drops the connection if the
   * rollback fails.
   */
  async rollBack(untilMs: number): Promise<void> {
    if (this.#isLost || this.#client.getTransactionStatus() === "I") return;
    await this.run([sql("ROLLBACK")], untilMs).catch(() => this.drop());
  }

  drop(): void {
    this.#isLost = true;
    this.#socket.destroy();
  }

  async close(): Promise<void> {
    const end = this.#client.end();
    const timer = setTimeout(() => this.drop(), CLOSE_MS);
    await end;
    clearTimeout(timer);
  }

  async #runWithTimeout<T>(maxMs: number, untilMs: number, work: () => Promise<T>): Promise<T> {
    const waitMs = Math.max(1, Math.min(maxMs, untilMs - performance.now()));
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

/**
 * Replaces NUL, because PostgreSQL's text cannot contain NUL. Values that the ledger stores contain NUL only in escaped
 * form, but a search value may contain NUL itself.
 */
const withoutNul = (value: SqlValue): SqlValue =>
  typeof value === "string" ? value.replaceAll("\0", "\u{fffd}") : value;

const NUMBERED_STATEMENTS = new Map<string, string>();

/**
 * Returns the statement with its `?` marks as `$1`, `$2`, and so on. No statement of the ledger has a `?` in a
 * literal.
 */
function numberPlaceholders(text: string): string {
  const cachedStatement = NUMBERED_STATEMENTS.get(text);
  if (cachedStatement !== undefined) return cachedStatement;
  let count = 0;
  const changed = text.replaceAll("?", () => {
    count += 1;
    return `$${count}`;
  });
  NUMBERED_STATEMENTS.set(text, changed);
  return changed;
}
