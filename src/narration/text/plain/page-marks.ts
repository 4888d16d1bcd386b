/**
 * Removes what matters only on a printed page: page numbers, running heads, frames of tables, dot leaders. Evidence:
 * form and sequence. Numbers alone on a line are page numbers only if they rise and interrupt sentences.
 */
import type { UnspokenList } from "../blocks.ts";
import { isBlank } from "../characters.ts";
import { HARD_BREAK } from "../normalize.ts";
import { parseColumns, withoutFrames } from "./tables.ts";

/** `[Page 12]` at the end of a line, as in RFCs. */
const PAGE_FOOTER = /\[(?:Page|Seite|Página|Halaman) \d{1,5}\]\s*$/i;
/** A whole line: `- 12 -`, `Page 12 of 300`, `第12页`, `12 | P a g e`. */
const NAMED_PAGE =
  /^\s*(?:[-–—] ?(\d{1,4}) ?[-–—]|(?:Page|Página|Pág\.|Halaman|Seite) (\d{1,4})(?: (?:of|de|dari|von) \d{1,4})?|第 ?(\d{1,4}) ?[页頁ページ]{1,3}|(\d{1,4}) ?\| ?P ?a ?g ?e)\s*$/i;
/** A whole line: `12`. */
const BARE_PAGE = /^\s*(\d{1,4})\s*$/;
const MIN_NAMED_PAGES = 2;
/** Minimum number of bare page numbers, and of running heads. */
const MIN_PAGES = 3;
const MIN_INTERRUPTED_SHARE = 0.3;
const MAX_HEAD_CODE_UNITS = 80;
/** Maximum length of a line with a running head and a page number. */
const MAX_MARK_CODE_UNITS = MAX_HEAD_CODE_UNITS + 20;
/** Distances between a page number and its running head, in lines. */
const HEAD_DISTANCES = [1, 2, 3, 4];
/** A running head with its page number: `12 THE WHITE WHALE`, `THE WHITE WHALE 12`. */
const TITLED_PAGE = /^\s*(?:\d{1,4}\s+(\p{Lu}[^\p{Ll}\n]{3,60})|(\p{Lu}[^\p{Ll}\n]{3,60}?)\s+\d{1,4})\s*$/u;

/** The first line of a manual page: `LS(1)  User Commands  LS(1)`. */
const MANUAL_HEAD = /^(\S{1,40}\(\d\w{0,5}\))\s{2,}\S.{0,100}?\s{2,}\1\s*$/;
/** The end of the last line of a manual page: `  LS(1)`. */
const MANUAL_FOOT = /\s{2,}(\S{1,40}\(\d\w{0,5}\))\s*$/;

/**
 * Matches dot leaders. An ellipsis is a leader only before a number, because Chinese and Japanese texts also have
 * ellipses between words.
 */
const DOT_LEADER =
  /[ \t]*(?:(?:\.{4,}|(?:[ \t]\.){4,}|·{4,})[ \t]*(?=[\p{L}\p{N}$€£]\S{0,20}\s*$)|…{2,}[ \t]*(?=\d{1,4}\s*$))/u;
const MIN_LEADERS = 2;
/** Maximum length of a line that is checked for frames and leaders. Lines of printed pages are shorter. */
const MAX_LINE_CODE_UNITS = 400;

const ENDS_CLAUSE = /[.!?…:;。！？”’"'»」』)）\]]\s*$/;

const BEGINS_IN_SMALL = /^\s*\p{Ll}/u;

/** A number that may be that of a page, in a form: `footer`, `named`, `bare`, or the words of a running head. */
interface PageNumber {
  readonly form: string;
  readonly lineIndex: number;
  readonly page: number;
}

/** Whether the page numbers rise, and at least half of the steps are 1 or 2. */
function isRising(pages: readonly PageNumber[]): boolean {
  const steps = pages.slice(1).map(({ page }, index) => page - (pages[index]?.page ?? 0));
  return steps.every((step) => step > 0) && steps.filter((step) => step <= 2).length * 2 >= steps.length;
}

class PrintedText {
  readonly #lines: string[];
  readonly #unspoken: UnspokenList;
  readonly #dropped = new Set<number>();

  constructor(text: string, unspoken: UnspokenList) {
    this.#lines = text.split("\n");
    this.#unspoken = unspoken;
  }

  #drop(lineIndex: number): void {
    if (this.#dropped.has(lineIndex)) return;
    this.#unspoken.add("page_mark", (this.#lines[lineIndex] ?? "").trim());
    this.#dropped.add(lineIndex);
  }

  /** Finds the nearest line above or below that is not blank. */
  #neighbour(lineIndex: number, step: 1 | -1): number | undefined {
    return HEAD_DISTANCES.map((lines) => lineIndex + lines * step).find(
      (index) => !isBlank(this.#lines[index]),
    );
  }

  #isAlone(lineIndex: number): boolean {
    return [lineIndex - 1, lineIndex + 1].every(
      (other) => isBlank(this.#lines[other]) || this.#dropped.has(other),
    );
  }

  /** Whether a sentence goes on below a page number, or below a running head that follows the number. */
  #interrupts(lineIndex: number): boolean {
    const textOf = (index: number | undefined): string => this.#lines[index ?? -1] ?? "";
    const above = textOf(this.#neighbour(lineIndex, -1));
    const below = this.#neighbour(lineIndex, 1);
    const belowHead = below !== undefined && this.#isAlone(below) ? this.#neighbour(below, 1) : undefined;
    return (
      /\p{L}/u.test(above) &&
      !ENDS_CLAUSE.test(above) &&
      [below, belowHead].some((index) => BEGINS_IN_SMALL.test(textOf(index)))
    );
  }

  #readPageNumber(line: string, lineIndex: number): PageNumber | null {
    if (line.length > MAX_MARK_CODE_UNITS || !/\d/.test(line)) return null;
    const page = Number(/\d+/.exec(line)?.[0]);
    if (PAGE_FOOTER.test(line)) return { form: "footer", lineIndex, page };
    if (NAMED_PAGE.test(line)) return { form: "named", lineIndex, page };
    if (BARE_PAGE.test(line) && this.#isAlone(lineIndex)) return { form: "bare", lineIndex, page };
    const [, headAfterNumber, headBeforeNumber] = TITLED_PAGE.exec(line) ?? [];
    const head = (headAfterNumber ?? headBeforeNumber ?? "").trim();
    return /\p{Lu}{2}/u.test(head) ? { form: head, lineIndex, page } : null;
  }

  /** Whether numbers of one form are those of pages. */
  #arePages(form: string, pages: readonly PageNumber[]): boolean {
    if (form === "footer") return pages.length >= MIN_NAMED_PAGES;
    if (form === "named") return pages.length >= MIN_NAMED_PAGES && isRising(pages);
    const inside = pages.filter(({ lineIndex }) => this.#interrupts(lineIndex)).length;
    // Numbers that count up from 1 and interrupt no sentence are not page numbers. They belong to headings, such as
    // `SUMMARY OF LESSON 1`.
    const isCount = inside === 0 && pages.every(({ page }, index) => page === index + 1);
    const interruptsEnough = form === "bare" ? inside >= MIN_INTERRUPTED_SHARE * pages.length : !isCount;
    return pages.length >= MIN_PAGES && interruptsEnough && isRising(pages);
  }

  dropPageNumbers(): void {
    const numbers = this.#lines.flatMap((line, lineIndex) => this.#readPageNumber(line, lineIndex) ?? []);
    for (const [form, pages] of Map.groupBy(numbers, (number) => number.form))
      if (this.#arePages(form, pages)) for (const { lineIndex } of pages) this.#drop(lineIndex);
  }

  /** Drops running heads: text that recurs beside page numbers. */
  dropHeads(): void {
    const heads = [...this.#dropped]
      .flatMap((lineIndex) => ([1, -1] as const).flatMap((step) => this.#neighbour(lineIndex, step) ?? []))
      .map((lineIndex) => ({ lineIndex, line: (this.#lines[lineIndex] ?? "").trim() }))
      .filter(
        ({ line, lineIndex }) =>
          line.length <= MAX_HEAD_CODE_UNITS &&
          this.#isAlone(lineIndex) &&
          !ENDS_CLAUSE.test(line) &&
          /^[\p{Lu}\p{Lo}\p{N}]/u.test(line),
      );
    const keyOf = ({ line }: { line: string }): string => line.replace(/\d+/g, "#").replace(/\s+/g, " ");
    for (const same of Map.groupBy(heads, keyOf).values())
      if (same.length >= MIN_PAGES) for (const { lineIndex } of same) this.#drop(lineIndex);
  }

  /**
   * Drops the first and last lines of manual pages, such as `LS(1)  User Commands  LS(1)`. Returns the name of the
   * first manual page; `null` if there is none.
   */
  dropManualHeads(): string | null {
    const names = new Set(this.#lines.flatMap((line) => MANUAL_HEAD.exec(line)?.[1] ?? []));
    if (names.size === 0) return null;
    for (const [lineIndex, line] of this.#lines.entries()) {
      if (names.has(MANUAL_FOOT.exec(line.slice(-MAX_HEAD_CODE_UNITS))?.[1] ?? "")) this.#drop(lineIndex);
    }
    return [...names][0] ?? null;
  }

  /** Returns the text without the dropped lines. Rejoins paragraphs that a page break divided. */
  text(): string {
    if (this.#dropped.size === 0) return this.#lines.join("\n");
    const keptLines: string[] = [];
    // Nothing is joined to the first line.
    let lastFilledLine = ".";
    let hasGap = false;
    for (const [lineIndex, line] of this.#lines.entries()) {
      if (this.#dropped.has(lineIndex)) {
        hasGap = true;
        continue;
      }
      if (!isBlank(line)) {
        const isInside = !ENDS_CLAUSE.test(lastFilledLine) && BEGINS_IN_SMALL.test(line);
        while (hasGap && isInside && isBlank(keptLines.at(-1))) keptLines.pop();
        if (hasGap && !isInside) keptLines.push("");
        hasGap = false;
        lastFilledLine = line;
      }
      keptLines.push(line);
    }
    return keptLines.join("\n");
  }
}

function withoutLeaders(text: string, unspoken: UnspokenList): string {
  if (!/\.{4}|\. \. \. \.|……|····/.test(text)) return text;
  const lines = text.split("\n");
  const isLeader = (line: string): boolean => line.length <= MAX_LINE_CODE_UNITS && DOT_LEADER.test(line);
  if (lines.filter(isLeader).length < MIN_LEADERS) return text;
  return lines
    .map((line) => {
      if (!isLeader(line)) return line;
      unspoken.add("leader", line.trim());
      return `${line.replace(DOT_LEADER, ", ")}${HARD_BREAK}`;
    })
    .join("\n");
}

/**
 * Removes page numbers, running heads, frames and leaders.
 *
 * @param text with `\n` for line ends
 * @returns the text, and the name of the manual page if the text is one
 */
export function withoutPageMarks(
  text: string,
  unspoken: UnspokenList,
): { readonly text: string; readonly title: string | null } {
  const page = new PrintedText(text, unspoken);
  page.dropPageNumbers();
  page.dropHeads();
  const title = page.dropManualHeads();
  return {
    text: withoutLeaders(parseColumns(withoutFrames(page.text(), unspoken), unspoken), unspoken),
    title,
  };
}
