/**
 * Chooses chapters of a plan, or rows of a sheet, by number or title. The chosen chapters have the same parts as in the
 * plan of the whole text, so that no part is paid for twice.
 */
import { AudioError } from "../../../errors.ts";
import { shortenExcerpt } from "../excerpt.ts";
import { chooseNarrationTitle } from "../narration-title.ts";
import type { NarrationPlan, PlannedChapter } from "../plan-types.ts";
import { numberChapters } from "./chapter-number.ts";
import { CHOICE_WORDS } from "./chapter-words.ts";

const MAX_NAMED_CHAPTERS = 5;
const NUMBER_OR_RANGE = /^(\d{1,5}|last)(?:\s*(?:-|–|—|\.\.|to)\s*(\d{1,5}|last))?$/i;
/** Matches a range with only one end, such as `-5` or `3-`. Such a range is refused. */
const HALF_RANGE = /^\s*(?:\d{1,5}\s*[-–—]|[-–—]\s*\d{1,5})\s*$/;
/** Matches a word before numbers, as in `chapters 3-5`. */
const CHAPTER_WORD = new RegExp(`^(?:${[...CHOICE_WORDS].join("|")})\\.?\\s+(?=\\d|last)`, "i");

/** Matches the word before numbers that rows have in their sheet, as in `row 5`. */
const ROW_WORD = /^rows?\s+(?=\d)/i;

type Chapters = readonly PlannedChapter[];

/** What is chosen from. */
interface Choosable {
  readonly chapters: Chapters;
  /** The number of each chapter. Rows are numbered by their position, whatever numbers their words begin with. */
  readonly numbers: ReadonlyArray<number | null>;
  /** The number that each row has in its sheet; absent for chapters. */
  readonly sheetRows?: readonly number[] | undefined;
}

const normalizeForComparison = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/**
 * Returns a chapter's number and quoted title, such as `3 "The Storm"`. A chapter may have only a number or only a
 * title.
 */
export const describeChapter = (
  chapters: Chapters,
  index: number,
  numbers: Choosable["numbers"] = numberChapters(chapters),
): string => {
  const title = chapters[index]?.title;
  const number = numbers[index] ?? null;
  const shownTitle = title === null || title === undefined ? [] : [JSON.stringify(shortenExcerpt(title))];
  return [...(number === null ? [] : [`${number}`]), ...shownTitle].join(" ");
};

function refusedChoiceError({ chapters, numbers, sheetRows }: Choosable, wanted: string): AudioError {
  const [first, last] = [chapters[0]?.title === null ? 1 : 0, chapters.length - 1];
  const count = chapters.length - first;
  if (sheetRows !== undefined) {
    const [from, to] = [first, last].map((index) => describeChapter(chapters, index, numbers));
    return new AudioError(
      "invalid_request",
      `The sheet has no spoken row ${JSON.stringify(shortenExcerpt(wanted))}; it has ${count === 1 ? from : `${count}, from ${from} to ${to}`}. Nothing was sent.`,
      {
        remedy:
          'Give numbers among the spoken rows (3, 3-5, last), their names, or "row 5" by the number in the sheet, whose header is row 1.',
      },
    );
  }
  const existingChapters =
    count < 2
      ? "it has no chapters to choose from"
      : `it has ${count}, from ${describeChapter(chapters, first)} to ${describeChapter(chapters, last)}`;
  return new AudioError(
    "invalid_request",
    `The text has no chapter ${JSON.stringify(shortenExcerpt(wanted))}; ${existingChapters}. Nothing was sent.`,
    { remedy: "Give numbers (3, 3-5, last) or a title as the plan without chapters lists them." },
  );
}

function ambiguousChoiceError(
  { chapters, numbers, sheetRows }: Choosable,
  wanted: string,
  found: readonly number[],
): AudioError {
  const chapterNames = found
    .slice(0, MAX_NAMED_CHAPTERS)
    .map((index) => describeChapter(chapters, index, numbers));
  const more = found.length > MAX_NAMED_CHAPTERS ? ` and ${found.length - MAX_NAMED_CHAPTERS} more` : "";
  return new AudioError(
    "invalid_request",
    `${JSON.stringify(shortenExcerpt(wanted))} is in several ${sheetRows === undefined ? "chapters" : "rows"}: ${chapterNames.join(", ")}${more}. Nothing was sent.`,
    { remedy: "Give the number of one of them." },
  );
}

/**
 * Finds the chapters whose whole title is `wanted`. If there are none, finds those whose title begins with `wanted`. If
 * there are none either, finds those whose title contains `wanted`.
 */
function findChaptersByTitle(chapters: Chapters, wanted: string): readonly number[] {
  const name = normalizeForComparison(wanted);
  if (name === "") return [];
  const titles = chapters.map(({ title }) => normalizeForComparison(title ?? ""));
  const matches = [
    (title: string) => title === name,
    (title: string) => title.startsWith(`${name} `),
    (title: string) => ` ${title} `.includes(` ${name} `),
    // Chinese and Japanese have no spaces between words, so any substring of the title matches.
    (title: string) => title.includes(name) && /[^\p{ASCII}]/u.test(name),
  ];
  for (const isMatch of matches) {
    const matchIndexes = titles.flatMap((title, index) => (isMatch(title) ? [index] : []));
    if (matchIndexes.length > 0) return matchIndexes;
  }
  return [];
}

function findChaptersByNumber(choosable: Choosable, wanted: string): readonly number[] | null {
  const sheetRows = ROW_WORD.test(wanted) ? choosable.sheetRows : undefined;
  const word = sheetRows === undefined ? CHAPTER_WORD : ROW_WORD;
  const match = NUMBER_OR_RANGE.exec(wanted.replace(word, ""));
  if (match === null) return null;
  const numbers = sheetRows ?? choosable.numbers;
  const last = Math.max(...numbers.map((number) => number ?? 0));
  const parseChapterNumber = (word: string): number => (/^last$/i.test(word) ? last : Number(word));
  const [one, other] = [parseChapterNumber(match[1] ?? ""), parseChapterNumber(match[2] ?? match[1] ?? "")];
  const [from, to] = one <= other ? [one, other] : [other, one];
  const indexes = numbers.flatMap((number, index) =>
    number !== null && number >= from && number <= to ? [index] : [],
  );
  const [first, end] = [indexes[0], indexes.at(-1)];
  if (first === undefined || end === undefined) return null;
  // A row that is not spoken may lie within a range, but not at its end.
  if (numbers[first] !== from || numbers[end] !== to) return null;
  // Include chapters without a number, such as an interlude between two chapters of the range.
  return numbers.flatMap((_, index) => (index >= first && index <= end ? [index] : []));
}

/** Returns a chapter with its subchapters. A chapter whose heading is the title of the whole book is returned alone. */
function withSubchapters(chapters: Chapters, index: number): number[] {
  const level = chapters[index]?.level ?? null;
  const indexes = [index];
  const isTitle =
    index === 0 &&
    chapters.every((chapter, otherIndex) => otherIndex === 0 || (chapter.level ?? 0) > (level ?? 0));
  if (isTitle) return indexes;
  for (let inner = index + 1; level !== null && inner < chapters.length; inner += 1) {
    if ((chapters[inner]?.level ?? 0) <= level) break;
    indexes.push(inner);
  }
  return indexes;
}

/**
 * Finds the chapters that a caller chose.
 *
 * @param wanted `3`, `3-5`, `1, 4-last`, or titles as the plan lists them; for rows also `row 5`
 * @param sheetRows the number that each row has in its sheet, if rows are chosen
 * @returns indexes, ascending
 * @throws AudioError `invalid_request` for a chapter that does not exist, or an ambiguous title
 */
export function parseChapterChoice(
  chapters: Chapters,
  wanted: string,
  sheetRows?: readonly number[],
): number[] {
  const numbers = sheetRows?.map((_, index) => index + 1) ?? numberChapters(chapters);
  const choosable = { chapters, numbers, sheetRows };
  const titledChapters = findChaptersByTitle(chapters, wanted);
  const choices =
    titledChapters.length === 1
      ? [wanted.trim()]
      : wanted
          .split(/[,;]/)
          .map((choice) => choice.trim())
          .filter((choice) => choice !== "");
  const isOneChapter = chapters.length < 2 && sheetRows === undefined;
  if (isOneChapter || choices.length === 0) throw refusedChoiceError(choosable, wanted);
  const indexes = choices.flatMap((choice) => {
    const byTitle = findChaptersByTitle(chapters, choice);
    const hasRowWord = sheetRows !== undefined && ROW_WORD.test(choice);
    const isBareNumbers = NUMBER_OR_RANGE.test(choice);
    const isNumbers = NUMBER_OR_RANGE.test(choice.replace(hasRowWord ? ROW_WORD : CHAPTER_WORD, ""));
    // A number matches a title only if the number is the whole title, such as "1984".
    const isWhole = byTitle.every(
      (index) => normalizeForComparison(chapters[index]?.title ?? "") === normalizeForComparison(choice),
    );
    const titles = isBareNumbers && !isWhole ? [] : byTitle;
    const found =
      isBareNumbers || (hasRowWord && !isWhole) || byTitle.length !== 1
        ? (findChaptersByNumber(choosable, choice) ?? titles)
        : titles;
    if (found.length === 0 || HALF_RANGE.test(choice)) throw refusedChoiceError(choosable, choice);
    if (found.length > 1 && !isNumbers) throw ambiguousChoiceError(choosable, choice, found);
    // A range already contains all chapters up to its last chapter. Add the subchapters of the last chapter.
    return [...found, ...found.slice(-1).flatMap((index) => withSubchapters(chapters, index))];
  });
  return [...new Set(indexes)].sort((one, other) => one - other);
}

/**
 * Returns the plan of the chosen chapters alone.
 *
 * @throws AudioError as {@link parseChapterChoice} does; `invalid_request` if the chapters have nothing to speak
 */
export function selectChapters(plan: NarrationPlan, wanted: string): NarrationPlan {
  const indexes = parseChapterChoice(plan.chapters, wanted);
  if (indexes.length === plan.chapters.length) return plan;
  return {
    ...plan,
    title: chooseNarrationTitle(plan),
    chosen: indexes,
    parts: listPartsOfChapters(plan.parts, indexes),
  };
}

interface PartOfChapter {
  readonly chapterIndex: number;
  readonly pauseAfterSeconds: number;
}

/**
 * Returns the parts of the chosen chapters. They are the same as in the plan of the whole text, but no pause follows
 * the last one.
 *
 * @throws AudioError `invalid_request` if the chapters have nothing to speak
 */
export function listPartsOfChapters<Part extends PartOfChapter>(
  all: readonly Part[],
  chosen: readonly number[],
): Part[] {
  const indexes = new Set(chosen);
  const parts = all.filter(({ chapterIndex }) => indexes.has(chapterIndex));
  const last = parts.pop();
  // Remove the pause after the last part, because nothing follows it.
  if (last !== undefined) return [...parts, { ...last, pauseAfterSeconds: 0 }];
  throw new AudioError(
    "invalid_request",
    "The chapters that were chosen hold nothing to speak. Nothing was sent.",
  );
}
