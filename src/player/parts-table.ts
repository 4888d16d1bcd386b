/** Reads the table of a narration's parts, which `src/narration/views/render-parts-table.ts` writes. */
import { parseText } from "./parse-fields.ts";

export interface PartRow {
  readonly number: string;
  readonly status: string;
  readonly text: string;
}

/** Reads the rows of the Markdown table of parts. A bar after a backslash does not end a cell. */
export function parseParts(table: string): PartRow[] {
  return table
    .split("\n")
    .filter((line) => /^\| \d+ \|/.test(line))
    .slice(0, 2000)
    .map((line) => {
      const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
      const [, number = "", status = "", , , , , , textCell = ""] = cells;
      return { number, status: parseText(status, 20), text: parseText(textCell, 100) };
    });
}
