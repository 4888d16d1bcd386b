/** The files of a narration as callers get them, read from the rows of the ledger. */
import { basename } from "node:path";
import { z } from "zod";
import { isNumbered } from "../files/file-name.ts";
import type { SavedText } from "../files/save-text.ts";
import { isIntact } from "../files/saved-copies.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { FileRow, NarrationRow } from "../ledger/schema.ts";
import { toSavedFile } from "../requests/saved-audio.ts";
import { buildFileName, chooseChapterTitle } from "./narration-file-names.ts";
import type { NarrationProblem } from "./part-status.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

/** A joined file with what lies beside it. */
export interface NarrationFile extends SavedFile {
  readonly durationSeconds: number;
  /** Index of the file's chapter; `null` for a file of the whole narration. */
  readonly chapterIndex: number | null;
  /** The title of the file's chapter; `null` for a file of the whole narration. */
  readonly chapterTitle: string | null;
  readonly captionsFile: SavedText | null;
  /** The captions as SubRip, if they are saved both as WebVTT and as SubRip. In this case, `captionsFile` is WebVTT. */
  readonly srtFile?: SavedText | undefined;
  readonly chaptersFile: SavedText | null;
  /**
   * The requested name, if another file already had it. In this case, the file has the name with a number added. `null`
   * if the file has the requested name.
   */
  readonly conflictingName: string | null;
  /** A hash of the parts, pauses and name that the file was made from. */
  readonly inputFingerprint: string;
  /** Whether the file was joined before all its parts were saved. */
  readonly isIncomplete: boolean;
  /** Indexes of parts that the file lacks. */
  readonly missingPartIndexes: readonly number[];
  /**
   * Problems of parts whose audio may be wrong, for example because it is cut off. A person should listen to these
   * parts.
   */
  readonly doubtfulPartProblems: readonly NarrationProblem[];
}

const INCOMPLETE = "incomplete:";
const WHOLE = "whole:";

/** Marks the hash of what a file was made from with whether it has all its parts. */
export const markInputs = (hash: string, isComplete: boolean): string =>
  `${isComplete ? WHOLE : INCOMPLETE}${hash}`;

export const isIncompleteFile = ({ inputs }: Pick<FileRow, "inputs">): boolean =>
  inputs?.startsWith(INCOMPLETE) === true;

/** Lists the newest joined file of each chapter, in reading order. */
export function listCurrentFiles(rows: readonly FileRow[]): FileRow[] {
  const newest = new Map<number | null, FileRow>();
  for (const row of rows) {
    const other = newest.get(row.chapter);
    if (row.kind === "audio" && (other === undefined || other.saved_at_ms < row.saved_at_ms))
      newest.set(row.chapter, row);
  }
  return [...newest.values()].sort((one, other) => (one.chapter ?? 0) - (other.chapter ?? 0));
}

/** Lists captions and chapters that were saved with a joined file. */
export const listCompanions = (rows: readonly FileRow[], { owner, chapter, inputs }: FileRow): FileRow[] =>
  rows.filter(
    (row) => row.kind !== "audio" && row.owner === owner && row.chapter === chapter && row.inputs === inputs,
  );

/** Whether a recorded file is unchanged on this machine. */
export const isFileIntact = (row: FileRow, root: string): Promise<boolean> =>
  isIntact(toSavedFile(row), root);

/**
 * Returns the requested name of a file that got a number, because another file had the name; `null` if it has its name.
 */
export function findConflictingName(
  row: FileRow,
  narration: Pick<NarrationRow, "id" | "file_name">,
  plan: StoredPlan,
): string | null {
  const name = buildFileName({
    narrationId: narration.id,
    plan,
    fileName: narration.file_name,
    file: { chapterIndex: row.chapter, partIndexes: [] },
    isComplete: !isIncompleteFile(row),
  });
  return isNumbered(basename(row.path), name) ? name : null;
}

const indexesSchema = z.array(z.int().nonnegative());
const problemsSchema = z.array(
  z.object({ partIndex: z.int().nonnegative().nullable(), code: z.string(), message: z.string() }),
);

/** Parses a column that holds a list. A damaged one is told as empty, because the file itself is intact. */
function parseList<T>(schema: z.ZodType<T[]>, column: string | null): T[] {
  if (column === null) return [];
  try {
    return schema.parse(JSON.parse(column));
  } catch {
    return [];
  }
}

/** Builds the files of a narration from its rows, in reading order. Does not look whether they are there. */
export function buildNarrationFiles(
  rows: readonly FileRow[],
  narration: Pick<NarrationRow, "id" | "file_name">,
  plan: StoredPlan,
): NarrationFile[] {
  return listCurrentFiles(rows).map((row) => {
    const companions = listCompanions(rows, row);
    const findCompanion = (kind: FileRow["kind"]): SavedText | null => {
      const found = companions.find((companion) => companion.kind === kind);
      return found === undefined
        ? null
        : { path: found.path, sizeBytes: found.size_bytes, sha256: found.sha256 };
    };
    const srtFile = findCompanion("srt");
    return {
      ...toSavedFile(row),
      durationSeconds: row.seconds ?? 0,
      chapterIndex: row.chapter,
      chapterTitle: row.chapter === null ? null : chooseChapterTitle(plan, row.chapter),
      captionsFile: findCompanion("captions"),
      ...(srtFile === null ? {} : { srtFile }),
      chaptersFile: findCompanion("chapters"),
      conflictingName: findConflictingName(row, narration, plan),
      inputFingerprint: row.inputs ?? "",
      isIncomplete: isIncompleteFile(row),
      missingPartIndexes: parseList(indexesSchema, row.lacks),
      doubtfulPartProblems: parseList(problemsSchema, row.doubtful),
    };
  });
}

/** Lists the companions of a file that were deleted, edited or replaced since they were saved. */
export async function findChangedCompanions(
  { captionsFile, srtFile, chaptersFile }: NarrationFile,
  root: string,
): Promise<string[]> {
  const changed: string[] = [];
  for (const companion of [captionsFile, srtFile ?? null, chaptersFile]) {
    if (companion !== null && !(await isIntact(companion, root))) changed.push(companion.path);
  }
  return changed;
}
