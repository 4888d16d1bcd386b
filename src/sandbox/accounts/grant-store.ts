/** What became of each grant's credits, in the database; the rules are in grants.ts. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { z } from "zod";
import type { Account } from "./directory.ts";
import { type Draw, type Grant, settleDraws } from "./grants.ts";

const useRow = z.object({ position: z.int(), reserved: z.int(), charged: z.int() });
const drawRow = z.object({ position: z.int(), credits: z.int() });

/**
 * The accounts file says what was bought, the database what was used: a grant is the file's terms and, by its
 * position in the account's list, its use. A restart with edited terms (a refund, say) takes them at once.
 */
export class GrantStore {
  readonly #use: StatementSync;
  readonly #draws: StatementSync;
  readonly #addDraw: StatementSync;
  readonly #reserve: StatementSync;
  readonly #settle: StatementSync;

  constructor(database: DatabaseSync) {
    this.#use = database.prepare("SELECT position, reserved, charged FROM grant_use WHERE account_id = ?");
    this.#draws = database.prepare("SELECT position, credits FROM draws WHERE task_id = ? ORDER BY turn");
    this.#addDraw = database.prepare(
      "INSERT INTO draws (task_id, turn, position, credits) VALUES (?, ?, ?, ?)",
    );
    this.#reserve = database.prepare(
      `INSERT INTO grant_use (account_id, position, reserved, charged) VALUES (?, ?, ?, 0)
       ON CONFLICT DO UPDATE SET reserved = reserved + excluded.reserved`,
    );
    this.#settle = database.prepare(
      `UPDATE grant_use SET reserved = reserved - ?, charged = charged + ?
       WHERE account_id = ? AND position = ?`,
    );
  }

  grantsOf(account: Account): Grant[] {
    const use = new Map(
      useRow
        .array()
        .parse(this.#use.all(account.id))
        .map((row) => [row.position, row]),
    );
    return account.grants.map((terms, position) => ({
      ...terms,
      position,
      reserved: use.get(position)?.reserved ?? 0,
      charged: use.get(position)?.charged ?? 0,
    }));
  }

  /** Moves the planned draws into reservation, under the task's id. Call inside a transaction. */
  reserve(accountId: string, taskId: string, draws: readonly Draw[]): void {
    draws.forEach((draw, turn) => {
      this.#addDraw.run(taskId, turn, draw.position, draw.credits);
      this.#reserve.run(accountId, draw.position, draw.credits);
    });
  }

  /** Ends a task's reservation: charges `chargeCredits` and returns the rest. Once per task, inside a transaction. */
  settle(accountId: string, taskId: string, chargeCredits: number): void {
    const draws = drawRow.array().parse(this.#draws.all(taskId));
    for (const { position, credits, charged } of settleDraws(draws, chargeCredits)) {
      this.#settle.run(credits, charged, accountId, position);
    }
  }
}
