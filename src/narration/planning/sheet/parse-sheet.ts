/** Parses a sheet: its separator, its known columns, and its rows with the numbers that a spreadsheet shows. */
import { CsvError, parse } from "csv-parse/sync";
import { formatThousands } from "../../../contract/thousands.ts";
import { AudioError } from "../../../errors.ts";
import { shortenExcerpt } from "../../text/excerpt.ts";

const MAX_ROWS = 1000;

/**
 * Maximum number of lines. The limit is far above {@link MAX_ROWS}, because spreadsheets may append thousands of empty
 * rows. Longer sheets take seconds to read.
 */
const MAX_LINES = 50_000;

/** The columns of a sheet. Only `text` is required. */
export const COLUMNS = ["text", "file", "voice", "speed", "pitch", "volume"] as const;
type Column = (typeof COLUMNS)[number];

const SHOWN_COLUMNS = 10;

/** Separators, the most common one first. */
const SEPARATORS = [",", ";", "\t"] as const;
type Separator = (typeof SEPARATORS)[number];

export interface SheetRow {
  /** Row number as a spreadsheet shows it; the header is row 1. */
  readonly number: number;
  /** Trimmed text; empty if the row lacks the column. */
  readonly cells: Readonly<Record<Column, string>>;
  /** Whether the row has more cells than the header, so that cells may be in wrong columns. */
  readonly isTooWide: boolean;
}

export interface Sheet {
  /** The separator of the cells; `null` for a sheet of one column. */
  readonly separator: Separator | null;
  readonly unknownColumns: readonly string[];
  /** The rows of the sheet, without rows in which every cell is empty. */
  readonly rows: readonly SheetRow[];
}

const ROW_NUMBERS_REMEDY = "Ask the user to correct the sheet, in which the header is row 1, and call again.";

/**
 * Builds the `invalid_request` error for a sheet that is refused. `issue` is the end of a sentence that begins with
 * "The sheet".
 */
export function refusedSheetError(issue: string, remedy = ROW_NUMBERS_REMEDY): AudioError {
  return new AudioError("invalid_request", `The sheet ${issue}. Nothing was sent.`, { remedy });
}

/**
 * Parses a text into rows of cells. Stray quotation marks count as text, because a line of dialogue often begins with a
 * quotation mark.
 */
function parseRows(text: string, separator: Separator, max: number): string[][] {
  try {
    return parse(text, {
      delimiter: separator,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      relax_quotes: true,
      to: max,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const row = typeof error["records"] === "number" ? error["records"] + 1 : null;
    throw refusedSheetError(
      error.code === "CSV_QUOTE_NOT_CLOSED"
        ? `opens a quotation mark that never closes${row === null ? "" : `, in row ${row}`}`
        : `cannot be read as CSV (${shortenExcerpt(error.message)})`,
    );
  }
}

const normaliseName = (cell: string): string => cell.trim().toLowerCase();

/**
 * Finds the separator with which the header has a column `text`. Returns `null` for a sheet of one column, in which a
 * comma is part of the text.
 *
 * @throws AudioError `invalid_request` if the header has no column `text`
 */
function detectSeparator(text: string): Separator | null {
  const headers = SEPARATORS.map((separator) => {
    const [header = []] = parseRows(text, separator, 1);
    return { separator, names: header.map(normaliseName) };
  });
  const [widest] = headers.toSorted((one, other) => other.names.length - one.names.length);
  const headerWithText = headers.find(({ names }) => names.length > 1 && names.includes("text"));
  if (headerWithText !== undefined) return headerWithText.separator;
  if (widest?.names.length === 1 && widest.names[0] === "text") return null;
  const shownColumns = (widest?.names ?? [])
    .slice(0, SHOWN_COLUMNS)
    .map((name) => JSON.stringify(shortenExcerpt(name)));
  throw refusedSheetError(
    `has no column "text" in its first row, which holds ${shownColumns.join(", ")}`,
    `Ask the user for a header row with the column text, and perhaps ${COLUMNS.slice(1).join(", ")}.`,
  );
}

const isFilled = (cells: readonly string[]): boolean => cells.some((cell) => cell.trim() !== "");

/**
 * Reads the header and the rows of a sheet.
 *
 * @throws AudioError `invalid_request` if the text is not a sheet, or has no rows or too many
 */
export function parseSheet(text: string): Sheet {
  const separator = detectSeparator(text);
  const [header = [], ...records] = parseRows(text, separator ?? "\t", MAX_LINES + 1);
  if (records.length >= MAX_LINES) {
    throw refusedSheetError(
      `has ${formatThousands(MAX_LINES)} rows or more; at most ${formatThousands(MAX_ROWS)} are taken`,
    );
  }
  const names = header.map(normaliseName);
  const repeatedColumn = COLUMNS.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  if (repeatedColumn !== undefined)
    throw refusedSheetError(`has two columns ${JSON.stringify(repeatedColumn)}`);
  const filled = records
    .map((cells, index) => ({ cells, number: index + 2 }))
    .filter(({ cells }) => isFilled(cells));
  if (filled.length === 0) throw refusedSheetError("has no rows below its header");
  if (filled.length > MAX_ROWS) {
    throw refusedSheetError(
      `has ${formatThousands(filled.length)} rows; at most ${formatThousands(MAX_ROWS)} are taken`,
      "Ask the user to divide it into several files, each with the header.",
    );
  }
  const cellOf = (cells: readonly string[], column: Column): string => {
    const columnIndex = names.indexOf(column);
    return columnIndex === -1 ? "" : (cells[columnIndex] ?? "").trim();
  };
  return {
    separator,
    unknownColumns: header
      .map((name) => name.trim())
      .filter((name) => name !== "" && !isColumn(normaliseName(name))),
    rows: filled.map(({ cells, number }) => ({
      number,
      cells: {
        text: cellOf(cells, "text"),
        file: cellOf(cells, "file"),
        voice: cellOf(cells, "voice"),
        speed: cellOf(cells, "speed"),
        pitch: cellOf(cells, "pitch"),
        volume: cellOf(cells, "volume"),
      },
      // Count empty cells, too. An unquoted comma in a text adds a cell to the row, and then the last cell may be
      // empty. Such a row must be refused.
      isTooWide: cells.length > names.length,
    })),
  };
}

const isColumn = (name: string): boolean => COLUMNS.some((column) => column === name);
