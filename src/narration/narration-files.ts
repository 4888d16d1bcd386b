/** The files of a narration as callers get them, read from the rows of the ledger. */
import { basename, extname, parse } from "node:path";
import { z } from "zod";
import { isNumbered } from "../files/file-name.ts";
import { isIntact } from "../files/saved-copies.ts";
import { problemSchema } from "../ledger/narration-rows.ts";
import type { FileRow, NarrationRow } from "../ledger/schema.ts";
import { parseJson } from "../parse-json.ts";
import { findNameOwner } from "../requests/audio-names.ts";
import type { RequestDeps } from "../requests/deps.ts";
import { toSavedFile } from "../requests/saved-audio.ts";
import { buildFileName, chooseChapterTitle } from "./narration-file-names.ts";
import type { NarrationProblem } from "./part-status.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

/** A joined file with what lies beside it. */
export interface NarrationFile {
  readonly audio: FileRow;
  /** Captions, captions as SubRip if WebVTT is saved too, and chapters: what is saved of them, in this order. */
  readonly beside: readonly FileRow[];
  /** The title of the file's chapter; `null` for a file of the whole narration. */
  readonly chapterTitle: string | null;
  /** The number of the file's row in a sheet. */
  readonly sheetRow: number | undefined;
  /**
   * The requested name, if another file already had it. In this case, the file has the name with a number added. `null`
   * if the file has the requested name.
   */
  readonly conflictingName: string | null;
  /** The names of captions and chapters that other files already had, so that these got a number. */
  readonly conflictingBeside: readonly string[];
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

const BESIDE = ["captions", "srt", "chapters"] as const satisfies ReadonlyArray<FileRow["kind"]>;

export const findBeside = (
  { beside }: Pick<NarrationFile, "beside">,
  wanted: (typeof BESIDE)[number],
): FileRow | undefined => beside.find(({ kind }) => kind === wanted);

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

/**
 * Lists what lies beside a joined file: its companions, and those of an earlier form of it, such as captions that a
 * changed AUDIO_CAPTIONS no longer saves. What belongs to another audio file is not listed.
 */
export function listAllBeside(rows: readonly FileRow[], file: FileRow): FileRow[] {
  const ofFile = rows.filter(({ owner, chapter }) => owner === file.owner && chapter === file.chapter);
  const others = ofFile.filter(({ kind, path }) => kind === "audio" && path !== file.path);
  const inputsOfOthers = new Set(others.map(({ inputs }) => inputs));
  return ofFile.filter(({ kind, inputs }) => kind !== "audio" && !inputsOfOthers.has(inputs));
}

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
  const file = { chapterIndex: row.chapter };
  const name = buildFileName({ narration, plan, file, isComplete: !isIncompleteFile(row) });
  return isNumbered(basename(row.path), name) ? name : null;
}

/**
 * Finds the older file whose name a narration's file may take; `null` if there is none. The older file must be unchanged,
 * and must have been saved by this server: the last owner of a name gives it up. Two files of one narration never take
 * each other's name.
 */
export async function findReplaceable(
  deps: Pick<RequestDeps, "ledger" | "folder">,
  { owner, chapter }: Pick<FileRow, "owner" | "chapter">,
  name: string,
): Promise<FileRow | null> {
  const found = await findNameOwner(deps, name);
  return found?.owner === owner && found.chapter !== chapter ? null : found;
}
/** Lists the names that captions and chapters did not get. They are named after the audio, whatever name it got. */
const listConflictingBeside = ({ path }: FileRow, companions: readonly FileRow[]): string[] =>
  companions.flatMap((companion) => {
    const stem = `${parse(path).name}${companion.kind === "chapters" ? ".chapters" : ""}`;
    const name = `${stem}${extname(companion.path)}`;
    return isNumbered(basename(companion.path), name) ? [name] : [];
  });

// A damaged list is told as empty, because the file itself is intact.
const indexesSchema = z.array(z.int().nonnegative());
const problemsSchema = z.array(problemSchema.extend({ partIndex: z.int().nonnegative().nullable() }));

/** Builds the files of a narration from its rows, in reading order. Does not look whether they are there. */
export function buildNarrationFiles(
  rows: readonly FileRow[],
  narration: Pick<NarrationRow, "id" | "file_name">,
  plan: StoredPlan,
): NarrationFile[] {
  return listCurrentFiles(rows).map((audio) => {
    const companions = listCompanions(rows, audio);
    return {
      audio,
      beside: BESIDE.flatMap((kind) => companions.find((companion) => companion.kind === kind) ?? []),
      chapterTitle: audio.chapter === null ? null : chooseChapterTitle(plan, audio.chapter),
      sheetRow: audio.chapter === null ? undefined : plan.chapters[audio.chapter]?.row,
      conflictingName: findConflictingName(audio, narration, plan),
      conflictingBeside: listConflictingBeside(audio, companions),
      isIncomplete: isIncompleteFile(audio),
      missingPartIndexes: parseJson(indexesSchema, audio.lacks) ?? [],
      doubtfulPartProblems: parseJson(problemsSchema, audio.doubtful) ?? [],
    };
  });
}
