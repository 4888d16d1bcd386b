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

/** Returns the form of a paragraph that begins with a number and is too long for a heading; `null` for any other. */
function findFormOfLong(text: string): string | null {
  const [, number = "", mark = ""] = LONG_NUMBERED_PARAGRAPH.exec(text.slice(0, 20)) ?? [];
  return number === "" ? null : buildBareKey(/\d/.test(number) ? "digits" : "roman", mark, true);
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

/**
 * Finds the numbered paragraphs that are headings, and the paragraphs that belong to a table of contents or a list.
 * Groups numbered paragraphs by their form, such as "Chapter 1" or "I.", and divides each group into sequences of
 * rising numbers. A sequence consists of headings if it has enough members with enough prose between them. Both
 * minimums depend on the form.
 *
 * All indexes are indexes of `blocks`.
 */
export class ChapterSequences {
  /** The form of each numbered paragraph that does not list contents, by the index of its block. */
  readonly forms = new Map<number, NumberedParagraph>();
  /** Headings by the index of their block. */
  readonly headings = new Map<number, ChapterForm>();
  /** Blocks that are entries of a table of contents or a list, and therefore not headings. */
  readonly contentsEntries = new Set<number>();
  /** Paragraphs that contain several entries of a table of contents. */
  readonly contents: ReadonlySet<number>;
  /** How many paragraphs of each form are too long for a heading. */
  readonly #longCounts = new Map<string, number>();
  readonly #prose: Float64Array;
  readonly #endOfText: number;
  readonly #hasChapters: boolean;

  constructor(blocks: readonly SourceBlock[]) {
    this.#endOfText = blocks.length;
    this.contents = new Set(
      blocks.flatMap((block, index) => (block.kind === "paragraph" && isContents(block.text) ? [index] : [])),
    );
    for (const [blockIndex, block] of blocks.entries()) {
      if (block.kind !== "paragraph" || this.contents.has(blockIndex)) continue;
      const form = parseChapterForm(block.text);
      const longForm = form === null ? findFormOfLong(block.text) : null;
      if (form !== null) this.forms.set(blockIndex, { ...form, blockIndex });
      if (longForm !== null) this.#longCounts.set(longForm, (this.#longCounts.get(longForm) ?? 0) + 1);
    }
    this.#prose = measureProseBefore(blocks, new Set([...this.contents, ...this.forms.keys()]));
    const members = [...this.forms.values()];
    this.#hasChapters = members.some(({ kind }) => kind === "known");
    for (const ofForm of Map.groupBy(members, ({ key }) => key).values()) this.#addHeadings(ofForm);
    for (const member of members) {
      const below = this.headings.get(member.blockIndex + 1);
      const isOpened =
        below?.level === LEVEL.decimal && findOpenedChapter(below.sortNumber) === member.sortNumber;
      if (member.kind === "bare" && isOpened) this.headings.set(member.blockIndex, member);
    }
  }

  /** Adds the headings among the paragraphs of one form. */
  #addHeadings(members: readonly NumberedParagraph[]): void {
    const [first] = members;
    if (first === undefined) return;
    const { key, kind, level, hasTitle } = first;
    const sequences = splitIntoSequences(members);
    const accepted = this.#acceptSequences(sequences, this.#hasChapters && level === LEVEL.bare);
    const count = accepted.flat().length;
    if (count === 0) return;
    const others = sequences.filter((sequence) => sequence.length === 1 || !this.#isContents(sequence));
    if (kind !== "known" && count < MIN_MEMBER_SHARE * others.flat().length) return;
    const tooLong = this.#longCounts.get(key) ?? 0;
    if (kind === "bare" && hasTitle && tooLong > MAX_LONG_SHARE * (count + tooLong)) return;
    // If the form has a known word or a decimal number, one accepted sequence shows that the text uses this form for
    // headings. Accept its other sequences, too, except tables of contents and lists. A sequence may have only one
    // number, because the last act of a play may have only one scene.
    const isDecimal = level === LEVEL.decimal;
    const headings = (
      kind === "known" || isDecimal ? sequences.filter((sequence) => !this.#isContents(sequence)) : accepted
    ).flat();
    if (isDecimal && headings.length < MIN_NUMBERED_HEADINGS) return;
    for (const member of headings) this.headings.set(member.blockIndex, member);
  }

  #isContents([first]: readonly NumberedParagraph[]): boolean {
    return first !== undefined && this.contentsEntries.has(first.blockIndex);
  }

  /**
   * Returns the sequences that are headings, of all sequences of one form. Adds the entries of a table of contents or a
   * list to `contentsEntries`.
   *
   * @param isBelowChapters whether the numbers count something smaller than chapters. True if the numbers are bare, and
   *   the chapters of the text have a word such as "Chapter"
   */
  #acceptSequences(
    sequences: readonly NumberedParagraph[][],
    isBelowChapters: boolean,
  ): NumberedParagraph[][] {
    const lastByFirstNumber = new Map(sequences.map((sequence, index) => [sequence[0]?.sortNumber, index]));
    return sequences.filter((sequence, index) => {
      const [first] = sequence;
      if (first === undefined) return false;
      const isRepeatedLater = (lastByFirstNumber.get(first.sortNumber) ?? 0) > index;
      if (sequence.length === 1) {
        // The only number of a sequence is an entry of a table of contents if two conditions hold. First, a later
        // sequence begins with the same number. Second, the number is a decimal, which is rare in prose, or the next
        // paragraph lists several entries.
        const isEntry = first.level === LEVEL.decimal || this.contents.has(first.blockIndex + 1);
        if (isRepeatedLater && isEntry) this.contentsEntries.add(first.blockIndex);
        return false;
      }
      const end = sequences[index + 1]?.[0]?.blockIndex ?? this.#endOfText;
      const gaps = sequence.map(({ blockIndex }, member) => {
        const next = sequence[member + 1]?.blockIndex ?? end;
        return (this.#prose[next] ?? 0) - (this.#prose[blockIndex] ?? 0);
      });
      const medianGap = findLowerMedian(gaps.slice(0, -1));
      // Headings with a word such as "Chapter" need only a little prose between them. However, if a later sequence
      // begins with the same number, this sequence may be a table of contents. Its headings then need as much prose
      // between them as headings without such a word.
      const isKnown = first.kind === "known" && !isRepeatedLater;
      const isListing = medianGap < (isKnown ? 1 : MIN_MEDIAN_GAP_CODE_UNITS);
      if (isListing) for (const { blockIndex } of sequence) this.contentsEntries.add(blockIndex);
      const isStanzas = isBelowChapters && medianGap < MIN_STANZA_GAP_CODE_UNITS;
      return !isListing && !isStanzas && areHeadings(first, gaps);
    });
  }
}

/** @param gaps length of the text below each number of a sequence */
function areHeadings(first: NumberedParagraph, gaps: readonly number[]): boolean {
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  if (first.kind === "known") return true;
  if (first.kind === "other")
    return gaps.length >= MIN_HEADINGS_BESIDE_UNKNOWN_WORD && mean >= MIN_UNKNOWN_WORD_GAP_CODE_UNITS;
  if (first.level === LEVEL.decimal)
    return isFirstOfSequence(first.sortNumber) && mean >= MIN_UNKNOWN_WORD_GAP_CODE_UNITS;
  const min = !isFirstOfSequence(first.sortNumber)
    ? MIN_HEADINGS_NOT_FROM_ONE
    : first.style === "digits" || first.hasTitle
      ? MIN_NUMBERED_HEADINGS
      : MIN_ROMAN_OR_WORD_HEADINGS;
  return gaps.length >= min && mean >= MIN_BARE_GAP_CODE_UNITS;
}
