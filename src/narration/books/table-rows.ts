/** Reads the rows of tables: rows of data become sentences, rows that lay out a page become the blocks of their cells. */
import { HARD_BREAK } from "../text/normalize.ts";
import { wordRow } from "../text/table-row.ts";
import type { PageBlock } from "./page-block.ts";

export interface Cell {
  readonly isHeaderCell: boolean;
  /** Whether this cell names the speaker of the other cells in its row. */
  readonly isSpeaker: boolean;
  readonly blocks: readonly PageBlock[];
}

export interface Table {
  titles: string[] | null;
  row: Cell[];
}

/** Reads a table row of a play. Puts the speaker's name before the speech, as plain text does: `HAMLET: To be`. */
function readSpeech({ blocks: [name] }: Cell, cells: readonly Cell[]): PageBlock[] {
  const label = name?.block.kind === "paragraph" ? name.block.text.trim() : "";
  return cells
    .flatMap(({ blocks }) => blocks)
    .map((block, blockIndex) => {
      const isLabelled = blockIndex === 0 && label !== "" && block.block.kind === "paragraph";
      return isLabelled
        ? { ...block, block: { ...block.block, text: `${label}: ${block.block.text}` } }
        : block;
    });
}

/** Returns the blocks of a row that has ended. A row of titles has none; its titles stay with the table. */
export function readRow(table: Table): PageBlock[] {
  const { row } = table;
  table.row = [];
  const [label, ...speech] = row;
  if (label?.isSpeaker === true && speech.length > 0) return readSpeech(label, speech);
  const all = row.flatMap(({ blocks }) => blocks);
  const isLayout =
    row.some(({ blocks }) => blocks.length > 1) || all.some(({ block }) => block.kind !== "paragraph");
  if (isLayout) return all;
  const cells = row.map(({ blocks: [first] }) =>
    first?.block.kind === "paragraph" ? first.block.text.replaceAll(HARD_BREAK, " ").trim() : "",
  );
  if (table.titles === null && row.length > 1 && row.every(({ isHeaderCell }) => isHeaderCell)) {
    table.titles = cells;
    return [];
  }
  const [first] = all;
  const last = all.at(-1);
  if (first === undefined || last === undefined) return [];
  return [
    {
      ...first,
      block: { kind: "paragraph", text: wordRow(cells, table.titles ?? []) },
      ids: all.flatMap(({ ids }) => ids),
      lastTag: last.lastTag,
      linked: all.map(({ linked }) => linked).join(" "),
      unlinked: all.map(({ unlinked }) => unlinked).join(" "),
    },
  ];
}
