/**
 * Finds the speakers of a dialogue that is narrated without `voices`, where each name would be spoken. Evidence: share of
 * lines with a label, and names that recur.
 */
import { HARD_BREAK } from "./normalise.ts";

/** A name that begins lines and has no voice. */
export interface VoicelessName {
  readonly name: string;
  readonly count: number;
}

const LABEL =
  /^\s*([\p{Lu}\p{Lo}][\p{L}\p{M}\p{N}.'’-]{0,30}(?: [\p{L}\p{M}\p{N}.'’-]{1,30}){0,2})\s*(?:\([^()\n]{1,40}\)\s*)?[:：]\s*\S/u;
const LINE_BREAK = new RegExp(`[\\n${HARD_BREAK}]`);
const MIN_LINES = 3;
const MIN_SHARE = 2 / 3;
const MIN_NAMES = 2;
/** Each name begins this many lines on average, unlike the terms of a list. */
const MIN_RECURRENCE = 1.5;

/** Returns nothing if the text is no dialogue. @param paragraphs with their line breaks, soft and hard */
export function dialogueNames(paragraphs: readonly string[]): VoicelessName[] {
  const counts = new Map<string, number>();
  let lines = 0;
  let labelled = 0;
  for (const line of paragraphs.flatMap((paragraph) => paragraph.split(LINE_BREAK))) {
    if (line.trim() === "") continue;
    lines += 1;
    const [, name] = LABEL.exec(line.slice(0, 200)) ?? [];
    if (name === undefined) continue;
    labelled += 1;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const isDialogue =
    labelled >= MIN_LINES &&
    labelled >= MIN_SHARE * lines &&
    counts.size >= MIN_NAMES &&
    labelled >= MIN_RECURRENCE * counts.size;
  return isDialogue ? [...counts].map(([name, count]) => ({ name, count })) : [];
}
