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

/** One to three words, or a longer name with titles behind commas: `Mira B. Reed, Psy.D`. */
const NAME_LABEL =
  /^\s*([\p{Lu}\p{Lo}][\p{L}\p{M}\p{N}.'’-]{0,30}(?:(?: [\p{L}\p{M}\p{N}.'’-]{1,30}){0,2}|(?: \p{Lu}[\p{L}\p{M}.'’-]{0,30}){0,4}(?:, ?\p{Lu}[\p{L}\p{M}.'’-]{0,30}(?: \p{Lu}[\p{L}\p{M}.'’-]{0,30})?){1,3}))\s*(?:\([^()\n]{1,40}\)\s*)?[:：]\s*\S/u;
/** Sorts out most lines quickly. */
const MAY_BE_LABEL = /^\s*[\p{Lu}\p{Lo}][^:：.]{0,130}[:：.]/u;
/** Matches a label as in plays: `ROPER. How are you?` */
const DOTTED_LABEL =
  /^\s*((?:(?:MRS?|MS|DR|ST)\. )?\p{Lu}[\p{Lu}\p{M}'’ -]{1,30})(?<!\b(?:MRS?|MS|DR|ST))\.(?:\s|$)/u;
/** The heading of a scene of a film, which is no name: `INT. HOUSE - NIGHT`, `12 EXT. RIVER`. */
export const FILM_SCENE = /^\s*(?:\d{1,4}[A-Z]?[.)]?\s+)?(?:INT|EXT|EST|I\/E)(?:\.|\b)[ /]\s*\S/;
const LINE_BREAK = new RegExp(`[\\n${HARD_BREAK}]`);
const MIN_LINES = 3;
/** Minimum number of labels in a dialogue that is a passage of a text. */
const MIN_LINES_OF_PASSAGE = 4;
const MIN_SHARE = 2 / 3;
/** How many labels outweigh one line without a label, so that a passage has {@link MIN_SHARE}. */
const LABELS_PER_LINE = MIN_SHARE / (1 - MIN_SHARE);
/** More lines without a label end a passage. */
const MAX_GAP_LINES = 4;
const MIN_NAMES = 2;
/** Minimum average number of lines that begin with the same name. Terms in a list recur less often. */
const MIN_RECURRENCE = 1.5;
/** Minimum share of labels whose name differs from the name of the previous label. */
const MIN_CHANGES = 1 / 3;

/** A line that is only a name above its words, as in scripts: `ANNA (O.S.)`, `Mr. Reed:`. */
const NAME_ABOVE =
  /^\s*@?((?:(?:MRS?|MS|DR|ST|Mrs?|Ms|Dr|St)\. )?\p{Lu}[\p{L}\p{M}\p{N}.'’ -]{0,40}?)[ \t]*(?:\([^()]{1,40}\)[ \t]*){0,3}\^?[ \t]*([:：]?)\s*$/u;
const MAX_NAME_LINE_CODE_UNITS = 160;
/** Words in capitals that are no names, although they may stand alone above a text. */
export const NO_NAME_ABOVE = /^(?:INT|EXT|ACT|SCENE|CHAPTER|PART|THE END|NOTE|WARNING|TIP)\b/;
const MIN_NAMES_ABOVE = 3;
const MIN_NAMES_IN_FILM = 2;

/** Returns the name on a line above its words: one with a colon, or one in capitals in the first line of a paragraph. */
export function parseNameAbove(line: string, isFirst: boolean): string | null {
  if (line.length > MAX_NAME_LINE_CODE_UNITS || !(isFirst || /[:：]\s*$/.test(line))) return null;
  const [, name = "", colon] = NAME_ABOVE.exec(line) ?? [];
  const isName = name !== "" && (colon !== "" || !/\p{Ll}/u.test(name));
  return isName && !NO_NAME_ABOVE.test(name) ? name : null;
}

/** Counts each name, and how often a name differs from the one before, because the speakers of a dialogue take turns. */
function countNames(names: readonly string[]): {
  readonly counts: Map<string, number>;
  readonly changes: number;
} {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return { counts, changes: names.filter((name, index) => name !== names[index - 1]).length };
}

/** Counts the names that stand above words; empty unless at least two of them recur, and they take turns. */
function countNamesAbove(paragraphs: readonly string[]): Map<string, number> {
  const withLines = paragraphs.filter((text) => text.includes("\n") || text.includes(HARD_BREAK));
  const names = withLines.flatMap((paragraph) =>
    paragraph
      .split(LINE_BREAK)
      .flatMap((line, index, lines) =>
        index < lines.length - 1 ? (parseNameAbove(line, index === 0) ?? []) : [],
      ),
  );
  const { counts, changes } = countNames(names);
  const minimum = paragraphs.some((text) => FILM_SCENE.test(text)) ? MIN_NAMES_IN_FILM : MIN_NAMES_ABOVE;
  const recurring = [...counts.values()].filter((count) => count >= minimum).length;
  return recurring >= MIN_NAMES && changes >= names.length / 2 ? counts : new Map();
}

interface Line {
  /** The name that begins the line; `null` for none. */
  readonly name: string | null;
  readonly text: string;
}

/** Lists the lines of paragraphs. The further lines of a wrapped paragraph are no lines. */
const listLines = (paragraphs: readonly string[]): Line[] =>
  paragraphs.flatMap((paragraph) =>
    paragraph
      .split(LINE_BREAK)
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const head = line.slice(0, 200);
        const label =
          !MAY_BE_LABEL.test(head) || FILM_SCENE.test(head)
            ? null
            : (NAME_LABEL.exec(head) ?? DOTTED_LABEL.exec(head));
        const [, name = null] = label ?? [];
        return { name, text: line };
      })
      .filter(({ name }, index) => name !== null || index === 0),
  );

/** Counts the names of a dialogue; empty if the lines are none. */
function countDialogueNames(lines: readonly Line[], minLines: number): Map<string, number> {
  const names = lines.flatMap(({ name }) => (name === null ? [] : [name]));
  const { counts, changes } = countNames(names);
  const isDialogue =
    names.length >= minLines &&
    names.length >= MIN_SHARE * lines.length &&
    counts.size >= MIN_NAMES &&
    changes >= MIN_CHANGES * names.length &&
    names.length >= MIN_RECURRENCE * counts.size;
  return isDialogue ? counts : new Map();
}

/**
 * Finds the passages of which {@link MIN_SHARE} begin with names, and most are sentences. In a manual, `Type: string`
 * and `Default: none` recur, too. Takes linear time.
 */
function findPassages(lines: readonly Line[]): Array<readonly Line[]> {
  const passages: Array<readonly Line[]> = [];
  let [start, end, score, best] = [0, 0, 0, 0];
  for (const [index, { name }] of lines.entries()) {
    if (score === 0) start = index;
    score = Math.max(0, score + (name === null ? -LABELS_PER_LINE : 1));
    if (name !== null && score >= best) [end, best] = [index + 1, score];
    const ends = score === 0 || best - score > MAX_GAP_LINES * LABELS_PER_LINE || index === lines.length - 1;
    if (!ends) continue;
    if (best > 0) passages.push(lines.slice(start, end));
    [score, best] = [0, 0];
  }
  return passages.filter(
    (passage) => passage.filter(({ text }) => /[.!?…。！？]/.test(text)).length > passage.length / 2,
  );
}

/**
 * Finds the names that begin lines of a dialogue, which is the text or a passage of it. Returns an empty list if there
 * is no dialogue.
 *
 * @param paragraphs with their line breaks, soft and hard
 */
export function findDialogueNames(paragraphs: readonly string[]): {
  readonly names: readonly VoicelessName[];
  /** Those that stand above their words. */
  readonly above: ReadonlySet<string>;
} {
  const lines = listLines(paragraphs);
  const above = countNamesAbove(paragraphs);
  const counts = countDialogueNames(lines, MIN_LINES);
  if (counts.size === 0 && above.size === 0) {
    // A single line beside a dialogue, such as "He said this: no", may begin with other words than a name.
    for (const passage of findPassages(lines))
      for (const [name, count] of countDialogueNames(passage, MIN_LINES_OF_PASSAGE))
        if (count > 1) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  for (const [name, count] of above) counts.set(name, (counts.get(name) ?? 0) + count);
  const names = [...counts].map(([name, count]) => ({ name, count }));
  return { names: names.sort((one, other) => other.count - one.count), above: new Set(above.keys()) };
}
