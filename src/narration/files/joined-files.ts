/** Joins a narration's parts into files. Each file is verified and published under a free name. */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import type { JoinedAudio, JoinPart } from "../../audio/join-request.ts";
import type { TextTags } from "../../audio/text-tags.ts";
import type { Clock } from "../../clock.ts";
import type { CaptionFiles } from "../../config/settings.ts";
import type { OutputFormat } from "../../contract/audio-format.ts";
import type { OutputFolder } from "../../files/output-folder.ts";
import { planReplacement } from "../../files/plan-replacement.ts";
import { saveAudio } from "../../files/save-audio.ts";
import { isIntact } from "../../files/saved-copies.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { removeIfPresent } from "../../files/temporary-file.ts";
import { parseStoredFormat } from "../../requests/records/stored-input.ts";
import { getPlanFormat, type NarrationFile, type StoredPlan } from "../state/narration-state.ts";
import type { IndexedPart } from "../state/part-request.ts";
import type { CompanionRequest } from "./companions.ts";
import { findDoubtfulParts } from "./doubtful-parts.ts";
import {
  buildFileName,
  chooseChapterTitle,
  type FileToName,
  isFreeInOtherFormats,
  isNameOfOtherRow,
} from "./narration-file-names.ts";
import type { PlannedFile } from "./planned-files.ts";

export interface FileJoinRequest extends FileToName {
  readonly parts: readonly IndexedPart[];
  readonly signal: AbortSignal;
}

export interface FileJoiner {
  /**
   * Joins the parts of one file. Keeps an existing file that has the same parts and name. Replaces an incomplete file
   * by a complete one.
   *
   * @throws the AudioErrors of `saveAudio`, PartsDifferError, DamagedPartError
   */
  join(request: FileJoinRequest): Promise<NarrationFile>;
}

type Companions = Pick<NarrationFile, "captionsFile" | "srtFile" | "chaptersFile">;

/** A file that this server has saved. */
export interface ServerSavedFile {
  /** The narration that saved the file; `null` for a direct request. */
  readonly narrationId: string | null;
  readonly file: SavedFile & { readonly chapterIndex?: number | null };
  readonly companions: Companions | null;
}

interface JoinDeps {
  readonly folder: OutputFolder;
  /**
   * Finds an unchanged file in the output folder by its name; `null` if this server has not saved the file as it is now.
   * Searches the narrations first, newest first, then the direct requests.
   */
  readonly findServerSavedFile: (name: string) => Promise<ServerSavedFile | null>;
  readonly clock: Pick<Clock, "wallMs">;
  readonly captionFiles: CaptionFiles;
}

/**
 * Creates the joiner that saves the files of narrations, with their captions and chapters, in the output folder. The
 * joiner removes or replaces an older file only if this server has saved that file and nobody has changed it since.
 */
export function createFileJoiner(deps: JoinDeps): FileJoiner {
  const { folder, captionFiles } = deps;
  return {
    async join(request) {
      const { state, file, isComplete } = request;
      const inputFingerprint = computeFingerprint(request, captionFiles);
      const previousFile = state.files.find(({ chapterIndex }) => chapterIndex === file.chapterIndex);
      if (previousFile !== undefined && (await isIntact(previousFile, folder.root))) {
        // An incomplete file never replaces a complete one.
        if (!isComplete && !previousFile.isIncomplete) return previousFile;
        const isToRename = state.mayReplace && previousFile.conflictingName !== null;
        const isSame = previousFile.inputFingerprint === inputFingerprint && !isToRename;
        if (isSame && (await findChangedCompanions(previousFile, folder.root)).length === 0)
          return previousFile;
      }
      // Remove the old incomplete file before the new one is saved, so that the new one gets the same name.
      if (previousFile?.isIncomplete === true && !isComplete) await removeFile(previousFile, folder.root);
      const joinedFile = { ...(await joinParts(deps, request)), inputFingerprint };
      const isElsewhere = previousFile !== undefined && previousFile.path !== joinedFile.path;
      const isRenamed =
        isElsewhere && previousFile.sha256 === joinedFile.sha256 && previousFile.conflictingName !== null;
      if (previousFile?.isIncomplete === true || (state.mayReplace && isRenamed))
        await removeFile(previousFile, folder.root);
      return joinedFile;
    },
  };
}

/** Hashes everything that a file depends on: audio, pauses, name and captions. */
function computeFingerprint(
  { plan, state, file, parts, isComplete }: FileJoinRequest,
  captionFiles: CaptionFiles,
): string {
  const hash = createHash("sha256").update(JSON.stringify([file.chapterIndex, state.fileName, isComplete]));
  for (const { partIndex, file: audio } of parts) {
    const { pauseAfterSeconds, startSeconds } = plan.parts[partIndex] ?? {};
    const start = startSeconds === undefined ? [] : [startSeconds];
    hash.update(JSON.stringify([partIndex, audio.sha256, pauseAfterSeconds, ...start]));
  }
  if (captionFiles !== "vtt") hash.update(captionFiles);
  return hash.digest("hex");
}

/** Lists the companions that were deleted, edited or replaced since they were saved. */
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

/**
 * Removes an unchanged file and those of its companions that are unchanged. Removes nothing if the file has changed.
 */
async function removeFile(file: NarrationFile, root: string): Promise<void> {
  if (!(await isIntact(file, root))) return;
  await removeIfPresent(file.path);
  await removeCompanions(file, root);
}

/** Removes the unchanged companions of a file. */
async function removeCompanions(
  { captionsFile, srtFile, chaptersFile }: Companions,
  root: string,
): Promise<void> {
  for (const saved of [captionsFile, srtFile ?? null, chaptersFile]) {
    if (saved !== null && (await isIntact(saved, root))) await removeIfPresent(saved.path);
  }
}

/**
 * Finds the older file whose name the joined file may take; `null` if there is none. The older file must be unchanged,
 * must have been saved by this server, and must not be another file of this narration.
 */
async function findReplacedFile(
  { folder, findServerSavedFile }: JoinDeps,
  { narrationId, state, file, isComplete }: FileJoinRequest,
  name: string,
): Promise<ServerSavedFile | null> {
  if (!state.mayReplace || !isComplete) return null;
  const path = join(folder.root, name);
  // Look at this narration's own files first, because the search finds only files of the newest narrations.
  const ownFile = state.files.find((saved) => saved.path === path);
  const owner =
    ownFile !== undefined && (await isIntact(ownFile, folder.root))
      ? { narrationId, file: ownFile, companions: ownFile }
      : await findServerSavedFile(name);
  if (owner === null) return null;
  return owner.narrationId === narrationId && owner.file.chapterIndex !== file.chapterIndex ? null : owner;
}

async function joinParts(
  deps: JoinDeps,
  fileRequest: FileJoinRequest,
): Promise<Omit<NarrationFile, "inputFingerprint">> {
  const { folder, clock, captionFiles } = deps;
  const { plan, file, parts, isComplete, signal } = fileRequest;
  const format = getPlanFormat(plan);
  const name = buildFileName(fileRequest);
  const hasCompanions = plan.fileLayout !== "rows";
  const chapter = file.chapterIndex === null ? null : chooseChapterTitle(plan, file.chapterIndex);
  const title = chapter ?? plan.title;
  const chapters = chapter === null ? listChapterMarks(plan, parts) : [];
  const sources = parts.map(({ file: audio, record, partIndex }, partIndexInFile) => ({
    path: audio.path,
    durationSeconds: record.output?.durationSeconds ?? record.audioSeconds ?? 0,
    sampleRateHz: parseStoredFormat(record).sampleRateHz,
    pauseAfterSeconds:
      partIndexInFile === parts.length - 1 ? 0 : (plan.parts[partIndex]?.pauseAfterSeconds ?? 0),
    startSeconds: plan.parts[partIndex]?.startSeconds,
  }));
  // Load this module on first use, because only joining needs the audio formats.
  const { joinAudio } = await import("../../audio/join.ts");
  const results: Array<{ readonly joined: JoinedAudio; readonly leadingSilenceSeconds: readonly number[] }> =
    [];
  const savedFileToReplace = await findReplacedFile(deps, fileRequest, name);
  const savedFile = await saveAudio({
    folder,
    fileName: name,
    fileToReplace:
      savedFileToReplace === null ? null : await planReplacement(folder, name, savedFileToReplace.file),
    mayBeNamed: async (tried) =>
      !isNameOfOtherRow(fileRequest, tried) &&
      (!hasCompanions || (await isFreeInOtherFormats(folder, tried))),
    mayKeepWrongFormat: false,
    format,
    clock,
    writeAudio: async (sink) => {
      const write = (bytes: Uint8Array): Promise<void> => sink.write(bytes);
      const leadingSilenceSeconds = await measureLeads(format, sources, signal);
      const placed = sources.map(({ startSeconds, ...source }, partIndexInFile) => ({
        ...source,
        startSeconds:
          startSeconds === undefined
            ? undefined
            : Math.max(0, startSeconds - (leadingSilenceSeconds[partIndexInFile] ?? 0)),
      }));
      const tags = { title, author: plan.author, ...buildAlbumTags(plan, file) };
      const request = { ...tags, format, parts: placed, chapters, write, signal };
      results.push({ joined: await joinAudio(request), leadingSilenceSeconds });
    },
  });
  // Remove the captions and chapters of the old file, because the companions of the new file need the same names.
  if (
    savedFileToReplace !== null &&
    savedFileToReplace.companions !== null &&
    savedFile.path === savedFileToReplace.file.path
  )
    await removeCompanions(savedFileToReplace.companions, folder.root);
  const [result] = results;
  if (result === undefined) throw new Error("nothing was joined");
  const { joined, leadingSilenceSeconds } = result;
  const plannedParts = parts.map(({ partIndex }) => plan.parts[partIndex] ?? { text: "" });
  const companions = hasCompanions
    ? await saveCompanions({
        folder,
        captionFiles,
        saved: savedFile,
        format,
        title,
        sources,
        plannedParts,
        joined,
        leadingSilenceSeconds,
        signal,
      })
    : { captionsFile: null, chaptersFile: null };
  const joinedIndexes = new Set(parts.map(({ partIndex }) => partIndex));
  return {
    ...savedFile,
    ...companions,
    chapterIndex: file.chapterIndex,
    chapterTitle: chapter,
    durationSeconds: joined.durationSeconds,
    conflictingName: basename(savedFile.path) === name ? null : name,
    isIncomplete: !isComplete,
    missingPartIndexes: file.partIndexes.filter((index) => !joinedIndexes.has(index)),
    doubtfulPartProblems: findDoubtfulParts(plan, fileRequest.state, parts, joined, leadingSilenceSeconds),
  };
}

/**
 * Returns the tags by which players group the chapter files of a book. Returns no tags for the rows of a sheet, because
 * rows do not form an album.
 */
function buildAlbumTags(plan: StoredPlan, { chapterIndex }: PlannedFile): TextTags {
  const { fileLayout, title, wholeTitle = title, chapters } = plan;
  if (fileLayout !== "chapters" || chapterIndex === null) return {};
  return { album: wholeTitle, track: `${chapterIndex + 1}/${chapters.length}` };
}

async function saveCompanions(request: CompanionRequest): Promise<Companions> {
  const { makeCompanions } = await import("./companions.ts");
  return await makeCompanions(request);
}

/**
 * Measures the seconds of silence at the start of each part of a timeline. Returns an empty list for narrations without
 * a timeline.
 */
async function measureLeads(
  format: OutputFormat,
  sources: readonly JoinPart[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (sources.every(({ startSeconds }) => startSeconds === undefined)) return [];
  const { findLeadingSilences } = await import("../../audio/captions/leading-silence.ts");
  return await findLeadingSilences(format, sources, signal);
}

/** Lists the chapters, each with its first part. Returns an empty list for a text without headings. */
function listChapterMarks(
  plan: StoredPlan,
  parts: readonly IndexedPart[],
): Array<{ readonly title: string; readonly firstPart: number }> {
  const heading = plan.chapters.find(({ title }) => title !== null)?.title;
  if (heading === undefined) return [];
  return plan.chapters.flatMap(({ title }, chapterIndex) => {
    const firstPart = parts.findIndex(
      ({ partIndex }) => plan.parts[partIndex]?.chapterIndex === chapterIndex,
    );
    // The text before the first heading is a chapter with the plan's title. If the plan's title is the first heading,
    // list no chapter for this text, because two chapters would have the same title.
    if (firstPart === -1 || (title === null && plan.title === heading)) return [];
    return [{ title: title ?? plan.title, firstPart }];
  });
}
