/** Reads the table of a narration's parts, which `src/narration/render-parts-table.ts` writes. */
import { parseId, parseNumber, parseText } from "./parse-fields.ts";

export interface PartRow {
  readonly number: number;
  readonly status: string;
  readonly text: string;
  readonly taskId: string;
  /** When the part begins; an estimate while a part before it is missing. */
  readonly startSeconds: number;
  /** The length of its audio; null if it is not saved. */
  readonly seconds: number | null;
  /** Seconds until it is likely to be saved; null if it is, or nobody can say. */
  readonly readySeconds: number | null;
  readonly chapter: string;
}

/** A page with more buttons would be slow. */
export const MAX_ROWS = 2000;

const parseNumberCell = (cell: string): number | null =>
  cell === "" ? null : parseNumber(Number(cell.replace("~", "")));

/** Reads the first rows of the Markdown table of parts. A bar after a backslash does not end a cell. */
export function parseParts(table: string): PartRow[] {
  return table
    .split("\n")
    .filter((line) => /^\| \d+ \|/.test(line))
    .slice(0, MAX_ROWS)
    .map((line) => {
      const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
      const [, number = "", status = "", , taskId, , seconds = "", start = "", ready = ""] = cells;
      return {
        number: Number(number),
        status: parseText(status, 20),
        text: parseText(cells[10], 100),
        taskId: parseId(taskId),
        startSeconds: parseNumberCell(start) ?? 0,
        seconds: parseNumberCell(seconds),
        readySeconds: parseNumberCell(ready),
        chapter: parseText(cells[9], 200),
      };
    });
}
