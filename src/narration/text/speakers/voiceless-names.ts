/**
 * Finds the speakers' names in a dialogue. Names that have no voice in `voices` are spoken, and a remark says so.
 * Evidence: share of lines with a label, and names that recur.
 */
import { HARD_BREAK } from "../normalize.ts";

/** A name that begins lines and has no voice. */
export interface VoicelessName {
  readonly name: string;
  readonly count: number;
}

const NAME_LABEL =
  /^\s*([\p{Lu}\p{Lo}][\p{L}\p{M}\p{N}.'’-]{0,30}(?: [\p{L}\p{M}\p{N}.'’-]{1,30}){0,2})\s*(?:\([^()\n]{1,40}\)\s*)?[:：]\s*\S/u;
/** Matches a label as in plays: `ROPER. How are you?` */
const DOTTED_LABEL = /^\s*((?:(?:MRS?|DR|ST)\. )?\p{Lu}[\p{Lu}\p{M}'’ -]{1,30})\.(?:\s|$)/u;
const LINE_BREAK = new RegExp(`[\\n${HARD_BREAK}]`);
const MIN_LINES = 3;
const MIN_SHARE = 2 / 3;
const MIN_NAMES = 2;
/** Minimum average number of lines that begin with the same name. Terms in a list recur less often. */
const MIN_RECURRENCE = 1.5;
/**
 * Minimum share of labels whose name differs from the name of the previous label, because the speakers of a dialogue
 * take turns.
 */
const MIN_CHANGES = 1 / 3;

/**
 * Finds the names that begin lines of a dialogue. Returns an empty list if the text is not a dialogue.
 *
 * @param paragraphs with their line breaks, soft and hard
 */
export function findDialogueNames(paragraphs: readonly string[]): VoicelessName[] {
  const counts = new Map<string, number>();
  let lines = 0;
  let labelled = 0;
  let changes = 0;
  let last: string | undefined;
  for (const line of paragraphs.flatMap((paragraph) => paragraph.split(LINE_BREAK))) {
    if (line.trim() === "") continue;
    lines += 1;
    const head = line.slice(0, 200);
    const [, name] = NAME_LABEL.exec(head) ?? DOTTED_LABEL.exec(head) ?? [];
    if (name === undefined) continue;
    labelled += 1;
    if (name !== last) changes += 1;
    last = name;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const isDialogue =
    labelled >= MIN_LINES &&
    labelled >= MIN_SHARE * lines &&
    counts.size >= MIN_NAMES &&
    changes >= MIN_CHANGES * labelled &&
    labelled >= MIN_RECURRENCE * counts.size;
  return isDialogue ? [...counts].map(([name, count]) => ({ name, count })) : [];
}
