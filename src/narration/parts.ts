/** From a plan to the rows of its parts: which request speaks each part, and which choices were made for it. */
import type { AudioInput } from "../contract/audio-input.ts";
import { deriveRequestFingerprint } from "../ledger/identity.ts";
import { deriveLooseFingerprint } from "../ledger/kinship.ts";
import type { PartRow } from "../ledger/schema.ts";
import { canonicalizeInput } from "../requests/canonical-input.ts";
import type { RequestContent } from "../requests/prepare-request.ts";
import { findPlannedChapters } from "./planning/planned-chapters.ts";
import type { StoredPart, StoredPlan } from "./planning/stored-plan.ts";
import { findPartsByQuote } from "./text/quotes.ts";

/** The take and the speed that were chosen for a part; a speed of `null` is the plan's. */
export type Choice = Pick<PartRow, "take" | "speed">;
const FIRST_CHOICE: Choice = { take: 1, speed: null };

export interface Retake {
  /** Identifies a part: words that occur in no other part, `cue 12` for subtitles, or `row 5` for a sheet. */
  readonly quote?: string | undefined;
  /** Identifies all parts of chapters, by number or title; in place of a quote. */
  readonly chapter?: string | undefined;
  /**
   * Number of the take. A take that was already made costs nothing. Take 1 is the first take. If the number is absent
   * and `speed` is given, the part keeps its present take. If both are absent, the take is {@link DEFAULT_RETAKE_TAKE}.
   */
  readonly take?: number | undefined;
  /** Speed of the part; absent for the plan's speed. */
  readonly speed?: number | undefined;
}

/** The take that is chosen if a retake has neither a take nor a speed. */
export const DEFAULT_RETAKE_TAKE = 2;

/** Whether a retake has neither a take nor a speed. Such a retake chooses the take {@link DEFAULT_RETAKE_TAKE}. */
export const isQuoteOnlyRetake = ({ take, speed }: Retake): boolean =>
  take === undefined && speed === undefined;

/** Returns the part's text, voice and settings. The part's own settings replace the narration's settings. */
export function buildPartInput({ settings }: Pick<StoredPlan, "settings">, part: StoredPart): AudioInput {
  return {
    ...settings,
    ...part.settings,
    prompt: part.respelledText ?? part.text,
    voice: part.voice ?? settings.voice,
  };
}

/** Returns the speed with which a part is sent. */
export const getPartSpeed = (plan: StoredPlan, position: number, speed: number | null): number =>
  speed ?? plan.parts[position]?.settings?.speed ?? plan.settings.speed ?? 1;

/** Returns the part of a plan at a position. */
export function getPlannedPart(plan: StoredPlan, position: number): StoredPart {
  const part = plan.parts[position];
  if (part === undefined)
    throw new RangeError(`a plan of ${plan.parts.length} parts has no part ${position}`);
  return part;
}

/** Builds the request that speaks a part in a take and at a speed. */
export function buildPartRequest(
  baseUrl: string,
  plan: StoredPlan,
  position: number,
  { take, speed }: Choice,
): RequestContent {
  const part = getPlannedPart(plan, position);
  const body = canonicalizeInput({ ...buildPartInput(plan, part), ...(speed === null ? {} : { speed }) });
  const text = part.text.trim();
  const written = part.respelledText === undefined || part.respelledText.trim() === text ? null : text;
  return {
    body,
    loose: deriveLooseFingerprint(baseUrl, body, text, take),
    fingerprint: deriveRequestFingerprint(baseUrl, body, take),
    asked: written,
    written,
    take,
  };
}

/** Builds the rows of a plan's parts, each with its first take at the plan's speed. */
export const buildPartRows = (baseUrl: string, narration: string, plan: StoredPlan): PartRow[] =>
  plan.parts.map((_, position) => {
    const { fingerprint, loose } = buildPartRequest(baseUrl, plan, position, FIRST_CHOICE);
    return { narration, position, input: fingerprint, loose, fingerprint, ...FIRST_CHOICE, problem: null };
  });

/** Gives rows the choices of the older parts that they are. */
export const takeOverChoices = (
  baseUrl: string,
  plan: StoredPlan,
  rows: readonly PartRow[],
  older: readonly PartRow[],
  origins: Origins,
): PartRow[] =>
  rows.map((row) => {
    const { take, speed } = older[origins[row.position] ?? -1] ?? FIRST_CHOICE;
    if (take === row.take && speed === row.speed) return row;
    const { fingerprint, loose } = buildPartRequest(baseUrl, plan, row.position, { take, speed });
    return { ...row, take, speed, fingerprint, loose };
  });

/** The positions of the older parts that the parts of a newer plan are; `undefined` where the words are new. */
export type Origins = ReadonlyArray<number | undefined>;

/** Changes a plan by an edit or a choice of chapters, and says which older part each new part is. */
export function changePlan(
  plan: StoredPlan,
  change: (plan: StoredPlan) => StoredPlan,
): { readonly plan: StoredPlan; readonly origins: Origins } {
  type TaggedPart = StoredPart & { origin?: number };
  const tagged = plan.parts.map((part, origin): TaggedPart => ({ ...part, origin }));
  const after = change({ ...plan, parts: tagged });
  const parts: StoredPart[] = [];
  const origins: Array<number | undefined> = [];
  // The cast is sound, because `origin` is optional: a change copies the fields of the parts that it keeps.
  for (const { origin, ...part } of after.parts as TaggedPart[]) {
    parts.push(part);
    origins.push(origin !== undefined && plan.parts[origin]?.text === part.text ? origin : undefined);
  }
  return { plan: { ...after, parts }, origins };
}

/** Beyond this number of differing parts, only the equal beginning and end of two texts are aligned. */
const MAX_DIFFERING_PARTS = 2000;

/** Aligns the parts of a newer text with those of an older one: in order, then those that were moved. */
export function alignInputs(older: readonly string[], newer: readonly string[]): Origins {
  const shorter = Math.min(older.length, newer.length);
  let start = 0;
  while (start < shorter && older[start] === newer[start]) start += 1;
  let end = 0;
  while (end < shorter - start && older.at(-1 - end) === newer.at(-1 - end)) end += 1;
  const origins = newer.map((_, index): number | undefined => {
    if (index < start) return index;
    return index >= newer.length - end ? index + older.length - newer.length : undefined;
  });
  const [a, b] = [older.slice(start, older.length - end), newer.slice(start, newer.length - end)];
  const isAlignable = a.length > 0 && b.length > 0 && Math.max(a.length, b.length) <= MAX_DIFFERING_PARTS;
  if (isAlignable) for (const [from, to] of findCommonSubsequence(a, b)) origins[start + to] = start + from;
  const moved = new Map<string, number[]>();
  const aligned = new Set(origins);
  for (const [index, input] of older.entries())
    if (!aligned.has(index)) moved.set(input, [...(moved.get(input) ?? []), index]);
  return origins.map((origin, index) => origin ?? moved.get(newer[index] ?? "")?.shift());
}

/** Finds a longest common subsequence: pairs of indexes of equal elements. */
function findCommonSubsequence(a: readonly string[], b: readonly string[]): Array<readonly [number, number]> {
  // lengths[i * width + j] is the length for the ends of `a` from i and of `b` from j.
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  const pairs: Array<readonly [number, number]> = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (lengthAt(i + 1, j) >= lengthAt(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

/** Returns the positions of the parts of chapters. */
function findPartsByChapter(plan: StoredPlan, wanted: string): number[] {
  const chosen = new Set(findPlannedChapters(plan, wanted).chosenIndexes);
  return plan.parts.flatMap(({ chapterIndex }, index) => (chosen.has(chapterIndex) ? [index] : []));
}

/**
 * Finds the parts of a cue, a row or a chapter if the quote is its number, such as "cue 12" or "row 5". Words would not
 * identify a cue or a row, because cues and rows are short and often have the same words; and the heading of a chapter
 * is in one of its parts only.
 */
function findPartsByNumber(plan: StoredPlan, quote: string): number[] {
  const { parts, chapters, fileLayout } = plan;
  const [, kind, number] = /^\s*(cue|row|chapter)\s+(\d+)\s*$/i.exec(quote.toLowerCase()) ?? [];
  if (kind === undefined) return [];
  if (kind === "chapter")
    return chapters.length > 1 && fileLayout !== "rows" ? findPartsByChapter(plan, quote) : [];
  return parts.flatMap(({ cue, chapterIndex }, index) => {
    const position = kind === "cue" ? cue : chapters[chapterIndex]?.row?.toString();
    return position === number ? [index] : [];
  });
}

/** Returns the positions of the parts that a retake names. */
function findRetakenParts(plan: StoredPlan, { quote = "", chapter }: Retake): readonly number[] {
  if (chapter !== undefined) return findPartsByChapter(plan, chapter);
  const numbered = findPartsByNumber(plan, quote);
  return numbered.length > 0 ? numbered : findPartsByQuote(plan.parts, quote);
}

/**
 * Returns the rows that retakes change, with their new choices.
 *
 * @throws AudioError `invalid_request` if a quote matches no part, or several, or if there is no such chapter
 */
export function applyRetakes(
  baseUrl: string,
  plan: StoredPlan,
  parts: readonly PartRow[],
  retakes: readonly Retake[],
): PartRow[] {
  const changed = new Map<number, PartRow>();
  for (const retake of retakes) {
    for (const position of findRetakenParts(plan, retake)) {
      const row = changed.get(position) ?? parts[position];
      if (row === undefined) continue;
      const take = isQuoteOnlyRetake(retake) ? DEFAULT_RETAKE_TAKE : (retake.take ?? row.take);
      const isPlannedSpeed =
        retake.speed === undefined || retake.speed === getPartSpeed(plan, position, null);
      const choice: Choice = { take, speed: isPlannedSpeed ? null : (retake.speed ?? null) };
      const { fingerprint, loose } = buildPartRequest(baseUrl, plan, position, choice);
      changed.set(position, { ...row, ...choice, fingerprint, loose, problem: null });
    }
  }
  return [...changed.values()].filter((row) => row.fingerprint !== parts[row.position]?.fingerprint);
}
