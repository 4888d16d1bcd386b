/** Looks into a ledger file from outside, and holds its write lock so that its owners stand still. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { type TaskRecord, taskRecordSchema } from "../../src/ledger/record.ts";

const envelope = z.object({ value: taskRecordSchema });
const stored = z.array(z.object({ value: z.string() }));
const counted = z.object({ count: z.int() });
const summed = z.object({ credits: z.number() });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Kinds of writes, as a trigger tells them. */
const SLOW_WRITES = {
  admission: "INSERT ON slots WHEN new.limit_class = 'creates'",
  "end of a task": "UPDATE ON records WHEN old.flight IS NOT NULL AND new.flight IS NULL",
  "saved file": "INSERT ON paths",
};

export class LedgerPeek {
  readonly #db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Opens the ledger of a state folder, waiting until somebody has made it. */
  static async open(stateDir: string, withinMs = 5000): Promise<LedgerPeek> {
    const file = join(stateDir, "ledger.sqlite");
    const giveUpAtMs = performance.now() + withinMs;
    while (!existsSync(file)) {
      if (performance.now() > giveUpAtMs) throw new Error("no ledger was made");
      await turn();
    }
    return new LedgerPeek(new DatabaseSync(file, { timeout: 5000 }));
  }

  records(): TaskRecord[] {
    const rows = stored.parse(
      this.#db.prepare("SELECT value FROM records WHERE record_id IS NOT NULL").all(),
    );
    return rows.map(({ value }) => envelope.parse(JSON.parse(value)).value);
  }

  /** Records that take a place in flight. */
  inFlight(): number {
    const row = this.#db.prepare("SELECT count(*) AS count FROM records WHERE flight IS NOT NULL").get();
    return counted.parse(row).count;
  }

  /** Creates that count toward the six a minute. */
  createSlots(): number {
    const row = this.#db.prepare("SELECT count(*) AS count FROM slots WHERE limit_class = 'creates'").get();
    return counted.parse(row).count;
  }

  /** Credits that the budget counts. */
  countedCredits(): number {
    const row = this.#db.prepare("SELECT coalesce(sum(credits), 0) AS credits FROM spend").get();
    return summed.parse(row).credits;
  }

  integrity(): string {
    return JSON.stringify(this.#db.prepare("PRAGMA integrity_check").all());
  }

  /** Waits, without a lock, until the ledger shows something. */
  async until(shown: (peek: LedgerPeek) => boolean, withinMs = 10_000): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    while (!shown(this)) {
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never showed what was awaited");
      await turn();
    }
  }

  /** From now on one kind of write takes seconds, as on a disk that is very slow: time to be killed in its middle. */
  slowDown(write: keyof typeof SLOW_WRITES): void {
    this.run(`CREATE TRIGGER slow BEFORE ${SLOW_WRITES[write]} BEGIN
      SELECT (WITH RECURSIVE step(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < 30000000)
        SELECT count(*) FROM step); END`);
  }

  normalSpeed(): void {
    this.run("DROP TRIGGER IF EXISTS slow");
  }

  /** Runs SQL of a test's own, to damage or to obstruct the ledger. */
  run(sql: string): void {
    this.#db.exec(sql);
  }

  hold(): void {
    this.#db.exec("BEGIN IMMEDIATE");
  }

  release(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }

  /**
   * Lets the ledger's owners go on in very small steps until `reached`. From then on nobody can write, until
   * {@link release}: whoever wants to stands still just behind that point.
   */
  async freezeWhen(reached: (peek: LedgerPeek) => boolean, withinMs = 10_000): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    for (;;) {
      this.hold();
      if (reached(this)) return;
      this.release();
      if (performance.now() > giveUpAtMs) throw new Error("the ledger never came to the awaited point");
      await turn();
    }
  }

  close(): void {
    this.release();
    this.#db.close();
  }
}
