/** Parses the form of a heading: the kind of number, the word beside it, and whether a title follows. */
import {
  ARTICLES,
  CHAPTER_WORDS,
  NOT_HEADING_WORDS,
  NUMBER_CONNECTORS,
  ORDINAL_SUFFIXES,
  PART_WORDS,
} from "./chapter-words.ts";
import { type NumeralStyle, parseNumeral } from "./numerals.ts";

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
  /** Whether the number stands before its word, as in `First Act`. */
  readonly isNumberFirst: boolean;
  readonly style: NumeralStyle;
  readonly hasTitle: boolean;
  /**
   * The title after the number; `""` if nothing follows the number; `null` if the text after the number may be the rest
   * of a sentence.
   */
  readonly markedTitle: string | null;
}

/** Maximum length of a heading. It is long, because titles of old books are whole sentences. */
const MAX_FORM_CODE_UNITS = 400;
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

/** Builds a pattern that matches each word in small letters, in capitals and with a first capital. */
const buildWordPattern = (words: ReadonlySet<string>): string => {
  const spellings = [...words].flatMap((word) => [
    word,
    word.toUpperCase(),
    word.charAt(0).toUpperCase() + word.slice(1),
  ]);
  return `(?:${[...new Set(spellings)].join("|")})`;
};
const ARTICLE_PATTERN = buildWordPattern(ARTICLES);
const CONNECTOR_PATTERN = buildWordPattern(NUMBER_CONNECTORS);
const ORDINAL_SUFFIX = buildWordPattern(ORDINAL_SUFFIXES);

const buildNumberPattern = (furtherWords: number): string =>
  `(?:\\d{1,4}${ORDINAL_SUFFIX}?|[IVXLCDMivxlcdm]{1,12}|(?:${ARTICLE_PATTERN} )?\\p{L}{2,14}(?:[ -](?:${CONNECTOR_PATTERN} )?\\p{L}{2,12}){${furtherWords}})`;
const TITLE_PATTERN =
  "(?:[.:)]?$|\\s*(?:[.:)]|[—–-]{1,2})\\s*(?<title>\\S.*)$|\\s+(?<bareTitle>[“‘\"'«¿¡]*\\p{Lu}.*)$)";
/** Tries the longest number first: `Dua Puluh Satu` is 21, although it begins with `Dua` (2). */
const WORD_FIRST = [2, 1, 0].map(
  (furtherWords) =>
    new RegExp(
      `^(?<word>\\p{Lu}[\\p{L}’']{2,15})\\.? (?<number>${buildNumberPattern(furtherWords)})${TITLE_PATTERN}`,
      "u",
    ),
);
const WORD_LAST = new RegExp(
  `^(?<number>(?:${ARTICLE_PATTERN} )?\\p{L}{3,14}(?:-\\p{L}{3,10})?|\\d{1,3}${ORDINAL_SUFFIX}) (?<word>\\p{L}{3,15})${TITLE_PATTERN}`,
  "u",
);
const CJK_NUMBER = "[0-9０-９〇零一二三四五六七八九十百千两兩廿卅]{1,7}";
const CJK_FORM = new RegExp(
  `^(?:第 ?(?<number>${CJK_NUMBER}) ?(?<word>[部卷巻篇編幕章回节節話话集夜])|(?<scroll>[卷巻])(?<scrollNumber>${CJK_NUMBER}))(?<mark>[\\s:：、.．・]*)(?<title>.*)$`,
);
const BARE_FORM = new RegExp(
  `^[(（]?(?<number>\\d{1,3}|[IVXLC]{1,9}|${CJK_NUMBER})(?<mark>[.)）、．:]?)(?:$|\\s+(?<title>[^\\p{Ll}\\s].*)$)`,
  "u",
);
const DECIMAL_FORM = /^[(（]?(?<chapter>\d{1,2})\.(?<number>\d{1,2})(?<mark>[.)）:]?)\s+(?<title>\S.*)$/u;
/** A number alone between dashes or in brackets, as in `--IV--` and `[ 1 ]`. */
const FRAMED_FORM =
  /^(?:(?<dashes>[-–—]{1,3}) ?(?<number>[IVXLC]{1,9}) ?[-–—]{1,3}|\[ ?(?<inner>\d{1,3}|[IVXLC]{1,9}) ?\])$/;
const BARE_WORD = /^\p{Lu}[\p{L} -]{2,24}\.?$/u;

function matchWordForm(
  groups: Readonly<Record<string, string | undefined>>,
  isNumberFirst: boolean,
): ChapterForm | null {
  const word = (groups["word"] ?? "").toLowerCase();
  const number = parseNumeral(groups["number"] ?? "");
  // In `XVII. One Night`, the pattern matches `XVII` as the word and `One` as its number, but `XVII` is the number.
  const isNumber = parseNumeral(groups["word"] ?? "")?.style === "roman";
  if (number === null || isNumber || NOT_HEADING_WORDS.has(word)) return null;
  const name = word === "chap" ? "chapter" : word;
  const level = levelOfWord(name);
  const title = groups["title"] ?? groups["bareTitle"];
  if (level === undefined && (title?.length ?? 0) > BARE_TITLE_CODE_UNITS) return null;
  return {
    key: `${isNumberFirst ? "number, word" : "word, number"}: ${name}`,
    sortNumber: number.value,
    level: level ?? LEVEL.chapter,
    kind: level === undefined ? "other" : "known",
    style: number.style,
    isNumberFirst,
    hasTitle: title !== undefined,
    markedTitle: groups["bareTitle"] === undefined ? (title ?? "") : null,
  };
}

function matchCjkForm(line: string): ChapterForm | null {
  const { groups } = CJK_FORM.exec(line) ?? {};
  if (groups === undefined) return null;
  const number = parseNumeral(groups["number"] ?? groups["scrollNumber"] ?? "");
  const word = groups["word"] ?? groups["scroll"] ?? "";
  if (number === null) return null;
  return {
    key: `第${word}`,
    sortNumber: number.value,
    level: levelOfWord(word) ?? LEVEL.chapter,
    kind: "known",
    style: number.style,
    isNumberFirst: false,
    hasTitle: groups["title"] !== "",
    markedTitle: groups["title"] === "" || groups["mark"] !== "" ? (groups["title"] ?? "") : null,
  };
}

/** Parses a heading below a chapter, such as `1.1) What it is`. */
function matchDecimalForm(line: string): ChapterForm | null {
  const { chapter, number, mark, title } = DECIMAL_FORM.exec(line)?.groups ?? {};
  if (title === undefined || title.length > BARE_TITLE_CODE_UNITS) return null;
  return {
    key: `decimal ${mark} title`,
    sortNumber: Number(chapter) * CHAPTER_FACTOR + Number(number),
    level: LEVEL.decimal,
    kind: "bare",
    style: "digits",
    isNumberFirst: false,
    hasTitle: true,
    markedTitle: title,
  };
}

/** Returns the key that bare numbers of one form share, such as `1. Morning` and `2. Noon`. */
export const buildBareKey = (style: NumeralStyle, mark: string, hasTitle: boolean): string =>
  `${style} ${mark} ${hasTitle ? "title" : "alone"}`;

function matchBareForm(line: string): ChapterForm | null {
  if (line.length > MAX_BARE_CODE_UNITS) return null;
  const { groups } = BARE_FORM.exec(line) ?? {};
  const number = parseNumeral(groups?.["number"] ?? (BARE_WORD.test(line) ? line.replace(/\.$/, "") : ""));
  if (number === null || (groups === undefined && number.style !== "words")) return null;
  const title = groups?.["title"];
  if ((title?.length ?? 0) > BARE_TITLE_CODE_UNITS) return null;
  const key = buildBareKey(number.style, groups?.["mark"] ?? "", title !== undefined);
  return {
    key,
    sortNumber: number.value,
    level: LEVEL.bare,
    kind: "bare",
    style: number.style,
    isNumberFirst: false,
    hasTitle: title !== undefined,
    markedTitle: title ?? "",
  };
}

function matchFramedForm(line: string): ChapterForm | null {
  const { dashes = "[", number, inner = number } = FRAMED_FORM.exec(line)?.groups ?? {};
  const numeral = inner === undefined ? null : parseNumeral(inner);
  if (numeral === null) return null;
  const { style, value } = numeral;
  return {
    key: `${style} ${dashes} alone`,
    sortNumber: value,
    level: LEVEL.bare,
    kind: "bare",
    style,
    isNumberFirst: false,
    hasTitle: false,
    markedTitle: "",
  };
}

/**
 * Parses a line as a heading with a number; returns `null` for any other line.
 *
 * @param line one line, with single spaces between words
 */
export function parseChapterForm(line: string): ChapterForm | null {
  // Skip lines that begin with a small letter. They are not headings, and most of them are wrapped text.
  if (line.length > MAX_FORM_CODE_UNITS || !/^[^\p{Ll}]/u.test(line)) return null;
  for (const pattern of WORD_FIRST) {
    const { groups } = pattern.exec(line) ?? {};
    const form = groups === undefined ? null : matchWordForm(groups, false);
    if (form !== null) return form;
  }
  const last = WORD_LAST.exec(line)?.groups;
  const ordinal = last === undefined ? null : matchWordForm(last, true);
  if (ordinal !== null && ordinal.kind === "known") return ordinal;
  return matchCjkForm(line) ?? matchDecimalForm(line) ?? matchFramedForm(line) ?? matchBareForm(line);
}
