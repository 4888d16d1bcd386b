/** Opens the ledger's file so that each committed change is seen at once, in the order of the commits. */
import { DatabaseSync } from "node:sqlite";
import type { Database } from "../../../src/ledger/database.ts";
import type { Connection } from "../../../src/ledger/engine.ts";
import { createLog } from "../../../src/log.ts";
import type { ManualClock } from "../../support/manual-clock.ts";
import type { WorkflowCode } from "./code-under-test.ts";

export interface SeenNarration {
  readonly id: string;
  readonly status: string;
  readonly max_credits: number | null;
  readonly run: number;
}

export interface SeenAttempt {
  readonly request: string;
  readonly n: number;
  readonly fingerprint: string;
  readonly body: string;
  readonly take: number;
  readonly status: string;
  readonly maybe: number;
  readonly send_id: string | null;
  readonly task_id: string | null;
  readonly payer: string | null;
  readonly payer_run: number;
}

export interface SeenPart {
  readonly narration: string;
  readonly position: number;
  readonly fingerprint: string;
  readonly problem: string | null;
}

/** The rows that promises are about. */
export interface Seen {
  readonly narrations: readonly SeenNarration[];
  readonly attempts: readonly SeenAttempt[];
  readonly parts: readonly SeenPart[];
}

/** Reads the rows with a connection of its own. */
export class LedgerReader {
  readonly #db: DatabaseSync;
  readonly #select: ReadonlyArray<ReturnType<DatabaseSync["prepare"]>>;

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { timeout: 5000 });
    this.#select = [
      "SELECT id, status, max_credits, run FROM agm_narration",
      `SELECT a.request, a.n, r.fingerprint, r.body, r.take, a.status, a.maybe, a.send_id, a.task_id, a.payer, a.payer_run
       FROM agm_attempt a JOIN agm_request r ON r.id = a.request`,
      "SELECT narration, position, fingerprint, problem FROM agm_part ORDER BY narration, position",
    ].map((sql) => this.#db.prepare(sql));
  }

  read(): Seen {
    const [narrations, attempts, parts] = this.#select.map((statement) => statement.all());
    // The columns are those of the statements above.
    return { narrations, attempts, parts } as unknown as Seen;
  }

  /** Runs a statement outside of every process, as somebody does who changes the file by hand. */
  change(sql: string, ...values: readonly string[]): void {
    this.#db.prepare(sql).run(...values);
  }

  close(): void {
    this.#db.close();
  }
}

/** @param onCommit called right after each commit of this connection, before anything else can commit */
export function openObserved(
  code: WorkflowCode,
  stateDir: string,
  clock: Pick<ManualClock, "steadyMs">,
  timeScale: number,
  onCommit: () => void,
): Database {
  const engine = new code.SqliteEngine({ stateDir, clock });
  const connect = engine.connect.bind(engine);
  const seen = new WeakMap<object, Awaited<ReturnType<typeof connect>>>();
  engine.connect = async () => {
    const connection = await connect();
    const known = seen.get(connection);
    if (known !== undefined) return known;
    const observed = observe(connection, onCommit);
    seen.set(connection, observed);
    return observed;
  };
  const log = createLog("silent", (text) => text);
  return new code.Database(engine, { log, leaseMs: Math.max(3000, 15_000 * timeScale) });
}

function observe<Observed extends Connection>(connection: Observed, onCommit: () => void): Observed {
  let isInTransaction = false;
  const begin: Connection["begin"] = async (kind) => {
    await connection.begin(kind);
    isInTransaction = true;
  };
  const end = (name: "commit" | "rollBack") => async (): Promise<void> => {
    isInTransaction = false;
    // SQLite has run the statement when the call returns.
    const ended = connection[name]();
    if (name === "commit") onCommit();
    await ended;
  };
  const execute: Connection["execute"] = async (statement) => {
    const result = connection.execute(statement);
    if (!isInTransaction && !statement.isRead) onCommit();
    return await result;
  };
  const own: Partial<Connection> = { begin, execute, commit: end("commit"), rollBack: end("rollBack") };
  return new Proxy(connection, {
    get(inner, name) {
      const replaced: unknown = Reflect.get(own, name);
      if (replaced !== undefined) return replaced;
      const member: unknown = Reflect.get(inner, name, inner);
      return typeof member === "function" ? member.bind(inner) : member;
    },
  });
}
