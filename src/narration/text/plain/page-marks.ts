/**
 * Removes what matters only on a printed page: page numbers, running heads, frames of tables, dot leaders. Evidence:
 * form and sequence. Numbers alone on a line are page numbers only if they rise and interrupt sentences.
 */
import type { UnspokenList } from "../blocks.ts";
import { flowParagraph, HARD_BREAK } from "../normalize.ts";
import { wordRow } from "../table-row.ts";
import { parseColumns } from "./columns.ts";

/** `[Page 12]` at the end of a line, as in RFCs. */
const PAGE_FOOTER = /\[(?:Page|Seite|Página|Halaman) \d{1,5}\]\s*$/i;
/** A whole line: `- 12 -`, `Page 12 of 300`, `第12页`, `12 | P a g e`. */
const NAMED_PAGE =
  /^\s*(?:[-–—] ?(\d{1,4}) ?[-–—]|(?:Page|Página|Pág\.|Halaman|Seite) (\d{1,4})(?: (?:of|de|dari|von) \d{1,4})?|第 ?(\d{1,4}) ?[页頁ページ]{1,3}|(\d{1,4}) ?\| ?P ?a ?g ?e)\s*$/i;
/** A whole line: `12`. */
const BARE_PAGE = /^\s*(\d{1,4})\s*$/;
const MIN_NAMED_PAGES = 2;
const MIN_BARE_PAGES = 3;
const MIN_INTERRUPTED_SHARE = 0.3;
const MIN_RUNNING_HEADS = 3;
const MAX_HEAD_CODE_UNITS = 80;
/** Maximum length of a line with a running head and a page number. */
const MAX_MARK_CODE_UNITS = MAX_HEAD_CODE_UNITS + 20;
const MAX_HEAD_DISTANCE_LINES = 4;
/** A running head with its page number: `12 THE WHITE WHALE`, `THE WHITE WHALE 12`. */
const TITLED_PAGE = /^\s*(?:\d{1,4}\s+(\p{Lu}[^\p{Ll}\n]{3,60})|(\p{Lu}[^\p{Ll}\n]{3,60}?)\s+\d{1,4})\s*$/u;

/** The first line of a manual page: `LS(1)  User Commands  LS(1)`. */
const MANUAL_HEAD = /^(\S{1,40}\(\d\w{0,5}\))\s{2,}\S.{0,100}?\s{2,}\1\s*$/;
/** The end of the last line of a manual page: `  LS(1)`. */
const MANUAL_FOOT = /\s{2,}(\S{1,40}\(\d\w{0,5}\))\s*$/;

/** A line of a table's frame: `+----+----+`, `|---|:--|`, `├───┼───┤`. */
const TABLE_FRAME = /^[\s|+]*[-=+|_\u2500-\u257f](?=.*[+|\u2500-\u257f])[-=+|_:\s\u2500-\u257f]{2,}$/;
/** A row between the sides of a frame: `| cod | 12 |`. */
const TABLE_ROW = /^\s*[|\u2502\u2551](.*\S.*)[|\u2502\u2551]\s*$/;
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

const isBlank = (line: string | undefined): boolean => line === undefined || !/\S/.test(line);

/** Whether the page numbers rise, and at least half of the steps are 1 or 2. */
function isRising(pages: ReadonlyArray<{ readonly lineIndex: number; readonly page: number }>): boolean {
  const steps = pages.slice(1).map(({ page }, index) => page - (pages[index]?.page ?? 0));
  return steps.every((step) => step > 0) && steps.filter((step) => step <= 2).length * 2 >= steps.length;
}

function addTo(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
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
    this.#unspoken.add("page_mark", (this.#lines[lineIndex] ?? "").trim());
    this.#dropped.add(lineIndex);
  }

  /** Finds the nearest line above or below that is not blank, at most `MAX_HEAD_DISTANCE_LINES` lines away. */
  #neighbour(lineIndex: number, step: 1 | -1): number | null {
    for (
      let index = lineIndex + step;
      Math.abs(index - lineIndex) <= MAX_HEAD_DISTANCE_LINES;
      index += step
    ) {
      if (!isBlank(this.#lines[index])) return index;
    }
    return null;
  }

  #isAlone(lineIndex: number): boolean {
    return [lineIndex - 1, lineIndex + 1].every(
      (other) => isBlank(this.#lines[other]) || this.#dropped.has(other),
    );
  }

  #interrupts(lineIndex: number): boolean {
    const above = this.#neighbour(lineIndex, -1);
    const below = this.#neighbour(lineIndex, 1);
    if (above === null || below === null) return false;
    return !ENDS_CLAUSE.test(this.#lines[above] ?? "") && /^\s*\p{Ll}/u.test(this.#lines[below] ?? "");
  }

  dropPageNumbers(): void {
    const namedPages: Array<{ lineIndex: number; page: number }> = [];
    const barePages: Array<{ lineIndex: number; page: number }> = [];
    const footers: number[] = [];
    const titledPages = new Map<string, number[]>();
    for (const [lineIndex, line] of this.#lines.entries()) {
      if (line.length > MAX_MARK_CODE_UNITS || !/\d/.test(line)) continue;
      const page = NAMED_PAGE.exec(line)
        ?.slice(1)
        .find((number) => number !== undefined);
      const number = BARE_PAGE.exec(line)?.[1];
      if (PAGE_FOOTER.test(line)) footers.push(lineIndex);
      else if (page !== undefined) namedPages.push({ lineIndex, page: Number(page) });
      else if (
        number !== undefined &&
        isBlank(this.#lines[lineIndex - 1]) &&
        isBlank(this.#lines[lineIndex + 1])
      ) {
        barePages.push({ lineIndex, page: Number(number) });
      } else {
        const [, headAfterNumber, headBeforeNumber] = TITLED_PAGE.exec(line) ?? [];
        const head = (headAfterNumber ?? headBeforeNumber ?? "").trim();
        if (/\p{Lu}{2}/u.test(head)) addTo(titledPages, head, lineIndex);
      }
    }
    if (footers.length >= MIN_NAMED_PAGES) for (const lineIndex of footers) this.#drop(lineIndex);
    if (namedPages.length >= MIN_NAMED_PAGES && isRising(namedPages))
      for (const { lineIndex } of namedPages) this.#drop(lineIndex);
    const interrupting = barePages.filter(({ lineIndex }) => this.#interrupts(lineIndex)).length;
    if (
      barePages.length >= MIN_BARE_PAGES &&
      isRising(barePages) &&
      interrupting >= MIN_INTERRUPTED_SHARE * barePages.length
    ) {
      for (const { lineIndex } of barePages) this.#drop(lineIndex);
    }
    for (const lines of titledPages.values()) {
      const pages = lines.map((lineIndex) => ({
        lineIndex,
        page: Number(/\d+/.exec(this.#lines[lineIndex] ?? "")?.[0]),
      }));
      const inside = lines.filter((lineIndex) => this.#interrupts(lineIndex)).length;
      // Numbers that count up from 1 and interrupt no sentence are not page numbers. They belong to headings, such as
      // `SUMMARY OF LESSON 1`.
      const isCount = inside === 0 && pages.every(({ page }, index) => page === index + 1);
      if (lines.length >= MIN_RUNNING_HEADS && isRising(pages) && !isCount)
        for (const lineIndex of lines) this.#drop(lineIndex);
    }
  }

  /** Drops running heads: text that recurs beside page numbers. */
  dropHeads(): void {
    const heads = new Map<string, number[]>();
    for (const lineIndex of this.#dropped) {
      for (const step of [1, -1] as const) {
        const neighbourIndex = this.#neighbour(lineIndex, step);
        const line = neighbourIndex === null ? "" : (this.#lines[neighbourIndex] ?? "").trim();
        if (neighbourIndex === null || line.length > MAX_HEAD_CODE_UNITS || !this.#isAlone(neighbourIndex))
          continue;
        if (ENDS_CLAUSE.test(line) || !/^[\p{Lu}\p{Lo}\p{N}]/u.test(line)) continue;
        const key = line.replace(/\d+/g, "#").replace(/\s+/g, " ");
        addTo(heads, key, neighbourIndex);
      }
    }
    for (const lines of heads.values())
      if (lines.length >= MIN_RUNNING_HEADS) for (const lineIndex of lines) this.#drop(lineIndex);
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
    let hasGap = false;
    for (const [lineIndex, line] of this.#lines.entries()) {
      if (this.#dropped.has(lineIndex)) {
        hasGap = true;
        continue;
      }
      if (hasGap && !isBlank(line)) {
        const isInside = !ENDS_CLAUSE.test(findLastFilledLine(keptLines)) && /^\s*\p{Ll}/u.test(line);
        while (isInside && keptLines.length > 0 && isBlank(keptLines.at(-1))) keptLines.pop();
        if (!isInside) keptLines.push("");
        hasGap = false;
      }
      keptLines.push(line);
    }
    return keptLines.join("\n");
  }
}

function findLastFilledLine(lines: readonly string[]): string {
  for (let index = lines.length - 1; index >= 0; index -= 1)
    if (!isBlank(lines[index])) return lines[index] ?? "";
  // There is no text above. Return the end of a sentence, so that nothing is joined.
  return ".";
}

/**
 * If horizontal rules divide the lines of a table into at least this number of groups, each group is one row, whose
 * cells may have several lines. Otherwise, each line is a row.
 */
const MIN_ROW_GROUPS = 3;

const splitCells = (row: string): string[] => row.split(/[|\u2502\u2551]/).map((cell) => cell.trim());

/** Merges the lines of one table row. The text of each cell becomes one line. */
const mergeRow = (rows: readonly string[][]): string[] =>
  (rows[0] ?? []).map((_, column) => flowParagraph(rows.map((cells) => cells[column] ?? "").join("\n")));

/** Renders rows as lines, with commas between cells. */
function renderTableLines(groups: ReadonlyArray<readonly string[][]>): string[] {
  const filled = groups.filter((rows) => rows.length > 0);
  const rows = filled.length < MIN_ROW_GROUPS ? filled.flat() : filled.map(mergeRow);
  return rows.map((cells) => wordRow(cells) + HARD_BREAK);
}

function withoutFrames(text: string, unspoken: UnspokenList): string {
  if (!/[|+\u2500-\u257f]/.test(text)) return text;
  const lines = text.split("\n");
  const matches = (form: RegExp, line: string): boolean =>
    line.length <= MAX_LINE_CODE_UNITS && form.test(line);
  if (lines.filter((line) => matches(TABLE_ROW, line) || matches(TABLE_FRAME, line)).length < 2) return text;
  const keptLines: string[] = [];
  let groups: string[][][] = [];
  for (const line of [...lines, ""]) {
    const isFrame = matches(TABLE_FRAME, line);
    const row = isFrame || !matches(TABLE_ROW, line) ? undefined : TABLE_ROW.exec(line)?.[1];
    if (isFrame) {
      unspoken.add("table_frame", line.trim());
      groups.push([]);
    } else if (row !== undefined) {
      if (groups.length === 0) groups.push([]);
      groups.at(-1)?.push(splitCells(row));
    } else {
      keptLines.push(...renderTableLines(groups), line);
      groups = [];
    }
  }
  return keptLines.slice(0, -1).join("\n");
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
