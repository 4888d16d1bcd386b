/** Words the row of a table: its cells in order, each with the title of its column. */

/**
 * Joins the cells of a row, except empty ones, with commas. Behind punctuation there is only a space, unless the columns
 * have titles.
 */
export const wordRow = (cells: readonly string[], titles: readonly string[] = []): string =>
  cells
    .map((cell, column) =>
      cell === "" || (titles[column] ?? "") === "" ? cell : `${titles[column]}: ${cell}`,
    )
    .filter((cell) => cell !== "")
    .reduce((row, cell) => {
      const isMarked = titles.length === 0 && /[,;:.!?…，、；：。！？]$/.test(row);
      return row === "" ? cell : `${row}${isMarked ? " " : ", "}${cell}`;
    }, "");
