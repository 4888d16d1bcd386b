/** The tasks table: one row a task, which ends once. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import { type TaskRecord, taskRecordSchema } from "./task.ts";

export type NewTask = Pick<
  TaskRecord,
  "id" | "account_id" | "idempotency_key" | "input_json" | "input_sha256" | "doomed" | "created_ms"
>;

/** How a task ended: with stored audio and a charge, or with an error and none. */
export type TaskEnding =
  | {
      readonly status: "succeeded";
      readonly chargedCredits: number;
      readonly audioSeconds: number;
      readonly audioBytes: number;
    }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

const countRow = z.object({ count: z.int() });

/** Not terminal. The partial index of the same words serves every statement that says it. */
const OPEN = "status IN ('queued', 'processing')";

export class TaskStore {
  readonly #byId: StatementSync;
  readonly #byKey: StatementSync;
  readonly #open: StatementSync;
  readonly #countOpen: StatementSync;
  readonly #countOpenOf: StatementSync;
  readonly #insert: StatementSync;
  readonly #process: StatementSync;
  readonly #succeed: StatementSync;
  readonly #fail: StatementSync;

  constructor(database: DatabaseSync) {
    this.#byId = database.prepare("SELECT * FROM tasks WHERE id = ?");
    this.#byKey = database.prepare("SELECT * FROM tasks WHERE account_id = ? AND idempotency_key = ?");
    this.#open = database.prepare(`SELECT * FROM tasks WHERE ${OPEN} ORDER BY created_ms, rowid`);
    this.#countOpen = database.prepare(`SELECT count(*) AS count FROM tasks WHERE ${OPEN}`);
    this.#countOpenOf = database.prepare(
      `SELECT count(*) AS count FROM tasks WHERE account_id = ? AND ${OPEN}`,
    );
    this.#insert = database.prepare(
      `INSERT INTO tasks (id, account_id, idempotency_key, input_json, input_sha256, status, doomed, created_ms)
       VALUES (?, ?, ?, ?, ?, 'queued', ?, ?) RETURNING *`,
    );
    this.#process = database.prepare(
      "UPDATE tasks SET status = 'processing' WHERE id = ? AND status = 'queued'",
    );
    this.#succeed = database.prepare(
      `UPDATE tasks SET status = 'succeeded', charged_credits = ?, audio_seconds = ?, audio_bytes = ?
       WHERE id = ? AND ${OPEN}`,
    );
    this.#fail = database.prepare(
      `UPDATE tasks SET status = 'failed', charged_credits = 0, error_code = ?, error_message = ?
       WHERE id = ? AND ${OPEN}`,
    );
  }

  find(id: string): TaskRecord | undefined {
    return taskRecordSchema.optional().parse(this.#byId.get(id));
  }

  /** The task that a key of this account made (docs/contract.md, Idempotency). */
  findByKey(accountId: string, idempotencyKey: string): TaskRecord | undefined {
    return taskRecordSchema.optional().parse(this.#byKey.get(accountId, idempotencyKey));
  }

  /** Every task that is not terminal, oldest first. */
  open(): TaskRecord[] {
    return taskRecordSchema.array().parse(this.#open.all());
  }

  countOpen(): number {
    return countRow.parse(this.#countOpen.get()).count;
  }

  countOpenOf(accountId: string): number {
    return countRow.parse(this.#countOpenOf.get(accountId)).count;
  }

  insert(task: NewTask): TaskRecord {
    return taskRecordSchema.parse(
      this.#insert.get(
        task.id,
        task.account_id,
        task.idempotency_key,
        task.input_json,
        task.input_sha256,
        task.doomed,
        task.created_ms,
      ),
    );
  }

  markProcessing(id: string): void {
    this.#process.run(id);
  }

  /** @returns whether this call ended it; a task ends once, so only then may its reservation be settled. */
  end(id: string, ending: TaskEnding): boolean {
    const { changes } =
      ending.status === "succeeded"
        ? this.#succeed.run(ending.chargedCredits, ending.audioSeconds, ending.audioBytes, id)
        : this.#fail.run(ending.code, ending.message, id);
    return Number(changes) === 1;
  }
}
