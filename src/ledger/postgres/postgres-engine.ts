/**
 * The ledger in a PostgreSQL database. All calls of a process use one connection in turn. A call is repeated after a
 * transient error.
 */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { type PostgresAddress, parsePostgresAddress } from "../../config/postgres-address.ts";
import { AudioError } from "../../errors.ts";
import { describeCause, type Log } from "../../log.ts";
import { type Rows, type SqlEngine, type Statement, sql, type Transaction } from "../store/sql-engine.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import {
  isReadOnly,
  isSilence,
  isTransient,
  LostConnectionError,
  NoAnswerError,
  postgresError,
} from "./postgres-errors.ts";
import { prepareTables, TABLE_NAMES } from "./postgres-tables.ts";

/** How long a call tries again while the server is unavailable. After this time, the call reports the outage. */
const RETRY_MS = 5_000;
/** Minimum time for a conclusive try. A shorter try may time out although the server works. */
const MIN_TRY_MS = 2_000;
/**
 * For this long after an outage was reported, each call makes only one short try. A tool call uses the ledger several
 * times, and would otherwise wait for the whole retry time each time.
 */
const OUTAGE_KNOWN_MS = 10_000;
const SINGLE_TRY_MS = 2_000;

/**
 * How long the server must be silent before `outage` returns an error. A tool call that times out during an outage
 * reports the outage as the reason.
 */
const REPORT_OUTAGE_AFTER_MS = 500;

const NOT_ANSWERED = new LostConnectionError(new NoAnswerError());

const SETTINGS_STATEMENT = sql(
  `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
     current_setting('synchronous_commit') AS synchronous_commit, current_setting('server_encoding') AS encoding`,
);
const settingRow = z.tuple([
  z.object({
    fsync: z.string(),
    full_page_writes: z.string(),
    synchronous_commit: z.string(),
    encoding: z.string(),
  }),
]);
const RIGHTS_STATEMENT = sql(
  `SELECT name FROM unnest(ARRAY[${TABLE_NAMES.map((name) => `'${name}'`).join(", ")}]) AS name
   WHERE NOT (has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT')
     AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))`,
);
const nameRows = z.array(z.object({ name: z.string() }));

export interface PostgresEngineOptions {
  readonly storeUrl: string;
  readonly log: Pick<Log, "debug">;
  /** An SQL expression for the clock in milliseconds. All users of the database must share this clock. */
  readonly clockSql?: () => string;
}

type Work<T> = (connection: PostgresConnection, untilMs: number) => Promise<T>;

/**
 * Runs the ledger's transactions in a PostgreSQL database. The first call opens the connection, and creates the tables
 * if the database has none. Calls use the connection one after the other.
 *
 * After a transient error, a call is repeated for up to 5 s. Then the call throws AudioError `store_unavailable`.
 * During the next 10 s, each call is tried only once, unless the server has answered in the meantime.
 */
export class PostgresEngine implements SqlEngine {
  readonly forUpdate = " FOR UPDATE";
  readonly description: string;
  readonly #address: PostgresAddress;
  readonly #log: Pick<Log, "debug">;
  readonly #clockSql: () => string;
  #connection: PostgresConnection | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  /** When an outage of the server was last reported. */
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #lastError: unknown = NOT_ANSWERED;
  #waitingCount = 0;
  #waitingSinceMs = 0;
  #isClosed = false;

  /**
   * Parses the address without connecting.
   *
   * @throws AudioError `configuration_error` for an invalid address
   */
  constructor({ storeUrl, log, clockSql }: PostgresEngineOptions) {
    const address = parsePostgresAddress(storeUrl);
    if ("what" in address) {
      throw new AudioError("configuration_error", `AUDIO_STORE_URL ${address.what}.`, {
        remedy: address.fix,
      });
    }
    const { host, port, database } = address;
    this.#address = address;
    this.#log = log;
    this.#clockSql = clockSql ?? (() => "extract(epoch from clock_timestamp()) * 1000");
    this.description = `PostgreSQL database ${database} on ${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  get outage(): AudioError | null {
    const silentMs = performance.now() - Math.max(this.#waitingSinceMs, this.#answeredAtMs);
    return this.#waitingCount > 0 && silentMs > REPORT_OUTAGE_AFTER_MS
      ? postgresError(this.description, this.#lastError)
      : null;
  }

  transact<T>(transaction: Transaction<T>): Promise<T> {
    return this.#inTurn((connection, untilMs) => connection.transact(transaction, this.#clockSql(), untilMs));
  }

  read(statements: readonly Statement[]): Promise<Rows[]> {
    return this.#inTurn((connection, untilMs) => connection.read(statements, untilMs));
  }

  /**
   * Writes and deletes a test entry, and reads the server's settings. Touches no row that others lock, to avoid
   * deadlocks.
   */
  async check(): Promise<string[]> {
    await this.transact({
      durability: "survives_power_cut",
      locks: [],
      loadStatements: [],
      decide: () => ({
        result: undefined,
        saveStatements: [
          sql("INSERT INTO agm_documents (name, value) VALUES (?, '') ON CONFLICT DO NOTHING", "check"),
          sql("DELETE FROM agm_documents WHERE name = ?", "check"),
        ],
      }),
    });
    const [settings, denied] = await this.read([SETTINGS_STATEMENT, RIGHTS_STATEMENT]);
    const [{ encoding, ...switches }] = settingRow.parse(settings);
    const names = nameRows.parse(denied).map(({ name }) => name);
    return [
      ...Object.entries(switches)
        .filter(([, value]) => value === "off")
        .map(
          ([name]) => `A crash of the server can lose what was paid for (${name} is off): set ${name} to on.`,
        ),
      ...(names.length === 0
        ? []
        : [
            `This user may not read and write every table: grant SELECT, INSERT, UPDATE and DELETE on ${names.join(", ")}.`,
          ]),
      ...(encoding === "UTF8" || encoding === "SQL_ASCII"
        ? []
        : [
            `The database stores ${encoding}, which lacks characters of many languages: use a database in UTF8.`,
          ]),
    ];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lastTurn;
    await this.#connection?.close();
    this.#connection = undefined;
  }

  #inTurn<T>(work: Work<T>): Promise<T> {
    const askedAtMs = performance.now();
    if (this.#waitingCount === 0) this.#waitingSinceMs = askedAtMs;
    this.#waitingCount += 1;
    const turn = this.#lastTurn
      .then(() => this.#runWithRetries(work, askedAtMs))
      .finally(() => {
        this.#waitingCount -= 1;
      });
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #runWithRetries<T>(work: Work<T>, askedAtMs: number): Promise<T> {
    const isOutageKnown =
      this.#reportedAtMs > this.#answeredAtMs && performance.now() - this.#reportedAtMs < OUTAGE_KNOWN_MS;
    // Throw at once for a call that was already waiting when the server was reported as unreachable.
    if (isOutageKnown && askedAtMs <= this.#reportedAtMs)
      throw postgresError(this.description, this.#lastError);
    // If the server has answered another call since this call was made, start the retry time at that answer. Until that
    // answer, this call waited only for its turn, not for the server.
    const startedAtMs = isOutageKnown ? performance.now() : Math.max(askedAtMs, this.#answeredAtMs);
    const untilMs = startedAtMs + (isOutageKnown ? SINGLE_TRY_MS : RETRY_MS);
    let previousError: unknown;
    for (;;) {
      const isShortTry = untilMs - performance.now() < MIN_TRY_MS;
      try {
        return await this.#tryOnce(work, untilMs);
      } catch (tryError) {
        // If a short try gets no answer, report the error of the previous try. The previous error is the real reason,
        // because even a working server may not answer a short try in time.
        const error = isShortTry && isSilence(tryError) ? (previousError ?? tryError) : tryError;
        previousError = error;
        this.#lastError = error;
        if (!isTransient(error) || isOutageKnown || performance.now() >= untilMs) {
          if (this.#answeredAtMs <= startedAtMs) this.#reportedAtMs = performance.now();
          throw postgresError(this.description, error);
        }
        this.#log.debug(`the ledger's database is asked again: ${describeCause(error)}`);
        // Use Node's own timer, because it keeps the process alive for the next try. The timers of `Clock` would let
        // the process exit.
        await pause(20 + Math.random() * 80);
      }
    }
  }

  async #tryOnce<T>(work: Work<T>, untilMs: number): Promise<T> {
    const connection = await this.#ensureConnected(untilMs);
    try {
      return await work(connection, untilMs);
    } catch (error) {
      if (isReadOnly(error)) connection.drop();
      await connection.rollBack(untilMs);
      throw error;
    } finally {
      if (!connection.isLost) {
        this.#answeredAtMs = performance.now();
        this.#lastError = NOT_ANSWERED;
      }
    }
  }

  async #ensureConnected(untilMs: number): Promise<PostgresConnection> {
    if (this.#isClosed) throw new AudioError("store_unavailable", "The ledger was already closed.");
    if (this.#connection?.isLost === false) return this.#connection;
    const connection = await PostgresConnection.open(this.#address, untilMs);
    try {
      await prepareTables(connection, this.description, untilMs);
    } catch (error) {
      connection.drop();
      throw error;
    }
    this.#connection = connection;
    return connection;
  }
}
