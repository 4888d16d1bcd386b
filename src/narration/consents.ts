/** Finds what a person has to agree to before a narration starts, beside its price. */
import {
  areAgreed,
  compareRepetition,
  decideRepetition,
  namePair,
  parseTold,
  type Repetition,
} from "../ledger/kinship.ts";
import type { NarrationSnapshot } from "../ledger/narration-rows.ts";
import { findNearlyEqual, listNarrationsWith } from "../ledger/related-narrations.ts";
import type { NarrationRow, PartRow } from "../ledger/schema.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

type Told = Pick<NarrationRow, "told">;

/** What needs consent. Consent is given by a call that lets credits be spent after an answer has told it. */
export interface Consents {
  /** What an answer must have told: remarks of the plan, and pairs. */
  readonly keys: readonly string[];
  /** The pairs of a part's request and one that it repeats. */
  readonly pairs: readonly string[];
  /** Says in words what the pairs are. */
  readonly extraRemarks: readonly string[];
  /** Says in words all that needs consent: these remarks, and those of the plan. */
  readonly reasons: readonly string[];
}

const MAX_NARRATIONS_NAMED = 3;

/** A request, or a part to come, that a part repeats. */
interface Repeated extends Pick<PartRow, "fingerprint" | "loose"> {
  /** Says how a part with this text repeats it; `null` if it does not. */
  readonly decide: (text: string) => Repetition | null;
  readonly isMade: boolean;
}

/** Lists what speaks nearly the texts of parts, or is about to. */
async function listRepeated(
  { ledger, plans }: Pick<NarrationDeps, "ledger" | "plans">,
  narrationId: string,
  parts: readonly PartRow[],
): Promise<Repeated[]> {
  if (parts.length === 0) return [];
  const nowMs = ledger.clock.wallMs();
  const { requests, partsToCome } = await findNearlyEqual(ledger, parts);
  const repeated = requests.map(
    ({ row, isWanted }): Repeated => ({
      fingerprint: row.fingerprint,
      loose: row.loose ?? "",
      decide: (text) => decideRepetition(row, text, isWanted, nowMs),
      isMade: row.status === "succeeded" || row.status === "saved",
    }),
  );
  for (const { narration, position, fingerprint, loose } of partsToCome) {
    if (narration === narrationId) continue;
    const plan = await plans.get(narration).catch(() => null);
    const spoken = plan?.parts[position]?.text.trim() ?? "";
    repeated.push({ fingerprint, loose, decide: (text) => compareRepetition(spoken, text), isMade: false });
  }
  return repeated;
}

function describePronunciations(count: number, areMade: boolean): string {
  const which = areMade ? "paid for" : "paid for or being made";
  const subject = count === 1 ? `1 part that is ${which} was` : `${count} parts that are ${which} were`;
  return `${subject} spoken with other pronunciations, and would be made again.`;
}

function describeTyping(count: number, narrationIds: readonly string[]): string {
  const subject = count === 1 ? "1 part is" : `${count} parts are`;
  const it = count === 1 ? "it" : "they";
  const ids = narrationIds.slice(0, MAX_NARRATIONS_NAMED).join(", ");
  const where = ids === "" ? "" : ` in ${ids}`;
  return `${subject} paid for already or being made${where} and differ${count === 1 ? "s" : ""} only in quotation marks, blanks or the form of characters; ${it} would be made and paid for again.`;
}

/**
 * Finds the consents that a narration needs with these choices, beside those that were given. What it has under way goes
 * on: admission looks at each of its parts again.
 *
 * @param chosen positions of the parts whose choices the call changes
 */
export async function findConsents(
  deps: Pick<NarrationDeps, "ledger" | "plans">,
  {
    narration,
    parts,
    tasks,
    isWanted,
  }: Pick<NarrationSnapshot, "narration" | "parts" | "tasks" | "isWanted">,
  plan: StoredPlan,
  chosen: ReadonlySet<number>,
): Promise<Consents> {
  const { ledger } = deps;
  const isPaid = ({ fingerprint }: PartRow): boolean =>
    tasks
      .get(fingerprint)
      ?.some(({ status, is_open }) => status === "succeeded" || status === "saved" || is_open === 1) === true;
  const unpaid = parts.filter((part) => !isPaid(part) && (!isWanted || chosen.has(part.position)));
  const repeated = Map.groupBy(await listRepeated(deps, narration.id, unpaid), ({ loose }) => loose);
  const positions = { pronunciation: new Set<number>(), typing: new Set<number>() };
  const pairs = new Set<string>();
  const retyped = new Set<string>();
  let areMade = true;
  const own = new Set(parts.map(({ fingerprint }) => fingerprint));
  for (const part of unpaid) {
    const { position, loose } = part;
    for (const other of repeated.get(loose) ?? []) {
      const pair = namePair(part, other);
      if (own.has(other.fingerprint) || areAgreed(narration, [pair])) continue;
      const repetition = other.decide(plan.parts[position]?.text.trim() ?? "");
      if (repetition === null) continue;
      pairs.add(pair);
      positions[repetition].add(position);
      if (repetition === "typing") retyped.add(other.fingerprint);
      else areMade &&= other.isMade;
    }
  }
  const extraRemarks: string[] = [];
  if (positions.pronunciation.size > 0)
    extraRemarks.push(describePronunciations(positions.pronunciation.size, areMade));
  if (positions.typing.size > 0) {
    const others = await listNarrationsWith(ledger, [...retyped], narration.id);
    const ids = others.map(({ id }) => id);
    extraRemarks.push(describeTyping(positions.typing.size, ids));
  }
  const language = plan.remarks
    .filter(({ about }) => about === "language" && narration.status === "planned")
    .map(({ sentence }) => sentence);
  return {
    keys: [...language, ...pairs],
    pairs: [...pairs],
    extraRemarks,
    reasons: [...language, ...extraRemarks],
  };
}

/** Whether answers have told all that needs consent. */
export function areTold(narration: Told, { keys }: Consents): boolean {
  const known = new Set(parseTold(narration));
  return keys.every((key) => known.has(key));
}

/** Whether an answer has named this limit or a lower one, so that a call may start with it. */
export const isLimitTold = (narration: Told, maxCredits: number): boolean =>
  parseTold(narration).some((told) => typeof told === "number" && told <= maxCredits);

/** Returns what is told, as it is stored, once an answer tells what needs consent and names a limit. */
export const addToTold = (narration: Told, { keys }: Consents, limit: number): string =>
  JSON.stringify([...new Set([...parseTold(narration), ...keys, limit])]);
