/** Parses the form of a heading: the kind of number, the word beside it, and whether a title follows. */
import { collapseSpaces } from "../normalize.ts";
import { CHAPTER_WORDS, NOT_HEADING_WORDS, PART_WORDS } from "./chapter-words.ts";
import {
  CJK_NUMBER_PATTERN,
  type Numeral,
  type NumeralStyle,
  parseNumeral,
  readNumerals,
} from "./numerals.ts";

export interface ChapterForm {
  /** The form that all headings of one sequence share. */
  readonly key: string;
  readonly sortNumber: number;
  readonly level: Level;
  /**
   * `known`: a number beside a word for chapters; `other`: a number beside another word; `bare`: a number alone or
   * before a title.
   */
  readonly kind: "known" | "other" | "bare";
  readonly style: NumeralStyle;
  readonly hasTitle: boolean;
  /**
   * The title after the number; `""` if nothing follows the number; `null` if the line may be part of a sentence,
   * because its title has no mark before it, or its number stands before the word, as in `First Act`.
   */
  readonly markedTitle: string | null;
}

/** Maximum length of a heading. It is long, because titles of old books are whole sentences. */
const MAX_FORM_CODE_UNITS = 400;
/** Maximum length of a heading with its indentation and line breaks. */
const MAX_TEXT_CODE_UNITS = MAX_FORM_CODE_UNITS + 100;
const MAX_BARE_CODE_UNITS = 100;
const BARE_TITLE_CODE_UNITS = 80;
/**
 * A decimal number is stored as one integer: the chapter times this factor, plus the number after the point. `2.1` is
 * stored as 201.
 */
const CHAPTER_FACTOR = 100;

/** Whether a number is the first of its sequence: 1, 1.1, 2.1 and so on. */
export const isFirstOfSequence = (value: number): boolean => value % CHAPTER_FACTOR === 1;

/**
 * Returns the chapter of a decimal number that is the first in its chapter: 2 for 2.1. Returns `null` for any other
 * number, such as 2.2.
 */
export const findOpenedChapter = (value: number): number | null =>
  value > CHAPTER_FACTOR && isFirstOfSequence(value) ? Math.floor(value / CHAPTER_FACTOR) : null;

/** Levels of headings. The level depends on what the number of the heading counts. 1 is the highest level. */
export const LEVEL = { part: 1, chapter: 2, bare: 3, decimal: 4 } as const;
export type Level = (typeof LEVEL)[keyof typeof LEVEL];

function levelOfWord(word: string): Level | undefined {
  if (PART_WORDS.has(word)) return LEVEL.part;
  return CHAPTER_WORDS.has(word) ? LEVEL.chapter : undefined;
}

const TITLE_PATTERN =
  "(?:[.:)]?$|\\s*(?:[.:)]|[—–-]{1,2})\\s*(?<title>\\S.*)$|\\s+(?<bareTitle>[“‘\"'«¿¡]*\\p{Lu}.*)$)";
const BEGINS_WITH_WORD = /^(\p{Lu}[\p{L}’']{2,15})\.? /u;
const AFTER_NUMBER = new RegExp(`^${TITLE_PATTERN}`, "u");
const WORD_AFTER_NUMBER = new RegExp(`^ (?<word>\\p{L}{3,15})${TITLE_PATTERN}`, "u");
const CJK_FORM = new RegExp(
  `^(?:第 ?(?<number>${CJK_NUMBER_PATTERN}) ?(?<word>[部卷巻篇編幕章回节節話话集夜])|(?<scroll>[卷巻])(?<scrollNumber>${CJK_NUMBER_PATTERN}))(?<mark>[\\s:：、.．・]*)(?<title>.*)$`,
);
const DECIMAL_FORM = /^[(（]?(?<chapter>\d{1,2})\.(?<number>\d{1,2})(?<mark>[.)）:]?)\s+(?<title>\S.*)$/u;
/** A number alone between dashes or in brackets, as in `--IV--` and `[ 1 ]`. */
const FRAMED_FORM =
  /^(?<mark>\[(?=.*\]$)|[-–—]{1,3}(?=.*[-–—]$)) ?(?<number>[IVXLC]{1,9}|(?<=\[ ?)\d{1,3}) ?(?:\]|[-–—]{1,3})$/;
const BARE_FORM = new RegExp(
  `^[(（]?(?<number>\\d{1,3}|[IVXLC]{1,9}|${CJK_NUMBER_PATTERN})(?<mark>[.)）、．:]?)(?:$|\\s+(?<title>[^\\p{Ll}\\s].*)$)`,
  "u",
);
type Groups = Readonly<Record<string, string | undefined>>;

function buildWordForm(
  { style, value }: Numeral,
  writtenWord: string,
  { bareTitle, title = bareTitle }: Groups,
  isNumberFirst: boolean,
): ChapterForm | null {
  // In `XVII. One Night`, `XVII` is the number, and not a word before the number `One`.
  if (parseNumeral(writtenWord)?.style === "roman") return null;
  const word = writtenWord.toLowerCase().replace(/^chap$/, "chapter");
  const level = levelOfWord(word);
  const mayBeOther = !isNumberFirst && (title?.length ?? 0) <= BARE_TITLE_CODE_UNITS;
  if (NOT_HEADING_WORDS.has(word) || (level === undefined && !mayBeOther)) return null;
  return {
    key: `${isNumberFirst ? "number, word" : "word, number"}: ${word}`,
    sortNumber: value,
    level: level ?? LEVEL.chapter,
    kind: level === undefined ? "other" : "known",
    style,
    hasTitle: title !== undefined,
    markedTitle: isNumberFirst || bareTitle !== undefined ? null : (title ?? ""),
  };
}

/** The numbers with which a text begins, each with the index of its end. */
type Numbers = ReturnType<typeof readNumerals>;

/** Returns the numbers of a text behind which the pattern matches. */
const chooseNumbers = (numbers: Numbers, text: string, pattern: RegExp): Array<[Numeral, Groups]> =>
  numbers.flatMap(([numeral, end]) => {
    const rest = pattern.exec(text.slice(end));
    return rest === null ? [] : [[numeral, rest.groups ?? {}]];
  });

/** Parses a number beside a word: `Chapter IV`, `The First Act`. */
function matchWordForm(line: string, numbers: Numbers): ChapterForm | null {
  const [head = "", word = ""] = BEGINS_WITH_WORD.exec(line) ?? [];
  const rest = line.slice(head.length);
  for (const [numeral, groups] of head === "" ? [] : chooseNumbers(readNumerals(rest), rest, AFTER_NUMBER)) {
    const form = buildWordForm(numeral, word, groups, false);
    if (form !== null) return form;
  }
  // `1 Act` has no ordinal, in contrast to `1st Act`.
  const ordinals = /^\d+ /.test(line) ? [] : chooseNumbers(numbers, line, WORD_AFTER_NUMBER);
  for (const [numeral, groups] of ordinals) {
    const form = buildWordForm(numeral, groups["word"] ?? "", groups, true);
    if (form !== null) return form;
  }
  return null;
}

function matchCjkForm(line: string): ChapterForm | null {
  const groups: Groups = CJK_FORM.exec(line)?.groups ?? {};
  const { scroll, word = scroll ?? "", mark, title = "" } = groups;
  const number = parseNumeral(groups["number"] ?? groups["scrollNumber"] ?? "");
  if (number === null) return null;
  return {
    key: `第${word}`,
    sortNumber: number.value,
    level: levelOfWord(word) ?? LEVEL.chapter,
    kind: "known",
    style: number.style,
    hasTitle: title !== "",
    markedTitle: title === "" || mark !== "" ? title : null,
  };
}

/** Returns the key that bare numbers of one form share, such as `1. Morning` and `2. Noon`. */
export const buildBareKey = (style: NumeralStyle, mark: string, hasTitle: boolean): string =>
  `${style} ${mark} ${hasTitle ? "title" : "alone"}`;

/** Parses a number alone or before a title, or a decimal number, as in `1.1) What it is` below a chapter. */
function matchBareForm(line: string, numbers: Numbers): ChapterForm | null {
  if (line.length > MAX_BARE_CODE_UNITS) return null;
  const match = DECIMAL_FORM.exec(line) ?? FRAMED_FORM.exec(line) ?? BARE_FORM.exec(line);
  const { chapter, number, mark = "", title }: Groups = match?.groups ?? {};
  // A line that is only a number may be spelt: `Twenty-one.`
  const [spelt = null] = numbers.find(([, end]) => /^\.?$/.test(line.slice(end))) ?? [];
  const numeral = number === undefined ? spelt : parseNumeral(number);
  if (
    numeral === null ||
    (number === undefined && numeral.style !== "words") ||
    (title?.length ?? 0) > BARE_TITLE_CODE_UNITS
  )
    return null;
  const { style, value } = numeral;
  return {
    key: chapter === undefined ? buildBareKey(style, mark, title !== undefined) : `decimal ${mark}`,
    sortNumber: chapter === undefined ? value : Number(chapter) * CHAPTER_FACTOR + value,
    level: chapter === undefined ? LEVEL.bare : LEVEL.decimal,
    kind: "bare",
    style,
    hasTitle: title !== undefined,
    markedTitle: title ?? "",
  };
}

/** Parses a text on one or more lines as a heading with a number; returns `null` for any other text. */
export function parseChapterForm(text: string): ChapterForm | null {
  // Skip text that begins with a small letter. It is not a heading, and most of it is wrapped text.
  if (text.length > MAX_TEXT_CODE_UNITS || !/^\s*[^\p{Ll}\s]/u.test(text)) return null;
  const line = collapseSpaces(text);
  if (line.length > MAX_FORM_CODE_UNITS) return null;
  const numbers = readNumerals(line);
  return matchWordForm(line, numbers) ?? matchCjkForm(line) ?? matchBareForm(line, numbers);
}
