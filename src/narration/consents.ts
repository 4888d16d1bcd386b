/** Finds what a person has to agree to before a narration starts, beside its price. */
import { z } from "zod";
import type { NarrationSnapshot } from "../ledger/narration-rows.ts";
import { findNearlyEqual, listNarrationsWith } from "../ledger/related-narrations.ts";
import type { NarrationRow, PartRow } from "../ledger/schema.ts";
import { parseJson } from "../parse-json.ts";
import { compareTexts } from "../requests/loose-text.ts";
import { parseStoredInput } from "../requests/stored-input.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

/** Sentences that need consent. Consent is given by a call that comes after an answer has told the sentence. */
export interface Consents {
  readonly sentences: readonly string[];
  /** Those of the sentences that the remarks of the plan do not have. */
  readonly extraRemarks: readonly string[];
}

/** A retyped text is noticed for this time after the audio was made. */
const RETYPED_WITHIN_MS = 86_400_000;
const MAX_NARRATIONS_NAMED = 3;

/** What speaks nearly the text of a part, or is about to. */
interface SpokenText extends Pick<PartRow, "fingerprint" | "loose"> {
  readonly text: string;
  readonly isPaid: boolean;
  readonly endedAtMs: number | null;
  /** Since when it is wanted. */
  readonly sinceMs: number;
}

/** Lists what speaks nearly the texts of parts, and was paid for, is under way or is about to be sent. */
async function listSpokenTexts(
  { ledger, plans }: Pick<NarrationDeps, "ledger" | "plans">,
  narrationId: string,
  parts: readonly PartRow[],
): Promise<SpokenText[]> {
  if (parts.length === 0) return [];
  const { requests, partsToCome } = await findNearlyEqual(ledger, parts);
  const spoken = requests.map(
    ({ fingerprint, loose, body, written, status, finished_at_ms, created_at_ms }): SpokenText => ({
      fingerprint,
      loose: loose ?? "",
      text: parseStoredInput({ body, written })?.prompt ?? "",
      isPaid: status === "succeeded" || status === "saved",
      endedAtMs: finished_at_ms,
      sinceMs: created_at_ms,
    }),
  );
  for (const { narration, position, fingerprint, loose, started_at_ms: sinceMs } of partsToCome) {
    if (narration === narrationId) continue;
    const plan = await plans.get(narration).catch(() => null);
    const text = plan?.parts[position]?.text.trim() ?? "";
    spoken.push({ fingerprint, loose, text, isPaid: false, endedAtMs: null, sinceMs });
  }
  return spoken;
}

/** How what is spoken differs from the part that it is nearly equal to; `null` if the difference means another text. */
function decideDifference(
  { text: spokenText, isPaid, endedAtMs }: SpokenText,
  text: string,
  nowMs: number,
): "pronunciation" | "typing" | null {
  const difference = compareTexts(spokenText, text);
  if (difference === "none") return isPaid ? "pronunciation" : null;
  const isRecent = !isPaid || Math.abs(nowMs - (endedAtMs ?? nowMs)) < RETYPED_WITHIN_MS;
  return difference === "typing" && isRecent ? "typing" : null;
}

function describePronunciations(count: number): string {
  const subject = count === 1 ? "1 part that is paid for was" : `${count} parts that are paid for were`;
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
 * Finds the consents that a narration needs with these choices. What was there when it was started has been agreed to,
 * and what it has under way goes on.
 *
 * @param chosen positions of the parts whose choices the call changes
 */
export async function findConsents(
  deps: Pick<NarrationDeps, "ledger" | "plans">,
  { narration, parts, tasks }: Pick<NarrationSnapshot, "narration" | "parts" | "tasks">,
  plan: StoredPlan,
  chosen: ReadonlySet<number>,
): Promise<Consents> {
  const { ledger } = deps;
  const nowMs = ledger.clock.wallMs();
  const isPaid = ({ fingerprint }: PartRow): boolean =>
    tasks
      .get(fingerprint)
      ?.some(({ status, is_open }) => status === "succeeded" || status === "saved" || is_open === 1) === true;
  const unpaid = parts.filter(
    (part) => !isPaid(part) && (narration.status !== "running" || chosen.has(part.position)),
  );
  const spoken = Map.groupBy(await listSpokenTexts(deps, narration.id, unpaid), ({ loose }) => loose);
  const positions = { pronunciation: new Set<number>(), typing: new Set<number>() };
  const retyped = new Set<string>();
  const own = new Set(parts.map(({ fingerprint }) => fingerprint));
  for (const { position, loose } of unpaid) {
    for (const other of spoken.get(loose) ?? []) {
      const isAgreed = other.sinceMs < narration.started_at_ms && !chosen.has(position);
      if (own.has(other.fingerprint) || isAgreed) continue;
      const difference = decideDifference(other, plan.parts[position]?.text.trim() ?? "", nowMs);
      if (difference !== null) positions[difference].add(position);
      if (difference === "typing") retyped.add(other.fingerprint);
    }
  }
  const extraRemarks: string[] = [];
  if (positions.pronunciation.size > 0)
    extraRemarks.push(describePronunciations(positions.pronunciation.size));
  if (positions.typing.size > 0) {
    const ids = await listNarrationsWith(ledger, [...retyped], narration.id);
    extraRemarks.push(describeTyping(positions.typing.size, ids));
  }
  const language = plan.remarks.filter(({ about }) => about === "language" && narration.status === "planned");
  return { extraRemarks, sentences: [...language.map(({ sentence }) => sentence), ...extraRemarks] };
}

/** What answers have told: sentences, and limits that plans have named. */
const toldSchema = z.array(z.union([z.string(), z.number()]));

type Told = Pick<NarrationRow, "told">;

/** Parses what answers have told. A column that cannot be read has told nothing. */
const parseTold = ({ told }: Told): ReadonlyArray<string | number> => parseJson(toldSchema, told) ?? [];

/** Whether an answer has told all sentences. */
export function areTold(narration: Told, { sentences }: Consents): boolean {
  const known = new Set(parseTold(narration));
  return sentences.every((sentence) => known.has(sentence));
}

/** Whether an answer has named this limit or a lower one, so that a call may start with it. */
export const isLimitTold = (narration: Told, maxCredits: number): boolean =>
  parseTold(narration).some((told) => typeof told === "number" && told <= maxCredits);

/** Returns what is told, as it is stored, once an answer tells the sentences and names a limit. */
export const addToTold = (narration: Told, { sentences }: Consents, limit: number): string =>
  JSON.stringify([...new Set([...parseTold(narration), ...sentences, limit])]);
