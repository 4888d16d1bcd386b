/**
 * Turns tables of plain text into one line for each row, with commas between cells. Evidence: form. A table has frames
 * around its rows, a ruler of several strokes (`----  ----`, `+++-====-====`), or a gap that ends at the same column in each of at least
 * three lines. The gap must be wide in one of these lines, because justified text has narrow gaps.
 */
import type { UnspokenList } from "../blocks.ts";
import { flowParagraph, HARD_BREAK } from "../normalize.ts";
import { wordRow } from "../table-row.ts";

const MIN_LINES = 3;
const WIDE_GAP_CODE_UNITS = 4;
const TAB_UNITS = 8;
/** Maximum length of a line in a table. A block with a longer line is not a table, because no page is so wide. */
const MAX_LINE_CODE_UNITS = 400;
const COLUMN_GAP = /(?<=\S)(?: {2,}| *\t[ \t]*)(?=\S)/g;
const RULER_MARKS = /^[ \t]*[-=+]{2}[-=+ \t]*$/;
const STROKE_BOUNDS = /[ \t+]+|(?<==)-(?==)/;
/** A list item, which is not a row of a table. */
const LIST_MARK = /^\s*(?:[-*+•o]|\(?[\p{L}\d]{1,4}[.)])\s/u;
/** Matches the signs before the first column title of `dpkg --list`, as in `||/ Name`. */
const LEGEND = /^[|+/\s]+(?=\S)/;

const isRuler = (line: string): boolean =>
  line.length <= MAX_LINE_CODE_UNITS &&
  RULER_MARKS.test(line) &&
  line.split(STROKE_BOUNDS).filter((stroke) => stroke.length > 1).length > 1;

/** Finds the gaps of a line, with tabs expanded. Maps the column at which each gap ends to the width of the gap. */
function findGaps(line: string): Map<number, number> {
  const widenedLine = line
    .split("\t")
    .reduce(
      (start, cell) => start.padEnd(Math.ceil((start.length + 1) / TAB_UNITS) * TAB_UNITS, "\t") + cell,
    );
  return new Map(
    [...widenedLine.matchAll(COLUMN_GAP)].map(({ index, 0: gap }) => [
      index + gap.length,
      gap.includes("\t") ? WIDE_GAP_CODE_UNITS : gap.length,
    ]),
  );
}

function isAligned(block: readonly string[]): boolean {
  const lines = block.filter((line) => /\S/.test(line));
  if (lines.length < MIN_LINES) return false;
  let common: Map<number, number> | null = null;
  for (const line of lines) {
    if (line.length > MAX_LINE_CODE_UNITS || LIST_MARK.test(line)) return false;
    const gaps = findGaps(line);
    const widths: ReadonlyMap<number, number> = common ?? gaps;
    common = new Map(
      [...gaps].flatMap(([end, width]) => {
        const before = widths.get(end);
        return before === undefined ? [] : [[end, Math.max(before, width)] as const];
      }),
    );
    if (common.size === 0) return false;
  }
  return [...(common?.values() ?? [])].some((width) => width >= WIDE_GAP_CODE_UNITS);
}

/**
 * Turns each table whose columns are aligned by spaces into lines with commas between the cells.
 *
 * @param text with `\n` for line ends
 */
export function parseColumns(text: string, unspoken: UnspokenList): string {
  if (!/\S(?: {2}|\t)/.test(text)) return text;
  return text
    .split(/(\n[^\S\n]*\n\s*)/)
    .map((block) => {
      const lines = block.split("\n");
      const hasRuler =
        lines.some(isRuler) && lines.some((line) => !isRuler(line) && line.search(COLUMN_GAP) >= 0);
      if (!hasRuler && !isAligned(lines)) return block;
      return lines
        .flatMap((line) => {
          if (isRuler(line)) {
            unspoken.add("table_frame", line.trim());
            return [];
          }
          const row = (hasRuler ? line.replace(LEGEND, "") : line).trim();
          return [wordRow(row.split(COLUMN_GAP)) + HARD_BREAK];
        })
        .join("\n");
    })
    .join("");
}

/** A line of a table's frame: `+----+----+`, `|---|:--|`, `├───┼───┤`. */
const TABLE_FRAME = /^[\s|+]*[-=+|_\u2500-\u257f](?=.*[+|\u2500-\u257f])[-=+|_:\s\u2500-\u257f]{2,}$/;
/** A row between the sides of a frame: `| cod | 12 |`. */
const TABLE_ROW = /^\s*[|\u2502\u2551](.*\S.*)[|\u2502\u2551]\s*$/;

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

/** Turns the rows between the frames of tables into lines, with commas between the cells. */
export function withoutFrames(text: string, unspoken: UnspokenList): string {
  if (!/[|+\u2500-\u257f]/.test(text)) return text;
  const isFrame = (line: string): boolean => line.length <= MAX_LINE_CODE_UNITS && TABLE_FRAME.test(line);
  const findRow = (line: string): string | undefined =>
    line.length > MAX_LINE_CODE_UNITS ? undefined : TABLE_ROW.exec(line)?.[1];
  const lines = text.split("\n");
  if (lines.filter((line) => isFrame(line) || findRow(line) !== undefined).length < 2) return text;
  const keptLines: string[] = [];
  let groups: string[][][] = [[]];
  for (const line of [...lines, ""]) {
    const row = findRow(line);
    if (isFrame(line)) {
      unspoken.add("table_frame", line.trim());
      groups.push([]);
    } else if (row !== undefined) groups.at(-1)?.push(splitCells(row));
    else {
      keptLines.push(...renderTableLines(groups), line);
      groups = [[]];
    }
  }
  return keptLines.slice(0, -1).join("\n");
}
