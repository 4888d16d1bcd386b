/** Sums what attempts have cost: of a narration, of a day, of a month. Each task counts once, whatever API keys know it. */
import { sql } from "kysely";
import type { Db } from "./database.ts";
import type { Ledger } from "./ledger.ts";

/** Credits of a narration. */
export interface Bill {
  /** Charged and reserved. */
  readonly spent: number;
  /** Charged for tasks that have ended. */
  readonly charged: number;
  /** Reserved for sends whose answer was never seen. */
  readonly unknown: number;
}

const ENDED = sql`status IN ('succeeded', 'saved', 'failed')`;

/** Two API keys of one account may have sent the same attempt: then its end is what it costs, else the reservation. */
const columns = [
  sql<number>`MAX(spent)`.as("most"),
  sql<number | null>`MAX(CASE WHEN ${ENDED} THEN spent END)`.as("known"),
] as const;

/** An attempt without a task id is told from others by its request's text and its number. */
const taskKey = sql`COALESCE(task_id, fingerprint || '#' || n)`;

/**
 * Returns what a narration has cost: the attempts that were admitted for it and not refused. A send whose answer one API
 * key never saw counts until another one has sent the same attempt and has its task.
 */
export async function readBill(db: Db, narrationId: string): Promise<Bill> {
  const tasks = await db
    .selectFrom("agm_payment")
    .select(["fingerprint", "n", "task_id", ...columns])
    .where("payer", "=", narrationId)
    .groupBy(["fingerprint", "n", "task_id"])
    .execute();
  const answered = new Set(
    tasks.flatMap(({ fingerprint, n, task_id }) => (task_id === null ? [] : [`${fingerprint}#${n}`])),
  );
  let [spent, charged, unknown] = [0, 0, 0];
  for (const { fingerprint, n, task_id, most, known } of tasks) {
    if (task_id === null && answered.has(`${fingerprint}#${n}`)) continue;
    spent += known ?? most;
    charged += known ?? 0;
    unknown += task_id === null ? most : 0;
  }
  return { spent, charged, unknown };
}

/** What a request has cost, with the input that was sent for it. */
export interface RequestCharge {
  readonly fingerprint: string;
  readonly body: string | null;
  readonly credits: number;
}

/** Lists what each attempt of a narration's bill was charged. */
export async function listRequestCharges(db: Db, narrationId: string): Promise<RequestCharge[]> {
  const tasks = await db
    .selectFrom("agm_payment")
    .select(["fingerprint", sql<string | null>`MAX(body)`.as("body"), ...columns])
    .where("payer", "=", narrationId)
    .groupBy(["fingerprint", "n"])
    .execute();
  return tasks.map(({ fingerprint, body, known }) => ({ fingerprint, body, credits: known ?? 0 }));
}

/** Lists the other addresses of services of which the ledger holds requests. */
export async function listOtherBaseUrls(db: Db, { identity }: Pick<Ledger, "identity">): Promise<string[]> {
  const rows = await db
    .selectFrom("agm_request")
    .select("base_url")
    .distinct()
    .where("base_url", "!=", identity.baseUrl)
    .execute();
  return rows.map((row) => row.base_url);
}

/**
 * Sums the credits that every API key has spent at the service since a time.
 *
 * @param sinceMs wall-clock milliseconds. Times in the future count, so that setting the clock back frees no credits
 * @param exceptRequest a request whose current attempt does not count
 */
export async function sumSpentCredits(
  db: Db,
  { identity }: Pick<Ledger, "identity">,
  sinceMs: number,
  exceptRequest: string | null = null,
): Promise<number> {
  let select = db
    .selectFrom("agm_payment")
    .select([...columns])
    .where("base_url", "=", identity.baseUrl)
    .where("spent_at_ms", ">", sinceMs);
  if (exceptRequest !== null) {
    select = select.where((eb) => eb.or([eb("id", "!=", exceptRequest), eb("is_current", "=", 0)]));
  }
  const tasks = await select.groupBy(taskKey).execute();
  return tasks.reduce((sum, task) => sum + (task.known ?? task.most), 0);
}

export interface Spending {
  /** Charged since midnight of this machine's time zone. */
  readonly today: number;
  readonly last7Days: number;
  readonly last30Days: number;
  /** Held by tasks that run, and by sends of the last day without an answer. */
  readonly held: number;
  /** The budget for any 24 hours, and how much of it is left; `null` without a budget. */
  readonly budget: { readonly credits: number; readonly leftCredits: number } | null;
}

const DAY_MS = 86_400_000;
export const BUDGET_WINDOW_MS = DAY_MS;

/** Reads what all API keys have spent at this service, and the rest of the budget. */
export function readSpending(ledger: Ledger): Promise<Spending> {
  const nowMs = ledger.clock.wallMs();
  const midnightMs = new Date(nowMs).setHours(0, 0, 0, 0);
  return ledger.database.run(async (db) => {
    const tasks = await db
      .selectFrom("agm_payment")
      .select([...columns, sql<number>`MIN(spent_at_ms)`.as("atMs")])
      .where("base_url", "=", ledger.identity.baseUrl)
      .where("spent_at_ms", ">", nowMs - 30 * DAY_MS)
      .groupBy(taskKey)
      .execute();
    const sumSince = (sinceMs: number, isCharged: boolean): number =>
      tasks.reduce((sum, { atMs, known, most }) => {
        if (atMs <= sinceMs || (known !== null) !== isCharged) return sum;
        return sum + (known ?? most);
      }, 0);
    const dayAgoMs = nowMs - BUDGET_WINDOW_MS;
    const held = sumSince(dayAgoMs, false);
    const { creditBudget } = ledger;
    return {
      today: sumSince(midnightMs, true),
      last7Days: sumSince(nowMs - 7 * DAY_MS, true),
      last30Days: sumSince(nowMs - 30 * DAY_MS, true),
      held,
      budget:
        creditBudget === null
          ? null
          : {
              credits: creditBudget,
              leftCredits: Math.max(0, creditBudget - sumSince(dayAgoMs, true) - held),
            },
    };
  });
}
