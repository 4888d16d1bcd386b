/** Finds what a person has to agree to before a narration starts, beside its price. */
import { z } from "zod";
import type { Ledger } from "../ledger/ledger.ts";
import {
  findNearlyEqualRequests,
  listNarrationsWith,
  type NearlyEqualRequest,
} from "../ledger/related-narrations.ts";
import type { NarrationRow } from "../ledger/schema.ts";
import { parseJson } from "../parse-json.ts";
import { compareTexts } from "../requests/loose-text.ts";
import { parseStoredInput } from "../requests/stored-input.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

/** Sentences that need consent. Consent is given by a call that comes after an answer has told the sentence. */
export interface Consents {
  readonly sentences: readonly string[];
  /** Those of the sentences that the remarks of the plan do not have. */
  readonly extraRemarks: readonly string[];
}

export const NO_CONSENTS: Consents = { sentences: [], extraRemarks: [] };

/** A retyped text is noticed for this time after the audio was made. */
const RETYPED_WITHIN_MS = 86_400_000;
const MAX_NARRATIONS_NAMED = 3;

/** How a request differs from the part that it is nearly equal to; `null` if the difference means another text. */
function decideDifference(
  { body, written, status, finished_at_ms: finishedAtMs }: NearlyEqualRequest,
  text: string,
  nowMs: number,
): "pronunciation" | "typing" | null {
  const isPaid = status === "succeeded" || status === "saved";
  const difference = compareTexts(parseStoredInput({ body, written })?.prompt ?? "", text);
  if (difference === "none") return isPaid ? "pronunciation" : null;
  const isRecent = !isPaid || Math.abs(nowMs - (finishedAtMs ?? nowMs)) < RETYPED_WITHIN_MS;
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
  return `${subject} paid for already${where} and differ${count === 1 ? "s" : ""} only in quotation marks, blanks or the form of characters; ${it} would be made and paid for again.`;
}

/** Finds the consents that a narration needs which is only planned. Others have been agreed to. */
export async function findConsents(
  ledger: Ledger,
  narration: NarrationRow,
  plan: StoredPlan,
): Promise<Consents> {
  if (narration.status !== "planned") return NO_CONSENTS;
  const nowMs = ledger.clock.wallMs();
  const positions = { pronunciation: new Set<number>(), typing: new Set<number>() };
  const retyped = new Set<string>();
  for (const request of await findNearlyEqualRequests(ledger, narration.id)) {
    const text = plan.parts[request.position]?.text.trim() ?? "";
    const difference = decideDifference(request, text, nowMs);
    if (difference !== null) positions[difference].add(request.position);
    if (difference === "typing") retyped.add(request.fingerprint);
  }
  const extraRemarks: string[] = [];
  if (positions.pronunciation.size > 0)
    extraRemarks.push(describePronunciations(positions.pronunciation.size));
  if (positions.typing.size > 0) {
    const ids = await listNarrationsWith(ledger, [...retyped], narration.id);
    extraRemarks.push(describeTyping(positions.typing.size, ids));
  }
  const language = plan.remarks.filter(({ about }) => about === "language");
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
