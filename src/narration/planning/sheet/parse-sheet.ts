/** Parses a sheet: its separator, its known columns, and its rows with the numbers that a spreadsheet shows. */
import { CsvError, parse } from "csv-parse/sync";
import { formatThousands } from "../../../contract/numbers.ts";
import { SPEAKER_SETTING_NAMES } from "../../../contract/request-fields.ts";
import { AudioError, askUser, type Wording } from "../../../errors.ts";
import { shortenExcerpt } from "../../text/excerpt.ts";

const MAX_ROWS = 1000;

/**
 * Maximum number of lines. The limit is far above {@link MAX_ROWS}, because spreadsheets may append thousands of empty
 * rows. Longer sheets take seconds to read.
 */
const MAX_LINES = 50_000;

/** The columns of a sheet. Only `text` is required. */
export const COLUMNS = ["text", "file", "voice", ...SPEAKER_SETTING_NAMES] as const;
type Column = (typeof COLUMNS)[number];

/** Headings that are read as a column if the sheet does not have the column itself. The first that fits is taken. */
const OTHER_HEADINGS: Partial<Record<Column, readonly string[]>> = {
  text: ["line", "dialogue", "dialog", "script", "message"],
  file: ["id", "key", "name"],
  voice: ["speaker", "character"],
};
const TEXT_HEADINGS = ["text", ...(OTHER_HEADINGS.text ?? [])];

const SHOWN_COLUMNS = 10;

/** Separators, the most common one first. */
const SEPARATORS = [",", ";", "\t", "|"] as const;
type Separator = (typeof SEPARATORS)[number];
/** The line above the header in which a spreadsheet program states the separator. It is not counted as a row. */
const SEPARATOR_LINE = /^sep=([,;\t|])[ \t]*(?:\r\n?|\n)/i;

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
  /** The headings that are read as a column of another name. */
  readonly otherHeadings: ReadonlyArray<{ readonly column: Column; readonly heading: string }>;
  /** The rows of the sheet, without rows in which every cell is empty. */
  readonly rows: readonly SheetRow[];
}

const ROW_NUMBERS_REMEDY = askUser("correct the sheet, in which the header is row 1", ", and call again");

/**
 * Builds the `invalid_request` error for a sheet that is refused. `issue` is the end of a sentence that begins with
 * "The sheet".
 */
export function refusedSheetError(issue: string, remedy: Wording = ROW_NUMBERS_REMEDY): AudioError {
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
 * Finds the separator with which the header has a column for the text. Returns `null` for a sheet of one column, in
 * which a comma is part of the text.
 *
 * @throws AudioError `invalid_request` if the header has no such column
 */
function detectSeparator(text: string): Separator | null {
  const headers = SEPARATORS.map((separator) => {
    const [header = []] = parseRows(text, separator, 1);
    return { separator, names: header.map(normaliseName) };
  });
  const [widest] = headers.toSorted((one, other) => other.names.length - one.names.length);
  const hasText = (names: readonly string[]): boolean => names.some((name) => TEXT_HEADINGS.includes(name));
  const headerWithText = headers.find(({ names }) => names.length > 1 && hasText(names));
  if (headerWithText !== undefined) return headerWithText.separator;
  if (widest?.names.length === 1 && hasText(widest.names)) return null;
  throw noTextColumnError(widest?.names ?? []);
}

function noTextColumnError(names: readonly string[]): AudioError {
  const shownColumns = names.slice(0, SHOWN_COLUMNS).map((name) => JSON.stringify(shortenExcerpt(name)));
  return refusedSheetError(
    `has no column "text" in its first row, which holds ${shownColumns.join(", ")}`,
    askUser(`add a header row with the column text, and perhaps ${COLUMNS.slice(1).join(", ")}`),
  );
}

/**
 * Whether the cells below another heading are what the column holds. A column `line` may number the lines, and a
 * column `name` may hold the same name twice.
 */
function fitsColumn(column: Column, cells: readonly string[]): boolean {
  const filled = cells.map((cell) => cell.trim().toLowerCase()).filter((cell) => cell !== "");
  if (column === "text") return filled.some((cell) => /\p{L}/u.test(cell));
  return (
    column !== "file" ||
    (new Set(filled).size === filled.length && !filled.some((cell) => /[\\/]/.test(cell)))
  );
}

const isFilled = (cells: readonly string[]): boolean => cells.some((cell) => cell.trim() !== "");

/**
 * Reads the header and the rows of a sheet.
 *
 * @throws AudioError `invalid_request` if the text is not a sheet, or has no rows or too many
 */
export function parseSheet(text: string): Sheet {
  const [separatorLine = "", stated] = SEPARATOR_LINE.exec(text) ?? [];
  const table = text.slice(separatorLine.length);
  const separator = SEPARATORS.find((one) => one === stated) ?? detectSeparator(table);
  const [header = [], ...records] = parseRows(table, separator ?? "\t", MAX_LINES + 1);
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
      askUser("divide it into several files, each with the header"),
    );
  }
  const positions = new Map<Column, number>();
  for (const column of COLUMNS) {
    const headings = [column, ...(OTHER_HEADINGS[column] ?? [])];
    const position = headings
      .map((heading) => names.indexOf(heading))
      .find((at) => {
        const isColumn = names[at] === column;
        return (
          at !== -1 &&
          (isColumn ||
            fitsColumn(
              column,
              filled.map(({ cells }) => cells[at] ?? ""),
            ))
        );
      });
    if (position !== undefined) positions.set(column, position);
  }
  if (!positions.has("text")) throw noTextColumnError(names);
  const cellOf = (cells: readonly string[], column: Column): string =>
    (cells[positions.get(column) ?? -1] ?? "").trim();
  const used = new Set(positions.values());
  return {
    separator,
    unknownColumns: header.flatMap((name, at) => (name.trim() === "" || used.has(at) ? [] : [name.trim()])),
    otherHeadings: [...positions].flatMap(([column, at]) =>
      names[at] === column ? [] : [{ column, heading: (header[at] ?? "").trim() }],
    ),
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
