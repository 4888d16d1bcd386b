/** Sums what attempts have cost: of a narration, of a day, of a month. Each task counts once, whatever API keys know it. */
import { type RawBuilder, sql } from "kysely";
import { DAY_MS } from "../clock.ts";
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

/** Whether a service has answered an attempt that any API key has sent, for whatever payer. */
const isAnswered = sql<boolean>`EXISTS (SELECT 1 FROM agm_request_attempt AS other WHERE other.fingerprint = task.fingerprint
  AND other.n = task.n AND other.base_url = task.base_url AND other.task_id IS NOT NULL)`;

/**
 * Returns what a narration has cost: the attempts that were admitted for it and not refused. A send whose answer one API
 * key never saw counts until another one has sent the same attempt and has its task.
 */
export function readBill(db: Db, narrationId: string): Promise<Bill> {
  const tasks = db
    .selectFrom("agm_request_attempt")
    .select(["fingerprint", "n", "base_url", "task_id", ...columns])
    .where("payer", "=", narrationId)
    .groupBy(["fingerprint", "n", "base_url", "task_id"]);
  const sum = (credits: RawBuilder<unknown>) => sql<number>`COALESCE(SUM(${credits}), 0)`;
  return db
    .selectFrom(tasks.as("task"))
    .select([
      sum(sql`COALESCE(known, most)`).as("spent"),
      sum(sql`known`).as("charged"),
      sum(sql`CASE WHEN task_id IS NULL THEN most END`).as("unknown"),
    ])
    .where((eb) => eb.or([eb("task_id", "is not", null), eb.not(isAnswered)]))
    .executeTakeFirstOrThrow();
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
    .selectFrom("agm_request_attempt")
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

/** The tasks that every API key has paid for at the service since a time, each once. */
const selectPaidTasks = (db: Db, { identity }: Pick<Ledger, "identity">, sinceMs: number) =>
  db
    .selectFrom("agm_request_attempt")
    .select([...columns, sql<number>`MIN(spent_at_ms)`.as("at_ms")])
    .where("base_url", "=", identity.baseUrl)
    .where("spent_at_ms", ">", sinceMs)
    .groupBy(taskKey);

/**
 * Sums the credits that every API key has spent at the service since a time.
 *
 * @param sinceMs wall-clock milliseconds. Times in the future count, so that setting the clock back frees no credits
 * @param exceptRequest a request whose current attempt does not count
 */
export async function sumSpentCredits(
  db: Db,
  ledger: Pick<Ledger, "identity">,
  sinceMs: number,
  exceptRequest: string | null = null,
): Promise<number> {
  let tasks = selectPaidTasks(db, ledger, sinceMs);
  if (exceptRequest !== null) {
    tasks = tasks.where((eb) => eb.or([eb("id", "!=", exceptRequest), eb("is_current", "=", 0)]));
  }
  const { credits } = await db
    .selectFrom(tasks.as("task"))
    .select(sql<number>`COALESCE(SUM(COALESCE(known, most)), 0)`.as("credits"))
    .executeTakeFirstOrThrow();
  return credits;
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

export const BUDGET_WINDOW_MS = DAY_MS;

/** Reads what all API keys have spent at this service, and the rest of the budget. */
export function readSpending(ledger: Ledger): Promise<Spending> {
  const nowMs = ledger.clock.wallMs();
  const midnightMs = new Date(nowMs).setHours(0, 0, 0, 0);
  const sum = (column: "known" | "most", isCounted: RawBuilder<unknown>) =>
    sql<number>`COALESCE(SUM(CASE WHEN ${isCounted} THEN ${sql.ref(column)} END), 0)`;
  const chargedSince = (sinceMs: number) => sum("known", sql`at_ms > ${sinceMs}`);
  const dayAgoMs = nowMs - BUDGET_WINDOW_MS;
  return ledger.database.run(async (db) => {
    const { chargedOfDay, ...spending } = await db
      .selectFrom(selectPaidTasks(db, ledger, nowMs - 30 * DAY_MS).as("task"))
      .select([
        chargedSince(midnightMs).as("today"),
        chargedSince(nowMs - 7 * DAY_MS).as("last7Days"),
        chargedSince(nowMs - 30 * DAY_MS).as("last30Days"),
        chargedSince(dayAgoMs).as("chargedOfDay"),
        sum("most", sql`known IS NULL AND at_ms > ${dayAgoMs}`).as("held"),
      ])
      .executeTakeFirstOrThrow();
    const credits = ledger.creditBudget;
    const leftCredits = Math.max(0, (credits ?? 0) - chargedOfDay - spending.held);
    return { ...spending, budget: credits === null ? null : { credits, leftCredits } };
  });
}
