/** Names the files of narrations, and checks that the file system allows the names. */
import { basename, extname } from "node:path";
import { FILE_EXTENSIONS } from "../contract/audio-format.ts";
import { AudioError } from "../errors.ts";
import {
  appendToStem,
  buildAutomaticName,
  buildNumberedName,
  buildRequestedName,
  findFileNameIssue,
  slugifyFirstWords,
} from "../files/file-name.ts";
import { LAST_NUMBER, probeNameAvailability } from "../files/free-names.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import type { NarrationRow } from "../ledger/schema.ts";
import { listPlannedFiles, type PlannedFile } from "./planned-files.ts";
import { getPlanFormat, type StoredPlan } from "./planning/stored-plan.ts";
import { chapterPosition } from "./text/chapters/chapter-number.ts";
import { shortenExcerpt } from "./text/excerpt.ts";

export interface FileToName {
  /** Without a chosen name, the name is made from the title and the id. */
  readonly narration: Pick<NarrationRow, "id" | "file_name">;
  readonly plan: StoredPlan;
  readonly file: Pick<PlannedFile, "chapterIndex">;
  /** Whether the file contains all its parts. The name of an incomplete file says that it is incomplete. */
  readonly isComplete: boolean;
}

const INCOMPLETE_SUFFIX = " (incomplete)";

/**
 * Checks, before anything is paid, that the file system allows the longest name that will be needed. Ignores other
 * errors of the folder, which the narration reports later.
 *
 * @throws AudioError `invalid_file_name`
 */
export async function assertRoomForNames(
  folder: OutputFolder,
  narration: Omit<FileToName, "file" | "isComplete">,
): Promise<void> {
  const names = listPlannedFiles(narration.plan).map((file) =>
    buildFileName({ ...narration, file, isComplete: false }),
  );
  const longest = names.reduce((one, other) =>
    Buffer.byteLength(other) > Buffer.byteLength(one) ? other : one,
  );
  const companion = appendToStem(longest, `-${LAST_NUMBER}.chapters`, ".json");
  try {
    await folder.ensureExists();
    await probeNameAvailability(folder, buildNumberedName(companion, LAST_NUMBER));
  } catch (error) {
    if (error instanceof AudioError && error.code === "invalid_file_name") throw error;
  }
}

/**
 * Returns the name of the file that a text was read from, without its extension, as the name of its narration. Chosen
 * chapters follow it. Returns `null` without such a file, for one whose name no audio file may have, and for a sheet,
 * whose rows have names of their own.
 */
export function deriveNameOfSource(plan: StoredPlan): string | null {
  const { sourceName, title, wholeTitle } = plan;
  if (sourceName === undefined || plan.fileLayout === "rows") return null;
  const chosen = wholeTitle === undefined ? "" : `-${slugifyFirstWords(title.slice(wholeTitle.length))}`;
  const name = `${basename(sourceName, extname(sourceName))}${chosen}`;
  return findFileNameIssue(name, getPlanFormat(plan)) === null ? name : null;
}

/**
 * Returns the name of a narration's file without extension: the given name or, if there is none, a name made from the
 * title and the id.
 */
export function buildFileStem({ id, file_name }: FileToName["narration"], plan: StoredPlan): string {
  if (file_name !== null) return file_name;
  const format = getPlanFormat(plan);
  return basename(buildAutomaticName(format, plan.title, id), FILE_EXTENSIONS[format]);
}

/** Returns the name of one file of a narration, with its extension. */
export function buildFileName({ narration, plan, file, isComplete }: FileToName): string {
  const format = getPlanFormat(plan);
  const ending = isComplete ? "" : INCOMPLETE_SUFFIX;
  const rowName = file.chapterIndex === null ? undefined : plan.chapters[file.chapterIndex]?.fileName;
  if (rowName !== undefined) return appendToStem(buildRequestedName(rowName, format), ending);
  const name = buildRequestedName(buildFileStem(narration, plan), format);
  if (file.chapterIndex === null) return appendToStem(name, ending);
  const digits = Math.max(2, `${plan.chapters.length}`.length);
  const position =
    plan.fileLayout === "rows" ? file.chapterIndex + 1 : chapterPosition(plan.chapters, file.chapterIndex);
  const words = `${`${position}`.padStart(digits, "0")}-${slugifyFirstWords(chooseChapterTitle(plan, file.chapterIndex))}`;
  // Leave the narration's id out of the names of rows. If one row changes, the narration gets another id, but the other
  // rows keep their file names.
  if (plan.fileLayout === "rows" && narration.file_name === null)
    return `${words}${ending}${FILE_EXTENSIONS[format]}`;
  return appendToStem(name, `-${words}${ending}`);
}

/** Returns the title of a chapter. For a row of a sheet, returns its first words. */
export function chooseChapterTitle(plan: StoredPlan, chapterIndex: number): string {
  if (plan.fileLayout !== "rows") return plan.chapters[chapterIndex]?.title ?? plan.title;
  return shortenExcerpt(plan.parts.find((part) => part.chapterIndex === chapterIndex)?.text ?? "");
}

/**
 * Whether no file has this name in another audio format, such as `talk.wav` for `talk.mp3`. Two such files would share
 * their captions, because players find captions by the name without its extension.
 */
export async function isFreeInOtherFormats(folder: OutputFolder, name: string): Promise<boolean> {
  const extension = extname(name);
  const otherExtensions = Object.values(FILE_EXTENSIONS).filter((other) => other !== extension);
  const stem = basename(name, extension);
  const prechecks = await Promise.all(
    otherExtensions.map((other) => probeNameAvailability(folder, `${stem}${other}`)),
  );
  return prechecks.every((result) => result === "free");
}

/**
 * Whether the sheet gives this name to another row. For example, `guard.mp3` exists already, so this row would get
 * `guard-2.mp3`, but another row has the name `guard-2`.
 */
export function isNameOfOtherRow({ plan, file }: Pick<FileToName, "plan" | "file">, name: string): boolean {
  const folded = (text: string): string => text.normalize("NFC").toLowerCase();
  // A row that was not chosen gets no file, and its name was not checked.
  return listPlannedFiles(plan).some(({ chapterIndex }) => {
    if (chapterIndex === null || chapterIndex === file.chapterIndex) return false;
    const fileName = plan.chapters[chapterIndex]?.fileName;
    return (
      fileName !== undefined && folded(buildRequestedName(fileName, getPlanFormat(plan))) === folded(name)
    );
  });
}
