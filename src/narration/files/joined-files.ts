/** Joins a narration's parts into files. Each file is verified and published under a free name. */
import { createHash } from "node:crypto";
import { basename, extname } from "node:path";
import type { JoinedAudio, JoinPart } from "../../audio/join-request.ts";
import type { TextTags } from "../../audio/text-tags.ts";
import type { Clock } from "../../clock.ts";
import type { CaptionFiles } from "../../config/settings.ts";
import { FILE_EXTENSIONS, type OutputFormat } from "../../contract/audio-format.ts";
import { AudioError } from "../../errors.ts";
import { buildAutomaticName, slugOfFirstWords } from "../../files/automatic-name.ts";
import { appendToStem, buildNumberedName, buildRequestedName } from "../../files/file-name.ts";
import { probeNameAvailability } from "../../files/name-availability.ts";
import type { OutputFolder } from "../../files/output-folder.ts";
import { planReplacement } from "../../files/plan-replacement.ts";
import { saveAudio } from "../../files/save-audio.ts";
import { isIntact } from "../../files/saved-copies.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { removeIfPresent } from "../../files/temporary-file.ts";
import { LAST_NUMBER } from "../../files/try-numbered-names.ts";
import { parseStoredFormat } from "../../generation/stored-input.ts";
import {
  formatOfPlan,
  type NarrationFile,
  type NarrationState,
  type StoredPlan,
} from "../state/narration-state.ts";
import type { IndexedPart } from "../state/part-request.ts";
import { chapterPosition } from "../text/chapters/chapter-number.ts";
import { shortenExcerpt } from "../text/excerpt.ts";
import type { CompanionRequest } from "./companions.ts";
import { findDoubtfulParts } from "./doubtful-parts.ts";

export interface PlannedFile {
  /** Index of the file's section; `null` for a file of the whole narration. */
  readonly section: number | null;
  /** Indexes of the file's parts in the plan, in reading order. */
  readonly partIndexes: readonly number[];
}

export interface FileJoinRequest {
  readonly narrationId: string;
  readonly plan: StoredPlan;
  /** The state, with the chosen name and the existing files. */
  readonly state: NarrationState;
  readonly file: PlannedFile;
  readonly parts: readonly IndexedPart[];
  /** Whether `parts` contains all parts of the file. If not, the file's name says that the file is incomplete. */
  readonly isComplete: boolean;
  readonly signal: AbortSignal;
}

export interface FileJoiner {
  /**
   * Joins one file. An existing file with the same parts and name is kept. A whole file replaces an incomplete one.
   *
   * @throws the AudioErrors of `saveAudio`, PartsDifferError, DamagedPartError
   */
  join(request: FileJoinRequest): Promise<NarrationFile>;
}

type Companions = Pick<NarrationFile, "captionsFile" | "srtFile" | "chaptersFile">;

const INCOMPLETE = " (incomplete)";

/** Lists the files of a plan, in reading order. */
export function listPlannedFiles(plan: StoredPlan): PlannedFile[] {
  const partIndexes = plan.parts.map((_, index) => index);
  // Treat a single chapter as the whole narration, so that its title is not repeated.
  const isOne = plan.fileLayout === "one" || (plan.fileLayout === "chapters" && plan.sections.length === 1);
  if (isOne) return [{ section: null, partIndexes }];
  const bySection = Map.groupBy(partIndexes, (index) => plan.parts[index]?.section);
  return plan.sections.flatMap((_, section) => {
    const ofSection = bySection.get(section);
    return ofSection === undefined ? [] : [{ section, partIndexes: ofSection }];
  });
}

/** A file that this server has saved. */
export interface ServerSavedFile {
  /** The narration that saved the file; `null` for a single request. */
  readonly narrationId: string | null;
  readonly file: SavedFile & { readonly section?: number | null };
  readonly companions: Companions | null;
}

interface JoinDeps {
  readonly folder: OutputFolder;
  /**
   * Finds the file of that name in the output folder, if this server has saved it. Searches narrations first, from the
   * newest on, then single requests.
   */
  readonly findServerSavedFile: (name: string) => Promise<ServerSavedFile | null>;
  readonly clock: Pick<Clock, "wallMs">;
  readonly captionFiles: CaptionFiles;
}

export function createFileJoiner(deps: JoinDeps): FileJoiner {
  const { folder, captionFiles } = deps;
  return {
    async join(request) {
      const { state, file, isComplete } = request;
      const inputFingerprint = computeFingerprint(request, captionFiles);
      const before = state.files.find(({ section }) => section === file.section);
      if (before !== undefined && (await isIntact(before, folder.root))) {
        // An incomplete file never replaces a complete one.
        if (!isComplete && !before.isIncomplete) return before;
        const isToRename = state.mayReplace && before.conflictingName !== null;
        const isSame = before.inputFingerprint === inputFingerprint && !isToRename;
        if (isSame && (await findChangedCompanions(before, folder.root)).length === 0) return before;
      }
      // Replace an incomplete file by the next incomplete one under the same name.
      if (before?.isIncomplete === true && !isComplete) await removeFile(before, folder.root);
      const joinedFile = { ...(await joinParts(deps, request)), inputFingerprint };
      const isElsewhere = before !== undefined && before.path !== joinedFile.path;
      const isRenamed = isElsewhere && before.sha256 === joinedFile.sha256 && before.conflictingName !== null;
      if (before?.isIncomplete === true || (state.mayReplace && isRenamed))
        await removeFile(before, folder.root);
      return joinedFile;
    },
  };
}

/** Hashes everything that a file depends on: audio, pauses, name and captions. */
function computeFingerprint(
  { plan, state, file, parts, isComplete }: FileJoinRequest,
  captionFiles: CaptionFiles,
): string {
  const hash = createHash("sha256").update(JSON.stringify([file.section, state.fileName, isComplete]));
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
 * Whether no file has this name with the extension of another audio format. Two such files would share their captions,
 * because players find captions by the name without its extension.
 */
async function isFreeInOtherFormats(folder: OutputFolder, name: string): Promise<boolean> {
  const extension = extname(name);
  const otherExtensions = Object.values(FILE_EXTENSIONS).filter((other) => other !== extension);
  const stem = basename(name, extension);
  const prechecks = await Promise.all(
    otherExtensions.map((other) => probeNameAvailability(folder, `${stem}${other}`)),
  );
  return prechecks.every((result) => result === "free");
}

/**
 * Whether the sheet gives this name to another row. This can happen if a number was added to this name, because a file
 * already had the name without the number.
 */
function isNameOfOtherRow({ plan, file }: FileJoinRequest, name: string): boolean {
  const folded = (text: string): string => text.normalize("NFC").toLowerCase();
  return plan.sections.some(
    ({ fileName }, section) =>
      section !== file.section &&
      fileName !== undefined &&
      folded(buildRequestedName(fileName, formatOfPlan(plan))) === folded(name),
  );
}

type FileOwner = Pick<FileJoinRequest, "narrationId" | "plan" | "state">;

/**
 * Checks, before anything is paid, that the file system allows the longest name that will be needed. Ignores other
 * errors of the folder, which the narration reports later.
 *
 * @throws AudioError `invalid_file_name`
 */
export async function assertRoomForNames(folder: OutputFolder, narration: FileOwner): Promise<void> {
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
 * Returns the name of a narration's file without extension: the given name or, if there is none, a name made from the
 * title and the id.
 */
export function buildFileStem(narrationId: string, plan: StoredPlan, { fileName }: NarrationState): string {
  if (fileName !== null) return fileName;
  const format = formatOfPlan(plan);
  return basename(buildAutomaticName(format, plan.title, narrationId), FILE_EXTENSIONS[format]);
}

function buildFileName({
  narrationId,
  plan,
  state,
  file,
  isComplete,
}: FileOwner & Pick<FileJoinRequest, "file" | "isComplete">): string {
  const format = formatOfPlan(plan);
  const ending = isComplete ? "" : INCOMPLETE;
  const rowName = file.section === null ? undefined : plan.sections[file.section]?.fileName;
  if (rowName !== undefined) return appendToStem(buildRequestedName(rowName, format), ending);
  const name = buildRequestedName(buildFileStem(narrationId, plan, state), format);
  if (file.section === null) return appendToStem(name, ending);
  const digits = Math.max(2, `${plan.sections.length}`.length);
  const number =
    `${plan.fileLayout === "rows" ? file.section + 1 : chapterPosition(plan.sections, file.section)}`.padStart(
      digits,
      "0",
    );
  const words = `${number}-${slugOfFirstWords(chooseChapterTitle(plan, file.section))}`;
  // Leave the narration's id out of the names of rows. After a change of one row, the other rows then keep their files.
  if (plan.fileLayout === "rows" && state.fileName === null)
    return `${words}${ending}${FILE_EXTENSIONS[format]}`;
  return appendToStem(name, `-${words}${ending}`);
}

/** Returns the title of a section. For a row of a sheet, returns its first words. */
function chooseChapterTitle(plan: StoredPlan, section: number): string {
  if (plan.fileLayout !== "rows") return plan.sections[section]?.title ?? plan.title;
  return shortenExcerpt(plan.parts.find((part) => part.section === section)?.text ?? "");
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
  const owner = await findServerSavedFile(name);
  if (owner === null || !(await isIntact(owner.file, folder.root))) return null;
  return owner.narrationId === narrationId && owner.file.section !== file.section ? null : owner;
}

async function joinParts(
  deps: JoinDeps,
  fileRequest: FileJoinRequest,
): Promise<Omit<NarrationFile, "inputFingerprint">> {
  const { folder, clock, captionFiles } = deps;
  const { plan, file, parts, isComplete, signal } = fileRequest;
  const format = formatOfPlan(plan);
  const name = buildFileName(fileRequest);
  const hasCompanions = plan.fileLayout !== "rows";
  const chapter = file.section === null ? null : chooseChapterTitle(plan, file.section);
  const title = chapter ?? plan.title;
  const chapters = chapter === null ? listChapterMarks(plan, parts) : [];
  const sources = parts.map(({ file: audio, record, partIndex }, at) => ({
    path: audio.path,
    durationSeconds: record.output?.durationSeconds ?? record.audioSeconds ?? 0,
    sampleRateHz: parseStoredFormat(record).sampleRateHz,
    pauseAfterSeconds: at === parts.length - 1 ? 0 : (plan.parts[partIndex]?.pauseAfterSeconds ?? 0),
    startSeconds: plan.parts[partIndex]?.startSeconds,
  }));
  // Load this module on first use, because only joining needs the audio formats.
  const { joinAudio } = await import("../../audio/join.ts");
  const results: Array<{ readonly joined: JoinedAudio; readonly leads: readonly number[] }> = [];
  const replaced = await findReplacedFile(deps, fileRequest, name);
  const savedFile = await saveAudio({
    folder,
    fileName: name,
    fileToReplace: replaced === null ? null : await planReplacement(folder, name, replaced.file),
    mayBeNamed: async (tried) =>
      !isNameOfOtherRow(fileRequest, tried) &&
      (!hasCompanions || (await isFreeInOtherFormats(folder, tried))),
    keepsOtherFormat: false,
    format,
    clock,
    writeAudio: async (sink) => {
      const write = (bytes: Uint8Array): Promise<void> => sink.write(bytes);
      const leads = await measureLeads(format, sources, signal);
      const placed = sources.map(({ startSeconds, ...source }, at) => ({
        ...source,
        startSeconds: startSeconds === undefined ? undefined : Math.max(0, startSeconds - (leads[at] ?? 0)),
      }));
      const tags = { title, author: plan.author, ...buildAlbumTags(plan, file) };
      const request = { ...tags, format, parts: placed, chapters, write, signal };
      results.push({ joined: await joinAudio(request), leads });
    },
  });
  // Remove the captions and chapters of the old file, because the companions of the new file need the same names.
  if (replaced !== null && replaced.companions !== null && savedFile.path === replaced.file.path)
    await removeCompanions(replaced.companions, folder.root);
  const [result] = results;
  if (result === undefined) throw new Error("nothing was joined");
  const { joined, leads } = result;
  const plannedParts = parts.map(({ partIndex }) => plan.parts[partIndex] ?? { text: "" });
  const companions = hasCompanions
    ? await saveCompanions({
        folder,
        captionFiles,
        saved: savedFile,
        format,
        title,
        sources,
        spoken: plannedParts,
        joined,
        leadingSilenceSeconds: leads,
        signal,
      })
    : { captionsFile: null, chaptersFile: null };
  const joinedIndexes = new Set(parts.map(({ partIndex }) => partIndex));
  return {
    ...savedFile,
    ...companions,
    section: file.section,
    chapterTitle: chapter,
    durationSeconds: joined.durationSeconds,
    conflictingName: basename(savedFile.path) === name ? null : name,
    isIncomplete: !isComplete,
    missingPartIndexes: file.partIndexes.filter((index) => !joinedIndexes.has(index)),
    doubtfulPartProblems: findDoubtfulParts(plan, fileRequest.state, parts, joined, leads),
  };
}

/**
 * Returns the tags by which players group the files of a book's chapters. Rows of a sheet get none, because they are
 * not an album.
 */
function buildAlbumTags(plan: StoredPlan, { section }: PlannedFile): TextTags {
  const { fileLayout, title, wholeTitle = title, sections } = plan;
  if (fileLayout !== "chapters" || section === null) return {};
  return { album: wholeTitle, track: `${section + 1}/${sections.length}` };
}

async function saveCompanions(
  request: CompanionRequest,
): Promise<Pick<NarrationFile, "captionsFile" | "chaptersFile">> {
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
  const heading = plan.sections.find(({ title }) => title !== null)?.title;
  if (heading === undefined) return [];
  return plan.sections.flatMap(({ title }, section) => {
    const firstPart = parts.findIndex(({ partIndex }) => plan.parts[partIndex]?.section === section);
    // Text before the first heading is not a chapter, unless the plan has a title of its own for it.
    if (firstPart === -1 || (title === null && plan.title === heading)) return [];
    return [{ title: title ?? plan.title, firstPart }];
  });
}
