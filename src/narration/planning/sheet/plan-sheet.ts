/**
 * Plans a sheet: each row is one part and one file. A sheet with invalid rows is refused before anything is paid. The
 * error lists the issues with their row numbers.
 */
import { z } from "zod";
import { FILE_EXTENSIONS, type OutputFormat } from "../../../contract/audio-format.ts";
import { MAXIMUM_CHARGE_SECONDS } from "../../../contract/billing.ts";
import { coerceArguments } from "../../../contract/coerce-arguments.ts";
import { formatThousands } from "../../../contract/numbers.ts";
import { pickSchemas, SPEAKER_SETTING_NAMES } from "../../../contract/request-fields.ts";
import { MAX_PROMPT_CODE_POINTS } from "../../../contract/service-limits.ts";
import { countCodePoints, INVISIBLE_CHARACTERS } from "../../../contract/unicode.ts";
import { VOICE_IDS, type VoiceId } from "../../../contract/voices.ts";
import { AudioError, type Wording } from "../../../errors.ts";
import { buildRequestedName, findFileNameIssue } from "../../../files/file-name.ts";
import { describeRespelledWords } from "../../../pronunciation.ts";
import { parseChapterChoice } from "../../text/chapters/chosen-chapters.ts";
import { hasWords } from "../../text/characters.ts";
import { shortenExcerpt } from "../../text/excerpt.ts";
import { chooseNarrationTitle } from "../../text/narration-title.ts";
import { normalizeLines } from "../../text/normalize.ts";
import { formatNumberSpans } from "../../text/number-spans.ts";
import { assertSpeakable } from "../../text/plan-text.ts";
import {
  CUTTING_RULES_VERSION,
  type NarrationPlan,
  type PlannedPart,
  type Speaker,
} from "../../text/plan-types.ts";
import { buildPronunciationsField, type PlanOptions } from "../build-stored-plan.ts";
import {
  buildEdgesRemark,
  buildPlanRemarks,
  buildSilentVoiceRemarks,
  buildUnusedSettingsRemarks,
} from "../plan-remarks.ts";
import { applyPronunciations, type RespelledPart } from "../respelled-part.ts";
import { getPlanFormat, type StoredPlan, toRemarks } from "../stored-plan.ts";
import { COLUMNS, parseSheet, refusedSheetError, type Sheet, type SheetRow } from "./parse-sheet.ts";

const ISSUES_SHOWN = 10;
const SPANS_SHOWN = 10;
const COLUMNS_SHOWN = 10;
const VOICES_SHOWN = 10;
const VOICE_IN_EXAMPLE: VoiceId = "magnus_en_zh";

const rowSettings = z.object(pickSchemas(["voice", ...SPEAKER_SETTING_NAMES] as const)).partial();
type RowSettings = z.output<typeof rowSettings>;

/** Collects issues of rows; reports rows with the same issue together. */
class RowIssues {
  readonly #rows = new Map<string, number[]>();
  /** Voices that are none, each with its rows and what is wrong with it. */
  readonly #voices = new Map<string, { readonly rows: number[]; readonly rule: string }>();

  add(row: number, issue: string): void {
    this.#rows.set(issue, [...(this.#rows.get(issue) ?? []), row]);
  }

  addUnknownVoice(row: number, cell: string, rule: string): void {
    const known = this.#voices.get(cell);
    if (known === undefined) this.#voices.set(cell, { rows: [row], rule });
    else known.rows.push(row);
  }

  /**
   * Turns all unknown voices into one issue, because one list of `voices` answers them all.
   *
   * @returns the remedy; `undefined` if there is none
   */
  #addVoicesIssue(): Wording | undefined {
    const hasOthers = this.#rows.size > 0;
    const [first, ...others] = this.#voices;
    if (first === undefined) return undefined;
    const [name, { rule }] = first;
    const names = [name, ...others.map(([other]) => other)];
    const shown = names.slice(0, VOICES_SHOWN).map((one) => JSON.stringify(shortenExcerpt(one)));
    const further = names.length > VOICES_SHOWN ? ` and ${names.length - VOICES_SHOWN} more` : "";
    const rules = others.length === 0 ? rule : `must be ids or names of voices (${VOICE_IDS.join(", ")})`;
    const rows = [...this.#voices.values()].flatMap((voice) => voice.rows).sort((one, other) => one - other);
    this.#rows.set(`voice ${shown.join(", ")}${further} ${rules}`, [...new Set(rows)]);
    const excerpt = shortenExcerpt(name);
    const correct = hasOthers ? "and correct the other rows" : "or correct the sheet";
    return {
      assistant: `Call again with a voice for each of these names, as voices: [${JSON.stringify(`${excerpt}: ${VOICE_IN_EXAMPLE}`)}] (ask the user which, if they have not said), ${hasOthers ? "and ask them to correct the other rows" : "or ask them to correct the sheet"}; the header is row 1.`,
      terminal: `Give each of these names a voice, as --speaker ${JSON.stringify(`${excerpt}=${VOICE_IN_EXAMPLE}`)}, ${correct}; the header is row 1.`,
    };
  }

  /**
   * Refuses the sheet if a row has an issue.
   *
   * @throws AudioError `invalid_request` if there are issues
   */
  throwIfAny(): void {
    const remedy = this.#addVoicesIssue();
    const issues = [...this.#rows].sort(([, [one = 0]], [, [other = 0]]) => one - other);
    if (issues.length === 0) return;
    const shownIssues = issues
      .slice(0, ISSUES_SHOWN)
      .map(([issue, rows]) => `${listRows(rows)}: ${issue}`)
      .join("; ");
    const furtherCount = issues.length - ISSUES_SHOWN;
    throw refusedSheetError(
      `cannot be narrated yet. ${shownIssues}${furtherCount > 0 ? `; and ${furtherCount} more` : ""}`,
      remedy,
    );
  }
}

const listRows = (rows: readonly number[]): string =>
  `${rows.length === 1 ? "Row" : "Rows"} ${formatNumberSpans(rows, SPANS_SHOWN)}`;

/** Builds the remark on some rows; none if there are no such rows. */
const buildRowsRemarks = (rows: readonly SheetRow[], remark: string): string[] =>
  rows.length === 0 ? [] : [`${listRows(rows.map(({ number }) => number))}: ${remark}`];

/** Finds the speaker whose name is in the cell; `null` if `voices` has no such speaker. */
function findSpeakerNamed(cell: string, { voices }: PlanOptions): Partial<Speaker> | null {
  const [, named] = Object.entries(voices).find(([name]) => name.toLowerCase() === cell.toLowerCase()) ?? [];
  if (named === undefined) return null;
  return typeof named === "string" ? { voice: named } : named;
}

/** Replaces a decimal comma by a point. Spreadsheets of many countries write a decimal comma. */
const withPoint = (cell: string): string => cell.replace(/^([+-]?\d+),(\d+)$/, "$1.$2");

function parseSettings({ number, cells }: SheetRow, options: PlanOptions, issues: RowIssues): RowSettings {
  const speaker = findSpeakerNamed(cells.voice, options);
  const numbers = SPEAKER_SETTING_NAMES.map((name) => [
    name,
    cells[name] === "" ? (speaker?.[name] ?? "") : withPoint(cells[name]),
  ]);
  const ownSettings = { voice: speaker?.voice ?? cells.voice, ...Object.fromEntries(numbers) };
  const parsed = rowSettings.safeParse(coerceArguments(ownSettings, rowSettings));
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) {
    const column = rowSettings.keyof().parse(path[0]);
    if (column === "voice") issues.addUnknownVoice(number, cells.voice, message);
    else issues.add(number, `${column} ${JSON.stringify(shortenExcerpt(cells[column]))} ${message}`);
  }
  return {};
}

/**
 * Returns the same name for names that differ only in letter case or in how accents are encoded. Some file systems
 * treat such names as one.
 */
const foldFileName = (name: string, format: OutputFormat): string =>
  buildRequestedName(name, format).normalize("NFC").toLowerCase();

function reportFileNameIssues(rows: readonly SheetRow[], format: OutputFormat, issues: RowIssues): void {
  const rowsByName = new Map<string, SheetRow[]>();
  for (const row of rows) {
    const { file } = row.cells;
    if (file === "" || row.isTooWide) continue;
    const issue = findFileNameIssue(file, format);
    if (issue === null) {
      const name = foldFileName(file, format);
      rowsByName.set(name, [...(rowsByName.get(name) ?? []), row]);
    } else issues.add(row.number, `file ${issue}`);
  }
  for (const [name, same] of rowsByName) {
    if (same.length === 1) continue;
    for (const { number } of same)
      issues.add(number, `the same file ${JSON.stringify(shortenExcerpt(name))}`);
  }
}

const TOO_WIDE =
  "more cells than the header has columns; a text that holds the separator needs quotation marks";

interface PlannedRow {
  readonly row: SheetRow;
  readonly respelled: RespelledPart;
}

function planRow(row: SheetRow, chapterIndex: number, options: PlanOptions, issues: RowIssues): PlannedRow[] {
  if (row.isTooWide) {
    issues.add(row.number, TOO_WIDE);
    return [];
  }
  const text = getText(row);
  const length = countCodePoints(text);
  if (length > MAX_PROMPT_CODE_POINTS) {
    const max = formatThousands(MAX_PROMPT_CODE_POINTS);
    issues.add(
      row.number,
      `the text has ${formatThousands(length)} characters, and one task takes at most ${max}`,
    );
    return [];
  }
  const { voice = null, ...settingsWithoutVoice } = parseSettings(row, options, issues);
  const settings = Object.keys(settingsWithoutVoice).length === 0 ? {} : { settings: settingsWithoutVoice };
  try {
    return [
      {
        row,
        respelled: applyPronunciations(
          { text, voice, ...settings, chapterIndex, pauseAfterSeconds: 0 },
          options,
        ),
      },
    ];
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    issues.add(row.number, error.message.replace(/ Nothing was sent\.$/, "").replace(/\.$/, ""));
    return [];
  }
}

/** Returns the text of a row with normalized line ends, and without characters that cannot be spoken. */
const getText = ({ cells }: SheetRow): string => normalizeLines(cells.text).trim();

const SEPARATOR_NAMES = { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars" } as const;

function buildFilesRemark(
  { separator, otherHeadings }: Sheet,
  rows: readonly SheetRow[],
  voices: ReadonlySet<string>,
): string {
  const namedRows = rows.filter(({ cells }) => cells.file !== "").length;
  const heading = otherHeadings.find(({ column }) => column === "file")?.heading;
  const column = heading === undefined ? "file" : JSON.stringify(heading);
  const names =
    namedRows === rows.length
      ? `named by the column ${column}`
      : namedRows === 0
        ? "named by number and first words"
        : `${namedRows} named by the column ${column}, the others by number and first words`;
  const [voice] = voices;
  const voiceNote = voices.size === 1 ? ` All are spoken by ${voice}.` : "";
  const columns = separator === null ? "" : ` Columns are separated by ${SEPARATOR_NAMES[separator]}.`;
  return `${rows.length} ${rows.length === 1 ? "file" : "files"}, one for each row, without captions, ${names}.${voiceNote}${columns}`;
}

/** Reports headings that are read as columns of other names. The remark on the files names the column of their names. */
function buildHeadingsRemarks({ otherHeadings }: Sheet): string[] {
  const others = otherHeadings.filter(({ column }) => column !== "file");
  if (others.length === 0) return [];
  const read = others.map(({ column, heading }) => `${JSON.stringify(heading)} as ${column}`);
  return [`Columns of other names are read: ${read.join(", ")}.`];
}

/** Matches what programs replace or render: tags such as `<i>` and `[/b]`, and placeholders such as `{name}`, `%s`, `%NAME%` and `$name`. */
const PLACEHOLDER =
  /<\/?[a-z][^<>\n]{0,80}>|\{[^{}\n]{1,60}\}|(?<![\p{L}\p{N}$])\$\{?[a-z_]\w{0,40}|(?<![\d%])%(?:\d{1,2}\$)?[\d.+-]{0,6}[sdif@](?![\p{L}\p{N}])|%[a-z_]{2,40}%|\[\/[a-z]\w{0,30}\]/giu;
const PLACEHOLDERS_SHOWN = 4;

function buildPlaceholderRemarks(rows: readonly SheetRow[]): string[] {
  const withMarks = rows
    .map((row) => ({ row, marks: getText(row).match(PLACEHOLDER) ?? [] }))
    .filter(({ marks }) => marks.length > 0);
  const marks = [...new Set(withMarks.flatMap((row) => row.marks).map((mark) => JSON.stringify(mark)))];
  return buildRowsRemarks(
    withMarks.map(({ row }) => row),
    `tags or placeholders such as ${marks.slice(0, PLACEHOLDERS_SHOWN).join(", ")} are sent as they stand, and may be spoken.`,
  );
}

function buildColumnsRemarks({ unknownColumns }: Sheet): string[] {
  if (unknownColumns.length === 0) return [];
  const shownColumns = unknownColumns
    .slice(0, COLUMNS_SHOWN)
    .map((name) => JSON.stringify(shortenExcerpt(name)));
  const rest = unknownColumns.length - shownColumns.length;
  const knownColumns = COLUMNS.slice(1).join(", ");
  return [
    `Columns that are not used: ${shownColumns.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}. Beside text, a sheet may have the columns ${knownColumns}.`,
  ];
}

function buildSilentRemarks(rows: readonly SheetRow[], { voices }: PlanOptions): string[] {
  if (Object.keys(voices).length > 0 && rows.every(({ cells }) => cells.voice === "")) {
    return ["The sheet names no speaker in a column voice: all rows have the same voice."];
  }
  const namedVoices = new Set(rows.map(({ cells }) => cells.voice.toLowerCase()));
  const silent = Object.keys(voices).filter((name) => !namedVoices.has(name.toLowerCase()));
  return buildSilentVoiceRemarks(silent, (name) => `No row has ${name} in its column voice`);
}

/** Reports rows whose text has several lines, because a stray quotation mark may have joined the lines. */
const buildLineRemarks = (rows: readonly SheetRow[]): string[] =>
  buildRowsRemarks(
    rows.filter(({ cells }) => cells.text.includes("\n")),
    "the text has several lines, between quotation marks.",
  );

/**
 * Reports names with the extension of another format. For example, if the format is mp3, the name `guard.wav` gives the
 * file `guard.wav.mp3`.
 */
function buildEndingRemarks(rows: readonly SheetRow[], format: OutputFormat): string[] {
  const extension = FILE_EXTENSIONS[format];
  const otherExtensions = Object.values(FILE_EXTENSIONS).filter((other) => other !== extension);
  const rowsOfOtherFormat = rows.filter(({ cells }) =>
    otherExtensions.some((other) => cells.file.toLowerCase().endsWith(other)),
  );
  const example = JSON.stringify(`${shortenExcerpt(rowsOfOtherFormat[0]?.cells.file ?? "")}${extension}`);
  return buildRowsRemarks(
    rowsOfOtherFormat,
    `the name in file ends as another format does, so the file is ${example}; output_format chooses the format.`,
  );
}

const buildLongRemarks = (planned: readonly PlannedRow[]): string[] =>
  buildRowsRemarks(
    planned
      .filter(({ respelled }) => respelled.part.estimatedSeconds > MAXIMUM_CHARGE_SECONDS)
      .map(({ row }) => row),
    `likely to be longer than ${MAXIMUM_CHARGE_SECONDS} s, where the service may cut a task off; divide the text into two rows.`,
  );

/** The name of a row by which callers choose it: its file, else its first words. */
const listRowNames = (rows: readonly SheetRow[]): Array<{ readonly title: string; readonly level: null }> =>
  rows.map((row) => ({ title: row.cells.file || shortenExcerpt(getText(row)), level: null }));

/**
 * Returns the rows that the argument `chapters` names: by their numbers among the spoken rows, or by their names.
 *
 * @throws AudioError `invalid_request` for a row that does not exist
 */
function chooseRows(spoken: readonly SheetRow[], { chapters }: PlanOptions): readonly SheetRow[] {
  if (chapters === undefined) return spoken;
  const numbers = spoken.map(({ number }) => number);
  const chosen = new Set(parseChapterChoice(listRowNames(spoken), chapters, numbers));
  return spoken.filter((_, index) => chosen.has(index));
}

const ROWS_SHOWN = 5;

/**
 * Names the chosen rows, with their numbers in the sheet, because a person may count the header or not. Names only
 * those with a name of their own, because an edit may change the words of the others.
 */
function buildChoiceRemarks(spoken: readonly SheetRow[], rows: readonly SheetRow[]): string[] {
  if (rows.length === spoken.length) return [];
  const shown = rows.filter(({ cells }) => cells.file !== "").slice(0, ROWS_SHOWN);
  const names = listRowNames(shown).map(({ title }) => JSON.stringify(title));
  const further = rows.length > shown.length ? ` and ${rows.length - shown.length} more` : "";
  return [
    `Only ${rows.length} of its ${spoken.length} rows${shown.length === 0 ? "" : `: ${names.join(", ")}${further}`} (${listRows(rows.map(({ number }) => number)).toLowerCase()}; the header is row 1).`,
  ];
}

/**
 * Plans a sheet: one part and one file for each row.
 *
 * @throws AudioError `invalid_request` if the source is not a sheet or has invalid rows
 */
export function planSheet(source: string, options: PlanOptions): StoredPlan {
  assertSpeakable(source);
  const { settings, pauseSeconds } = options;
  const format = getPlanFormat({ settings });
  const sheet = parseSheet(source);
  const spoken = sheet.rows.filter((row) => hasWords(getText(row)));
  const silent = sheet.rows.filter((row) => !spoken.includes(row));
  const issues = new RowIssues();
  if (spoken.length === 0) throw refusedSheetError("has no row with a text");
  const rows = chooseRows(spoken, options);
  // A row has the number that it has among all rows, so that a choice does not change its name.
  const planned = rows.flatMap((row) => planRow(row, spoken.indexOf(row), options, issues));
  reportFileNameIssues(rows, format, issues);
  issues.throwIfAny();
  const parts = planned.map(({ respelled }) => respelled.part);
  const plan: NarrationPlan = {
    version: CUTTING_RULES_VERSION,
    chapters: spoken.map(() => ({ title: null, level: null })),
    parts: parts.map(
      ({ voice, settings: _, ...part }): PlannedPart => (voice === null ? part : { ...part, voice }),
    ),
    unspoken: [],
    silentSpeakers: [],
  };
  const voices = new Set(parts.map(({ voice }) => voice ?? settings.voice ?? "the default voice"));
  return {
    version: 1,
    settings,
    pauseSeconds,
    fileLayout: "rows",
    title: chooseNarrationTitle(plan).replaceAll(INVISIBLE_CHARACTERS, " ").trim(),
    chapters: spoken.map(({ cells, number }) => ({
      title: null,
      row: number,
      ...(cells.file === "" ? {} : { fileName: cells.file }),
    })),
    parts,
    ...buildPronunciationsField(options),
    remarks: [
      ...toRemarks("text", [...buildChoiceRemarks(spoken, rows), buildFilesRemark(sheet, rows, voices)]),
      buildEdgesRemark(plan),
      ...toRemarks(
        "text",
        describeRespelledWords([...new Set(planned.flatMap(({ respelled }) => respelled.words))]),
      ),
      ...buildPlanRemarks(plan, settings.voice),
      ...toRemarks("text", [
        ...buildHeadingsRemarks(sheet),
        ...buildColumnsRemarks(sheet),
        ...buildPlaceholderRemarks(rows),
        ...buildUnusedSettingsRemarks(options, "each row is a file"),
        ...buildSilentRemarks(rows, options),
        ...buildLineRemarks(rows),
        ...buildEndingRemarks(rows, format),
        ...buildLongRemarks(planned),
      ]),
    ],
    unspoken: buildRowsRemarks(silent, "left out, because there is nothing to speak."),
  };
}
