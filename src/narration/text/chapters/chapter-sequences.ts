/**
 * Finds the headings of a text without markup. Evidence: sequence. Short paragraphs of one form with rising numbers,
 * and prose between them, are headings. The same numbers without prose between them are a table of contents or a list.
 * A single number is no evidence.
 */
import type { SourceBlock } from "../blocks.ts";
import { isCjk } from "../characters.ts";
import {
  buildBareKey,
  type ChapterForm,
  findOpenedChapter,
  isFirstOfSequence,
  LEVEL,
  parseChapterForm,
} from "./chapter-forms.ts";

interface NumberedParagraph extends ChapterForm {
  /** Index of the block. */
  readonly blockIndex: number;
}

export interface Sequences {
  /** The form of each numbered paragraph that does not list contents, by the index of its block. */
  readonly forms: ReadonlyMap<number, ChapterForm>;
  /** Headings by the index of their block. */
  readonly headings: ReadonlyMap<number, ChapterForm>;
  /** Blocks that are entries of a table of contents or a list, and therefore not headings. */
  readonly contentsEntries: ReadonlySet<number>;
  /** Paragraphs that contain several entries of a table of contents. */
  readonly contents: ReadonlySet<number>;
}

/** Minimum median length of the text between the numbers of headings. With less text, the numbers belong to a list. */
const MIN_MEDIAN_GAP_CODE_UNITS = 120;
/**
 * Minimum mean length of the text between bare numbers, which have no word such as "Chapter". If the mean is lower, the
 * numbers count verses or steps.
 */
const MIN_BARE_GAP_CODE_UNITS = 400;
/**
 * Minimum median length of the text between bare numbers, in a text whose other headings have a word, such as `CHAPTER
 * I`. If the median is lower, the bare numbers count the stanzas of a song.
 */
const MIN_STANZA_GAP_CODE_UNITS = 800;
/** Minimum mean length of the text below headings that have decimal numbers, or numbers beside an unknown word. */
const MIN_UNKNOWN_WORD_GAP_CODE_UNITS = 200;
/** Weight of one Chinese or Japanese character in the length of a text. A letter has the weight 1. */
const CJK_WEIGHT = 3;

// Minimum number of headings in a sequence, for each form of heading. The number is higher for forms that often mean
// something else.
const MIN_HEADINGS_BESIDE_UNKNOWN_WORD = 3;
const MIN_ROMAN_OR_WORD_HEADINGS = 2;
const MIN_NUMBERED_HEADINGS = 3;
const MIN_HEADINGS_NOT_FROM_ONE = 4;
/**
 * Minimum share of the paragraphs of one form that must belong to a sequence. With a smaller share, no paragraph of
 * this form is a heading.
 */
const MIN_MEMBER_SHARE = 0.6;
/**
 * Maximum share of paragraphs that are too long for a heading, among all paragraphs that begin with a bare number. With
 * a larger share, none of these paragraphs is a heading.
 */
const MAX_LONG_SHARE = 0.2;

const LONG_NUMBERED_PARAGRAPH = /^\s*[(（]?(\d{1,3}|[IVXLC]{1,9})([.)）、．:]?)\s+\S/;

const MIN_ENTRIES = 3;
const ENDS_WITH_PAGE = /\s\d{1,4}(?:[-–]\d{1,4})?\s*$/;

/**
 * Whether a paragraph lists chapters. At least a third of its lines must have a Roman number, a page number, or a word
 * such as "chapter".
 */
function isContents(text: string): boolean {
  const lines = text.split(/[\n\u2028]+/);
  if (lines.length < MIN_ENTRIES) return false;
  const entries = lines.filter((line) => {
    const form = parseChapterForm(line);
    if (form === null) return false;
    return form.kind === "known" || (form.style === "roman" && form.hasTitle) || ENDS_WITH_PAGE.test(line);
  });
  return entries.length >= Math.max(MIN_ENTRIES, lines.length / 3);
}

function findNumberedParagraphs(
  blocks: readonly SourceBlock[],
  contents: ReadonlySet<number>,
): { members: NumberedParagraph[]; longCounts: ReadonlyMap<string, number> } {
  const members: NumberedParagraph[] = [];
  const longCounts = new Map<string, number>();
  for (const [blockIndex, block] of blocks.entries()) {
    if (block.kind !== "paragraph" || contents.has(blockIndex)) continue;
    const form = parseChapterForm(block.text);
    if (form !== null) members.push({ ...form, blockIndex });
    else {
      const [, number = "", mark = ""] = LONG_NUMBERED_PARAGRAPH.exec(block.text.slice(0, 20)) ?? [];
      if (number === "") continue;
      const key = buildBareKey(/\d/.test(number) ? "digits" : "roman", mark, true);
      longCounts.set(key, (longCounts.get(key) ?? 0) + 1);
    }
  }
  return { members, longCounts };
}

/**
 * Finds sequences of rising numbers. A sequence of bare numbers may skip one number at a time; a sequence of other
 * numbers may skip any amount. Leaves out a number that is out of order, such as 2 in `3, 4, 2, 5`, because it probably
 * belongs to a sentence that mentions a chapter.
 */
function splitIntoSequences(members: readonly NumberedParagraph[]): NumberedParagraph[][] {
  const sequences: NumberedParagraph[][] = [];
  for (const [index, position] of members.entries()) {
    const sequence = sequences.at(-1);
    const last = sequence?.at(-1)?.sortNumber ?? 0;
    const next = members[index + 1]?.sortNumber;
    const isBare = position.kind === "bare";
    const isNext = position.sortNumber === last + 1;
    const skipsOne = position.sortNumber === last + 2 && next === last + 3;
    if (sequence !== undefined && (isBare ? isNext || skipsOne : position.sortNumber > last))
      sequence.push(position);
    else if (sequence === undefined || sequence.length === 1 || isFirstOfSequence(position.sortNumber))
      sequences.push([position]);
    else if (!isBare && next !== last + 1) sequences.push([position]);
  }
  return sequences;
}

/** Punctuation marks that can end a sentence, but never end a title in a table of contents. */
const ENDS_SENTENCE_OR_COLON = /[.!?…。！？:：][”’"'»」』)）]*\s*$/;

/**
 * Sums the characters of prose before each block. The length of the prose between two blocks is then the difference of
 * two sums.
 */
function measureProseBefore(blocks: readonly SourceBlock[], members: ReadonlySet<number>): Float64Array {
  const before = new Float64Array(blocks.length + 1);
  for (const [blockIndex, block] of blocks.entries()) {
    const isProse =
      block.kind === "paragraph" &&
      !members.has(blockIndex) &&
      (block.text.length > MIN_MEDIAN_GAP_CODE_UNITS || ENDS_SENTENCE_OR_COLON.test(block.text.slice(-20)));
    const text = isProse ? block.text : "";
    const weight = text !== "" && isCjk(text.trim().charAt(0)) ? CJK_WEIGHT : 1;
    before[blockIndex + 1] = (before[blockIndex] ?? 0) + weight * text.length;
  }
  return before;
}

function findLowerMedian(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

interface SequenceJudgement {
  /** Sequences whose members are headings. */
  readonly accepted: NumberedParagraph[][];
  /**
   * Number of numbered paragraphs that are not in a table of contents or a list. The only paragraph of a sequence
   * always counts.
   */
  readonly countedMemberCount: number;
}

/**
 * Decides which of the given sequences are headings. All given sequences have the same form. Adds the entries of a
 * table of contents or a list to `contentsEntries`.
 *
 * @param proseBetween length of the prose from one block to another
 * @param isBelowChapters whether the numbers count something smaller than chapters. True if the numbers are bare, and
 *   the chapters of the text have a word such as "Chapter"
 */
function judgeSequences(
  sequences: ReadonlyArray<NumberedParagraph[]>,
  proseBetween: (from: number, to: number) => number,
  {
    contents,
    contentsEntries,
    endOfText,
    isBelowChapters,
  }: {
    readonly contents: ReadonlySet<number>;
    readonly contentsEntries: Set<number>;
    readonly endOfText: number;
    readonly isBelowChapters: boolean;
  },
): SequenceJudgement {
  const lastSequenceByFirstNumber = new Map(
    sequences.map((sequence, index) => [sequence[0]?.sortNumber ?? 0, index]),
  );
  const accepted: NumberedParagraph[][] = [];
  let countedMemberCount = 0;
  for (const [index, sequence] of sequences.entries()) {
    const isRepeatedLater = (lastSequenceByFirstNumber.get(sequence[0]?.sortNumber ?? 0) ?? 0) > index;
    if (sequence.length === 1) {
      countedMemberCount += 1;
      const [only] = sequence;
      // The only number of a sequence is an entry of a table of contents if two conditions hold. First, a later
      // sequence begins with the same number. Second, the number is a decimal, which is rare in prose, or the next
      // paragraph lists several entries.
      const isEntry = only?.level === LEVEL.decimal || contents.has((only?.blockIndex ?? -2) + 1);
      if (isRepeatedLater && only !== undefined && isEntry) contentsEntries.add(only.blockIndex);
      continue;
    }
    const end = sequences[index + 1]?.[0]?.blockIndex ?? endOfText;
    const gaps = sequence.map(({ blockIndex }, member) =>
      proseBetween(blockIndex, sequence[member + 1]?.blockIndex ?? end),
    );
    const medianGap = findLowerMedian(gaps.slice(0, -1));
    // Headings with a word such as "Chapter" need only a little prose between them. However, if a later sequence begins
    // with the same number, this sequence may be a table of contents. Its headings then need as much prose between them
    // as headings without such a word.
    const isKnown = sequence[0]?.kind === "known" && !isRepeatedLater;
    if (medianGap < (isKnown ? 1 : MIN_MEDIAN_GAP_CODE_UNITS)) {
      for (const { blockIndex } of sequence) contentsEntries.add(blockIndex);
      continue;
    }
    countedMemberCount += sequence.length;
    const isStanzas = isBelowChapters && medianGap < MIN_STANZA_GAP_CODE_UNITS;
    if (areHeadings(sequence, gaps) && !isStanzas) accepted.push(sequence);
  }
  return { accepted, countedMemberCount };
}

/**
 * Finds the numbered paragraphs that are headings, and the paragraphs that belong to a table of contents or a list.
 * Groups numbered paragraphs by their form, such as "Chapter 1" or "I.", and divides each group into sequences of
 * rising numbers. A sequence consists of headings if it has enough members with enough prose between them. Both
 * minimums depend on the form.
 *
 * All indexes in the result are indexes of `blocks`.
 */
export function findSequences(blocks: readonly SourceBlock[]): Sequences {
  const contents = new Set<number>();
  for (const [blockIndex, block] of blocks.entries()) {
    if (block.kind === "paragraph" && isContents(block.text)) contents.add(blockIndex);
  }
  const { members, longCounts } = findNumberedParagraphs(blocks, contents);
  const prose = measureProseBefore(
    blocks,
    new Set([...contents, ...members.map(({ blockIndex }) => blockIndex)]),
  );
  const proseBetween = (from: number, to: number): number => (prose[to] ?? 0) - (prose[from] ?? 0);
  const hasChapters = members.some(({ kind }) => kind === "known");
  const headings = new Map<number, ChapterForm>();
  const contentsEntries = new Set<number>();

  for (const [key, all] of Map.groupBy(members, (member) => member.key)) {
    const [first] = all;
    if (first === undefined) continue;
    const sequences = splitIntoSequences(all);
    const { accepted, countedMemberCount } = judgeSequences(sequences, proseBetween, {
      contents,
      contentsEntries,
      endOfText: blocks.length,
      isBelowChapters: hasChapters && first.level === LEVEL.bare,
    });
    const count = accepted.reduce((sum, sequence) => sum + sequence.length, 0);
    if (count === 0) continue;
    const isDecimal = first.level === LEVEL.decimal;
    if (first.kind !== "known" && count < MIN_MEMBER_SHARE * countedMemberCount) continue;
    const tooLong = longCounts.get(key) ?? 0;
    if (first.kind === "bare" && first.hasTitle && tooLong > MAX_LONG_SHARE * (count + tooLong)) continue;
    // If the form has a known word or a decimal number, one accepted sequence shows that the text uses this form for
    // headings. Accept its other sequences, too, except tables of contents and lists. A sequence may have only one
    // number, because the last act of a play may have only one scene.
    const headingSequences =
      first.kind === "known" || isDecimal
        ? sequences.filter((sequence) => !contentsEntries.has(sequence[0]?.blockIndex ?? -1))
        : accepted;
    if (isDecimal && headingSequences.flat().length < MIN_NUMBERED_HEADINGS) continue;
    for (const member of headingSequences.flat()) headings.set(member.blockIndex, member);
  }
  for (const member of members) {
    const below = headings.get(member.blockIndex + 1);
    const isOpened =
      below?.level === LEVEL.decimal && findOpenedChapter(below.sortNumber) === member.sortNumber;
    if (member.kind === "bare" && isOpened) headings.set(member.blockIndex, member);
  }
  const forms = new Map(members.map((member) => [member.blockIndex, member]));
  return { forms, headings, contentsEntries, contents };
}

function areHeadings(sequence: readonly NumberedParagraph[], gaps: readonly number[]): boolean {
  const [first] = sequence;
  if (first === undefined) return false;
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  if (first.kind === "known") return true;
  if (first.kind === "other")
    return sequence.length >= MIN_HEADINGS_BESIDE_UNKNOWN_WORD && mean >= MIN_UNKNOWN_WORD_GAP_CODE_UNITS;
  if (first.level === LEVEL.decimal)
    return isFirstOfSequence(first.sortNumber) && mean >= MIN_UNKNOWN_WORD_GAP_CODE_UNITS;
  const min = !isFirstOfSequence(first.sortNumber)
    ? MIN_HEADINGS_NOT_FROM_ONE
    : first.style === "digits" || first.hasTitle
      ? MIN_NUMBERED_HEADINGS
      : MIN_ROMAN_OR_WORD_HEADINGS;
  return sequence.length >= min && mean >= MIN_BARE_GAP_CODE_UNITS;
}
