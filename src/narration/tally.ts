/** Counts how a narration's parts stand: their state is that of their records, and is stored nowhere else. */
import { MAXIMUM_CHARGE_CREDITS, MINIMUM_CHARGE_CREDITS, RESERVED_CREDITS } from "../contract/billing.ts";
import type { PartWork } from "../generation/use-cases/generate-part.ts";
import { flightOf, type TaskRecord } from "../ledger/record.ts";
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { partRequest, takeOf } from "./part-request.ts";

export type PartStanding = "open" | "running" | "saved" | "failed";

export interface Tally {
  /** In the order of the plan. */
  readonly standings: readonly PartStanding[];
  readonly records: readonly (TaskRecord | null)[];
  readonly alreadyPaid: number;
  /** For takes that others replaced; part of the charge. */
  readonly replacedCredits: number;
  /** Set aside for such takes that still run. */
  readonly replacedReservations: number;
  /** What this narration has been charged, or others for it after it began. */
  readonly chargedCredits: number;
  readonly reservedCredits: number;
  /** Of the parts that are not paid for. */
  readonly estimatedCredits: number;
  readonly estimatedSeconds: number;
  readonly savedSeconds: number;
}

/** Records are read so many at a time. */
const READ_AT_ONCE = 64;

/** Whether the chosen take of a part was paid for before the narration began, so that it is not on its bill. */
export function wasPaidBefore(state: NarrationState, index: number): boolean {
  const take = takeOf(state, index);
  return (state.paidBefore ?? []).some((paid) => paid.part === index && paid.take === take);
}

/** How much more or less earlier audio came to than its estimate, `null` before the first; only what is shown follows it. */
function paceOf(plan: StoredPlan, records: readonly (TaskRecord | null)[]): number | null {
  let estimated = 0;
  let actual = 0;
  plan.parts.forEach((part, index) => {
    const seconds = records[index]?.audioSeconds ?? null;
    if (seconds === null) return;
    estimated += part.estimatedSeconds;
    actual += seconds;
  });
  return estimated === 0 ? null : Math.min(3, Math.max(1 / 3, actual / estimated));
}

const likelyCharge = (credits: number): number =>
  Math.max(MINIMUM_CHARGE_CREDITS, Math.min(MAXIMUM_CHARGE_CREDITS, credits));

export function standingOf(record: TaskRecord | null): PartStanding {
  if (record === null) return "open";
  if (record.status === "succeeded" && record.files.some(({ isSound }) => isSound)) return "saved";
  if (record.status === "failed") return "failed";
  return flightOf(record) !== null || record.status === "succeeded" ? "running" : "open";
}

/** What a record counts: its reservation while it runs, then its charge. */
export const chargeOf = (record: TaskRecord): number =>
  flightOf(record) === null ? (record.spend?.credits ?? 0) : record.earlierCredits;

async function readRecords(
  parts: PartWork,
  plan: StoredPlan,
  takes: Pick<NarrationState, "takes">,
): Promise<(TaskRecord | null)[]> {
  const records: (TaskRecord | null)[] = [];
  for (let from = 0; from < plan.parts.length; from += READ_AT_ONCE) {
    const some = plan.parts.slice(from, from + READ_AT_ONCE);
    const found = some.map((_, offset) => parts.find(partRequest(plan, takes, from + offset)));
    records.push(...(await Promise.all(found)));
  }
  return records;
}

async function costOfReplaced(
  parts: PartWork,
  plan: StoredPlan,
  state: NarrationState,
): Promise<{ readonly credits: number; readonly reservations: number }> {
  let credits = 0;
  let reservations = 0;
  for (const { part: index, take } of state.replaced) {
    const isChosen = takeOf(state, index) === take;
    const isPaid = state.paidBefore?.some((paid) => paid.part === index && paid.take === take) ?? false;
    if (isChosen || isPaid) continue;
    const record = await parts.find(partRequest(plan, { takes: [{ part: index, take }] }, index));
    if (record === null) continue;
    credits += chargeOf(record);
    if (flightOf(record) !== null) reservations += RESERVED_CREDITS;
  }
  return { credits, reservations };
}

/** One look at every part. */
export async function takeTally(parts: PartWork, plan: StoredPlan, state: NarrationState): Promise<Tally> {
  const records = await readRecords(parts, plan, state);
  const standings = records.map(standingOf);
  const isPaid = new Set(
    standings.flatMap((standing, index) => {
      const isBefore = state.paidBefore === null ? standing === "saved" : wasPaidBefore(state, index);
      return isBefore ? [index] : [];
    }),
  );
  const pace = paceOf(plan, records) ?? (await parts.pace(plan.settings.voice ?? null));
  const replaced = await costOfReplaced(parts, plan, state);
  const tally = {
    alreadyPaid: isPaid.size,
    replacedCredits: replaced.credits,
    replacedReservations: replaced.reservations,
    chargedCredits: replaced.credits,
    reservedCredits: replaced.reservations,
    estimatedCredits: 0,
    estimatedSeconds: 0,
    savedSeconds: 0,
  };
  plan.parts.forEach((part, index) => {
    const record = records[index] ?? null;
    const seconds = record?.audioSeconds ?? part.estimatedSeconds * pace;
    tally.estimatedSeconds += seconds + part.pauseAfterSeconds;
    if (standings[index] === "saved") tally.savedSeconds += record?.audioSeconds ?? 0;
    if (isPaid.has(index)) return;
    const charged = record === null ? 0 : chargeOf(record);
    tally.chargedCredits += charged;
    if (record !== null && flightOf(record) !== null) tally.reservedCredits += RESERVED_CREDITS;
    const isToCome = standings[index] !== "saved";
    tally.estimatedCredits += charged + (isToCome ? likelyCharge(part.estimatedCredits * pace) : 0);
  });
  return { ...tally, estimatedCredits: Math.round(tally.estimatedCredits), standings, records };
}
