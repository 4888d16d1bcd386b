/** The ledger's database. Runs calls in turn, in transactions where needed, and repeats them after transient errors. */
import { setTimeout as pause } from "node:timers/promises";
import type { Kysely, Sql, Transaction } from "kysely";
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import { describeCause, type Log } from "../log.ts";
import { isProcessDead } from "../process-id.ts";
import type { Connection, Engine } from "./engine.ts";
import { scaleLeaseTtlMs } from "./limit-timing.ts";
import type { GateRow, Tables } from "./schema.ts";

/** The database outside a transaction. */
export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

const ROWS_AT_ONCE = 500;

/** Splits rows for several statements, because the number of parameters of one is limited. */
export function splitRows<T>(all: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < all.length; from += ROWS_AT_ONCE)
    chunks.push(all.slice(from, from + ROWS_AT_ONCE));
  return chunks;
}

export interface Lease {
  readonly owner: string | null;
  readonly lease_until_steady_ms: number;
}

export interface LockedGate extends GateRow {
  /** The steady time after the lock was granted, which is later than every time in the row. */
  readonly nowSteadyMs: number;
}

/** How long a call tries again while the database is busy or away. After this time, the call reports it. */
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
 * How long the database must be silent before `outage` returns an error. A tool call that times out during an outage
 * reports the outage as the reason.
 */
const REPORT_OUTAGE_AFTER_MS = 500;

type Work<T> = (connection: Connection) => Promise<T>;

export interface DatabaseOptions {
  readonly config: {
    readonly stateDir: string | null;
    readonly storeUrl: string | null;
    readonly timeScale?: number;
  };
  readonly log: Pick<Log, "debug">;
  readonly clock: Pick<Clock, "steadyMs">;
  /**
   * For tests: an SQL expression for PostgreSQL's steady clock in milliseconds. All users of the database must share
   * this clock.
   */
  readonly clockSql?: () => string;
}

/**
 * Creates the database that the settings choose, without opening it. Imports only the module of this engine.
 *
 * @throws AudioError `configuration_error` for an invalid address, or if there is no state folder
 */
export async function openDatabase({ config, log, clock, clockSql }: DatabaseOptions): Promise<Database> {
  const { stateDir, storeUrl, timeScale = 1 } = config;
  const leaseMs = scaleLeaseTtlMs(timeScale);
  if (storeUrl !== null) {
    const { PostgresEngine } = await import("./postgres/postgres-engine.ts");
    return new Database(new PostgresEngine({ storeUrl, ...(clockSql && { clockSql }) }), { log, leaseMs });
  }
  if (stateDir === null) {
    throw new AudioError("configuration_error", "AUDIO_STATE_DIR is not set, and there is no default.");
  }
  const { SqliteEngine } = await import("./sqlite/sqlite-engine.ts");
  return new Database(new SqliteEngine({ stateDir, clock }), { log, leaseMs });
}

/**
 * Runs calls on one connection, one after the other. The first call opens the database, and creates the tables if it
 * has none. So the work of a call must not wait for another call of the same database.
 *
 * After a transient error, the work is repeated for up to 5 s. Then the call throws AudioError `store_unavailable`. If
 * PostgreSQL was away, each call of the next 10 s is tried only once, unless the server has answered in the meantime.
 * Any other error of the work is thrown unchanged. Work must not catch errors of its statements, because PostgreSQL
 * then refuses the transaction.
 */
export class Database {
  /** How long a process that says nothing keeps what it has taken, in milliseconds. */
  readonly leaseMs: number;
  readonly #engine: Engine;
  readonly #log: Pick<Log, "debug">;
  #loaded: Promise<{ db: Db; sql: Sql }> | undefined;
  #connection: Connection | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  /** When an outage was last reported. */
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  /** The error of the newest try; `null` if it was answered. */
  #lastError: AudioError | null = null;
  #waitingCount = 0;
  #waitingSinceMs = 0;
  #isClosed = false;

  constructor(engine: Engine, { log, leaseMs }: { log: Pick<Log, "debug">; leaseMs: number }) {
    this.#engine = engine;
    this.#log = log;
    this.leaseMs = leaseMs;
  }

  /** Names the database for a person; never contains credentials. */
  get description(): string {
    return this.#engine.description;
  }

  /** The error of a database that has left callers without an answer for unusually long; `null` otherwise. */
  get outage(): AudioError | null {
    const silentMs = performance.now() - Math.max(this.#waitingSinceMs, this.#answeredAtMs);
    const { silenceError } = this.#engine;
    return silenceError !== null && this.#waitingCount > 0 && silentMs > REPORT_OUTAGE_AFTER_MS
      ? (this.#lastError ?? silenceError)
      : null;
  }

  /** Runs single statements, each in its own transaction. The work may run again, even if it took effect. */
  async run<T>(work: (db: Db) => Promise<T>): Promise<T> {
    const { db } = await this.#load();
    return await this.#inTurn(() => db.connection().execute(work));
  }

  /**
   * Runs a write transaction. The work should wait for nothing but its statements, because SQLite locks the file
   * meanwhile. It may run again after a conflict or a lost connection, even if the first commit took effect. So it must
   * recognise changes that the first run has already made.
   *
   * `nowSteadyMs` is read at the start of the transaction. On PostgreSQL, other processes may write later times while
   * this one waits for a lock.
   */
  async tx<T>(work: (tx: Tx, nowSteadyMs: number) => Promise<T>): Promise<T> {
    const { db } = await this.#load();
    return await this.#inTurn((connection) =>
      db.transaction().execute((tx) => work(tx, connection.nowSteadyMs)),
    );
  }

  /** Runs reads of one snapshot. `nowSteadyMs` is not earlier than any time in it. */
  async snapshot<T>(work: (tx: Tx, nowSteadyMs: number) => Promise<T>): Promise<T> {
    const { db } = await this.#load();
    return await this.#inTurn((connection) =>
      db
        .transaction()
        .setAccessMode("read only")
        .execute((tx) => work(tx, connection.nowSteadyMs)),
    );
  }

  /** Locks a row of agm_gate until the transaction ends, and returns it. Creates the row if it is missing. */
  async lockGate(tx: Tx, id: string): Promise<LockedGate> {
    const gate = await this.#findLockedGate(tx, id);
    if (gate !== undefined) return gate;
    await tx
      .insertInto("agm_gate")
      .values({
        id,
        cooldown_until_steady_ms: 0,
        read_cooldown_until_steady_ms: 0,
        sends: "[]",
        reads: "[]",
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const created = await this.#findLockedGate(tx, id);
    if (created === undefined) throw new Error("a row was deleted that nothing deletes");
    return created;
  }

  /** Locks a row until the transaction ends. */
  async lockRow(tx: Tx, table: "agm_narration" | "agm_request", id: string): Promise<void> {
    if (!this.#engine.locksRows) return;
    await tx.selectFrom(table).select("id").where("id", "=", id).forUpdate().execute();
  }

  /**
   * Whether a living process holds the lease. A lease that ends later than a lease can end was written before a restart
   * of the machine, so nobody holds it.
   */
  isHeld({ owner, lease_until_steady_ms }: Lease, nowSteadyMs: number): boolean {
    const leftMs = lease_until_steady_ms - nowSteadyMs;
    return owner !== null && leftMs > 0 && leftMs <= 2 * this.leaseMs && !isProcessDead(owner);
  }

  /**
   * Writes and deletes a test entry. Touches no row that others lock, to avoid deadlocks.
   *
   * @returns whole sentences about problems that do not prevent use but should be fixed
   */
  async check(): Promise<string[]> {
    // First what the server says of its rights, because it names the tables; a refused statement does not.
    const warnings = await this.#inTurn((connection) => this.#engine.findWarnings(connection));
    await this.tx(async (tx) => {
      await tx
        .insertInto("agm_document")
        .values({ name: "check", value: "" })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      await tx.deleteFrom("agm_document").where("name", "=", "check").execute();
    });
    return warnings;
  }

  /** Closes the database after the call that runs. Calls that wait and later ones are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lastTurn;
    await this.#engine.close();
  }

  async #findLockedGate(tx: Tx, id: string): Promise<LockedGate | undefined> {
    const { sql } = await this.#load();
    const { clockSql, locksRows } = this.#engine;
    const clock =
      clockSql === null ? sql<number>`${this.#getConnection().nowSteadyMs}` : sql.raw<number>(clockSql());
    return await tx
      .selectFrom((from) => {
        const row = from.selectFrom("agm_gate").selectAll().where("id", "=", id);
        // Lock the row in a subquery, because the clock must be read after the lock was granted.
        return (locksRows ? row.forUpdate() : row).as("gate");
      })
      .selectAll()
      .select(clock.as("nowSteadyMs"))
      .executeTakeFirst();
  }

  /** Loads Kysely on the first call, because the server starts sooner without it. */
  #load(): Promise<{ db: Db; sql: Sql }> {
    this.#loaded ??= import("./kysely-driver.ts").then(({ createKysely, sql }) => ({
      db: createKysely(this.#engine, () => this.#getConnection()),
      sql,
    }));
    return this.#loaded;
  }

  #getConnection(): Connection {
    if (this.#connection === undefined) throw new Error("a statement came outside its turn");
    return this.#connection;
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
    const engine = this.#engine;
    const isOutageKnown =
      engine.silenceError !== null &&
      this.#reportedAtMs > this.#answeredAtMs &&
      performance.now() - this.#reportedAtMs < OUTAGE_KNOWN_MS;
    // Throw at once for a call that was already waiting when the server was reported as unreachable.
    if (isOutageKnown && askedAtMs <= this.#reportedAtMs && this.#lastError !== null) throw this.#lastError;
    // If the database has answered another call since this call was made, start the retry time at that answer. Until
    // that answer, this call waited only for its turn, not for the database.
    const startedAtMs = isOutageKnown ? performance.now() : Math.max(askedAtMs, this.#answeredAtMs);
    const untilMs = startedAtMs + (isOutageKnown ? SINGLE_TRY_MS : RETRY_MS);
    let previousError: AudioError | null = null;
    for (;;) {
      const isShortTry = untilMs - performance.now() < MIN_TRY_MS;
      try {
        return await this.#tryOnce(work, untilMs);
      } catch (tryError) {
        const failure = engine.describeFailure(tryError);
        if (failure === null) throw tryError;
        // If a short try gets no answer, report the error of the previous try. The previous error is the real reason,
        // because even a working server may not answer a short try in time.
        const error: AudioError =
          isShortTry && failure.isSilence ? (previousError ?? failure.error) : failure.error;
        const isFirst = previousError === null;
        previousError = error;
        this.#lastError = error;
        if (!failure.isTransient || isOutageKnown || performance.now() >= untilMs) {
          if (this.#answeredAtMs <= startedAtMs) this.#reportedAtMs = performance.now();
          throw error;
        }
        if (isFirst) this.#log.debug(`the ledger's database is asked again: ${describeCause(tryError)}`);
        // Use Node's own timer, because it keeps the process alive for the next try. The timers of `Clock` would let
        // the process exit.
        await pause(engine.minPauseMs * (1 + 4 * Math.random()));
      }
    }
  }

  async #tryOnce<T>(work: Work<T>, untilMs: number): Promise<T> {
    if (this.#isClosed) throw new AudioError("store_unavailable", "The ledger was already closed.");
    const connection = await this.#engine.connect(untilMs);
    this.#connection = connection;
    try {
      return await work(connection);
    } catch (error) {
      await connection.rollBack();
      throw error;
    } finally {
      this.#connection = undefined;
      if (!connection.isLost) {
        this.#answeredAtMs = performance.now();
        this.#lastError = null;
      }
    }
  }
}
