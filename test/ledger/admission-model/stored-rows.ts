/** Reads the ledger's rows after a step, and compares them with the facts. */
import type { Ledger } from "../../../src/ledger/ledger.ts";
import type { CodeUnderTest } from "./code-under-test.ts";
import { type Facts, Violation } from "./facts.ts";
import { billOf, spentInDay } from "./judge-admission.ts";

/** The rows as texts that can be compared, by what they are about. */
export interface StoredRows {
  readonly requests: ReadonlyMap<string, string>;
  readonly attempts: ReadonlyMap<string, string>;
  readonly wishes: ReadonlyMap<string, string>;
  readonly bills: ReadonlyMap<string, number>;
  readonly spentInDay: number;
}

const toText = (...values: ReadonlyArray<string | number | boolean | null>): string => values.join(" ");

export async function readStoredRows(
  { bills }: CodeUnderTest,
  ledger: Ledger,
  narrations: readonly string[],
  sinceWallMs: number,
): Promise<StoredRows> {
  return await ledger.database.run(async (db) => {
    const requests = await db.selectFrom("agm_request").selectAll().execute();
    const attempts = await db.selectFrom("agm_attempt").selectAll().execute();
    const wishes = await db.selectFrom("agm_wish").selectAll().execute();
    const sums = new Map<string, number>();
    for (const id of narrations) sums.set(id, (await bills.readBill(db, id)).spent);
    return {
      requests: new Map(
        requests.map((row) => [row.id, toText(row.attempt, row.owner, row.error_code, row.note !== null)]),
      ),
      attempts: new Map(
        attempts.map((row) => [
          `${row.request}#${row.n}`,
          toText(
            ...[row.status, row.maybe, row.send_id, row.task_id, row.charged_credits],
            ...[row.payer, row.payer_run, row.spent_at_ms],
          ),
        ]),
      ),
      wishes: new Map(
        wishes.map((row) => [row.id, toText(row.target, row.api_key_id, row.kind, row.process)]),
      ),
      bills: sums,
      spentInDay: await bills.sumSpentCredits(db, ledger, sinceWallMs),
    };
  });
}

function describeFacts(facts: Facts): Pick<StoredRows, "requests" | "attempts" | "wishes"> {
  const attempts = new Map<string, string>();
  for (const { id, attempts: all } of Object.values(facts.requests)) {
    for (const [n, attempt] of Object.entries(all)) {
      const { status, maybe, sendId, taskId, charged, payer, run, spentAtWallMs } = attempt;
      attempts.set(`${id}#${n}`, toText(status, maybe, sendId, taskId, charged, payer, run, spentAtWallMs));
    }
  }
  return {
    attempts,
    requests: new Map(
      Object.values(facts.requests).map(({ id, attempt, owner, error, hasNote }) => [
        id,
        toText(attempt, owner, error, hasNote),
      ]),
    ),
    wishes: new Map(
      Object.values(facts.wishes).map(({ id, target, key, kind, process }) => [
        id,
        toText(target, key, kind, process),
      ]),
    ),
  };
}

/** @throws Violation if a row is not what has happened, or a sum is not what was spent */
export function compareRows(facts: Facts, stored: StoredRows): void {
  const expected = describeFacts(facts);
  for (const table of ["requests", "attempts", "wishes"] as const) {
    for (const id of new Set([...expected[table].keys(), ...stored[table].keys()])) {
      const [is, should] = [stored[table].get(id), expected[table].get(id)];
      if (is !== should) throw new Violation("rows", `${table} ${id} is "${is}" instead of "${should}"`);
    }
  }
  for (const [narration, spent] of stored.bills) {
    const should = billOf(facts, narration);
    if (spent !== should) throw new Violation("sums", `the bill of ${narration} is ${spent}, not ${should}`);
  }
  const should = spentInDay(facts);
  if (stored.spentInDay !== should)
    throw new Violation("sums", `${stored.spentInDay} credits were spent in a day, not ${should}`);
}
