/**
 * Finds titles without a number in plain text. Evidence: sequence. Either a table of contents lists the titles, or
 * several short lines have more blank lines above them than paragraphs have. In both cases, most titles have much text
 * below them.
 */
import { hasWords } from "../characters.ts";
import { collapseSpaces } from "../normalize.ts";
import { CONTENTS_TITLES, END_LINES } from "./chapter-words.ts";

const MAX_TITLE_CODE_UNITS = 80;
const MIN_TITLES = 3;
/** Minimum share of the lines of a table of contents that occur again below it, as titles. */
const FOUND_SHARE = 0.5;
/** Maximum length of the title above a table of contents, with its emphasis. */
const MAX_CONTENTS_CODE_UNITS = 40;
const MAX_CONTENTS_LINES = 400;
/** Minimum length of the text below most titles. Lines of verse and list items have less text below them. */
const MIN_TEXT_BELOW_LISTED_CODE_UNITS = 400;
const MIN_TEXT_BELOW_SPACED_CODE_UNITS = 1000;
/** Minimum number of blank lines above a title. It is lower for titles in capitals. */
const CAPITALS_BLANK_LINES = 2;
const OTHER_BLANK_LINES = 3;

/** Matches what surrounds the title in an entry of a table of contents: bullets, numbers, leaders, the page. */
const AROUND_ENTRY = /^(?:[*•·-]\s+)?(?:(?:\d{1,3}|[ivxlc]{1,9})[.):]?\s+)?|[\s.·…,;:]*[\s.…]\d{1,4}$/g;
/** Matches the marks that no title ends with. */
const NO_ENTRY_END = /[,;:：、，；。！？][”」』]?\s*$/;

interface Line {
  readonly words: string;
  /** Offset in the text, in UTF-16 units. */
  readonly offset: number;
  readonly blankAbove: number;
  readonly isAlone: boolean;
}

/** Returns the form of a title for comparisons: small letters, no emphasis, no final mark. */
export const deriveTitleKey = (text: string): string =>
  collapseSpaces(text.replace(/[_*=#]+|[\u2028\n]/g, " "))
    .replace(/[.:。：]$/, "")
    .toLowerCase();

function findShortLines(text: string): Line[] {
  const lines: Line[] = [];
  const all = text.split("\n");
  let offset = 0;
  let blankAbove = OTHER_BLANK_LINES;
  for (const [lineIndex, words] of all.entries()) {
    const isBlank = !/\S/.test(words);
    if (!isBlank && words.length <= MAX_TITLE_CODE_UNITS && hasWords(words)) {
      const isAlone = blankAbove > 0 && !/\S/.test(all[lineIndex + 1] ?? "");
      lines.push({ words, offset, blankAbove, isAlone });
    }
    blankAbove = isBlank ? blankAbove + 1 : 0;
    offset += words.length + 1;
  }
  return lines;
}

/** Whether most titles have at least `minCodeUnits` of text below them. */
function areFollowedByText(titles: readonly Line[], end: number, minCodeUnits: number): boolean {
  const gaps = titles.map(({ offset }, titleIndex) => (titles[titleIndex + 1]?.offset ?? end) - offset);
  return gaps.filter((gap) => gap >= minCodeUnits).length > gaps.length / 2;
}

/** Returns the titles that a table of contents lists and that stand alone below it. */
function findListedTitles(lines: readonly Line[], end: number): Line[] {
  const start =
    1 +
    lines.findIndex(
      ({ words }) => words.length <= MAX_CONTENTS_CODE_UNITS && CONTENTS_TITLES.has(deriveTitleKey(words)),
    );
  if (start === 0) return [];
  const lastAlone = new Map(
    lines.flatMap(({ words, isAlone }, lineIndex) => (isAlone ? [[deriveTitleKey(words), lineIndex]] : [])),
  );
  const found = new Map<string, number>();
  for (const [index, { words }] of lines.slice(start, start + MAX_CONTENTS_LINES).entries()) {
    const key = deriveTitleKey(words);
    const spellings = [key, key.replaceAll(AROUND_ENTRY, "")];
    if (spellings.some((entry) => found.has(entry))) break;
    const entry = spellings.find((name) => (lastAlone.get(name) ?? 0) > start + index);
    if (entry !== undefined) found.set(entry, start + index);
  }
  const [first = 0, ...others] = found.values();
  const lastEntry = others.at(-1) ?? first;
  const titles = [...found.keys()]
    .map((entry) => lastAlone.get(entry) ?? 0)
    .filter((lineIndex) => lineIndex > lastEntry)
    .sort((one, other) => one - other)
    .flatMap((lineIndex) => lines[lineIndex] ?? []);
  const isTable = titles.length >= Math.max(MIN_TITLES, FOUND_SHARE * (lastEntry - first + 1));
  return isTable && areFollowedByText(titles, end, MIN_TEXT_BELOW_LISTED_CODE_UNITS) ? titles : [];
}

/** Whether a short line has enough blank lines above it to be a title. */
function isSpaced({ words, isAlone, blankAbove }: Line): boolean {
  if (!isAlone || blankAbove < CAPITALS_BLANK_LINES || NO_ENTRY_END.test(words)) return false;
  const isInCapitals = /\p{Lu}{2}/u.test(words) && !/\p{Ll}/u.test(words);
  const key = deriveTitleKey(words);
  return (
    (isInCapitals || blankAbove >= OTHER_BLANK_LINES) && !CONTENTS_TITLES.has(key) && !END_LINES.has(key)
  );
}

/**
 * Returns the short lines that have enough blank lines above them to be titles. Leaves out a line if little text
 * separates it from the next such line.
 */
function findSpacedTitles(lines: readonly Line[], end: number): Line[] {
  const apart = lines.filter(isSpaced);
  const titles = apart.filter(
    ({ offset }, titleIndex) =>
      (apart[titleIndex + 1]?.offset ?? end) - offset > MIN_TEXT_BELOW_LISTED_CODE_UNITS,
  );
  const isSequence =
    titles.length >= MIN_TITLES && areFollowedByText(titles, end, MIN_TEXT_BELOW_SPACED_CODE_UNITS);
  return isSequence ? titles : [];
}

export interface UnnumberedTitles {
  /** The {@link deriveTitleKey} of each title; empty if there is no evidence for titles. */
  readonly keys: ReadonlySet<string>;
  /** Whether the titles were found through a table of contents, and not through the blank lines above them. */
  readonly areFromContents: boolean;
}

export const NO_TITLES: UnnumberedTitles = { keys: new Set(), areFromContents: false };

/**
 * Finds the titles without a number.
 *
 * @param text plain text with `\n` for line ends
 */
export function findUnnumberedTitles(text: string): UnnumberedTitles {
  const lines = findShortLines(text);
  const inContents = findListedTitles(lines, text.length);
  const spaced = findSpacedTitles(lines, text.length);
  // If every title of the table of contents has blank lines above it in the text, use all titles with blank lines
  // above. A title that is missing from the table of contents may have another spelling there.
  const titles = inContents.every((line) => spaced.includes(line)) ? spaced : inContents;
  return {
    keys: new Set(titles.map(({ words }) => deriveTitleKey(words))),
    areFromContents: titles === inContents,
  };
}
