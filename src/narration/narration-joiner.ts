/** Joins the saved parts of a narration into its files, with captions and chapters. Costs nothing, and may be repeated. */
import { createHash } from "node:crypto";
import type { JoinedAudio, JoinPart } from "../audio/join-request.ts";
import { DamagedPartError } from "../audio/part-errors.ts";
import type { TextTags } from "../audio/text-tags.ts";
import type { CaptionFiles } from "../config/settings.ts";
import type { OutputFormat } from "../contract/audio-format.ts";
import { planReplacement } from "../files/plan-replacement.ts";
import { saveAudio } from "../files/save-audio.ts";
import type { SavedFile } from "../files/saved-file.ts";
import { removeIfPresent } from "../files/temporary-file.ts";
import { listChapterFiles, type StoredProblem } from "../ledger/narration-rows.ts";
import { deleteFiles, forgetAudio, saveFiles } from "../ledger/narration-writes.ts";
import { findRequestsByFingerprint, listFiles } from "../ledger/request-rows.ts";
import type { FileRow, NarrationRow } from "../ledger/schema.ts";
import type { RequestDeps } from "../requests/deps.ts";
import { findNameOwner, findSavedAudio, toFileRow } from "../requests/saved-audio.ts";
import { parseStoredFormat } from "../requests/stored-input.ts";
import type { Companion } from "./companions.ts";
import { findDoubtfulParts } from "./doubtful-parts.ts";
import {
  buildFileName,
  chooseChapterTitle,
  isFreeInOtherFormats,
  isNameOfOtherRow,
} from "./narration-file-names.ts";
import {
  findConflictingName,
  isFileIntact,
  isIncompleteFile,
  listCompanions,
  listCurrentFiles,
  markInputs,
} from "./narration-files.ts";
import { convertJoinError, type PartState, REFETCHED_IN_VAIN } from "./part-status.ts";
import type { PlannedFile } from "./planned-files.ts";
import { getPlanFormat, type StoredPlan } from "./planning/stored-plan.ts";

/** A file that is to be joined as far as its parts are saved. */
export interface FileJoin {
  readonly narration: NarrationRow;
  readonly plan: StoredPlan;
  readonly file: PlannedFile;
  /** All parts of the narration, in reading order. */
  readonly states: readonly PartState[];
  /** Whether every part is saved or left out. */
  readonly isComplete: boolean;
  readonly mayReplace: boolean;
}

export type JoinOutcome =
  /** The file is there, as far as its parts are. */
  | { readonly kind: "joined" }
  /** Audio of a part is missing or damaged here. It counts as not saved, so that it is fetched again. */
  | { readonly kind: "refetch" }
  | { readonly kind: "parts_failed"; readonly problems: ReadonlyMap<number, StoredProblem> };

const JOINED: JoinOutcome = { kind: "joined" };
const REFETCH: JoinOutcome = { kind: "refetch" };

/** A part with its audio on this machine. */
interface AudioPart extends PartState {
  readonly audio: FileRow;
  readonly sampleRateHz: number;
}

export interface JoinDeps extends RequestDeps {
  readonly captionFiles: CaptionFiles;
}

/** Joins files for one loop of a narration. */
export class NarrationJoiner {
  readonly #deps: JoinDeps;
  readonly #signal: AbortSignal;
  /** Requests whose audio was fetched again, because it was missing or damaged. Each is fetched again at most once. */
  readonly #refetched = new Set<string>();
  /** Requests of other API keys whose audio is not usable here, so that their tasks are asked for. */
  readonly #notHere = new Set<string>();

  /** @param signal aborts when this process no longer drives the narration */
  constructor(deps: JoinDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Requests of other API keys that count as saved, although their audio is not on this machine. */
  get notHere(): ReadonlySet<string> {
    return this.#notHere;
  }

  /** Forgets which audio was fetched again, because a call asks once more. */
  reset(): void {
    this.#refetched.clear();
  }

  /**
   * Makes sure that a file is there as far as its parts are saved. Keeps a file that has the same parts and name.
   * Replaces an incomplete file by a complete one.
   *
   * @throws the AudioErrors of `saveAudio`
   */
  async join(join: FileJoin): Promise<JoinOutcome> {
    const saved = listSavedParts(join);
    const inputs = this.#hashInputs(join, saved);
    const found = await this.#findCurrent(join, saved, inputs);
    if (found.isUpToDate) return JOINED;
    const parts: AudioPart[] = [];
    const missing: PartState[] = [];
    for (const state of saved) {
      const part = await this.#findAudio(state);
      if (part === null) missing.push(state);
      else parts.push(part);
    }
    if (missing.length > 0) return await this.#refetch(missing);
    try {
      await this.#replace(join, parts, inputs, found);
      return JOINED;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const damaged = error instanceof DamagedPartError ? parts[error.partIndex] : undefined;
      if (damaged?.task !== undefined && !this.#refetched.has(damaged.task.id))
        return await this.#refetch([damaged], damaged.audio.sha256);
      const problems = convertJoinError(
        error,
        parts.map(({ part }) => part.position),
      );
      if (problems === null) throw error;
      return { kind: "parts_failed", problems };
    }
  }

  /** Whether a file is there with all parts that it can have, unchanged, and under the name that it can have. */
  async isThere(join: FileJoin): Promise<boolean> {
    const saved = listSavedParts(join);
    return (await this.#findCurrent(join, saved, this.#hashInputs(join, saved))).isUpToDate;
  }

  /** Looks for the newest file of a chapter, with everything that the ledger holds of the chapter. */
  async #findCurrent(
    { narration, plan, file, isComplete, mayReplace }: FileJoin,
    saved: readonly PartState[],
    inputs: string,
  ): Promise<FoundFile> {
    const { ledger, folder } = this.#deps;
    if (saved.length === 0) return { rows: [], current: undefined, isUpToDate: true };
    const rows = await listChapterFiles(ledger, narration.id, file.chapterIndex);
    const [current] = listCurrentFiles(rows);
    if (current === undefined || !(await isFileIntact(current, folder.root)))
      return { rows, current: undefined, isUpToDate: false };
    // An incomplete file never replaces a complete one.
    if (!isComplete && !isIncompleteFile(current)) return { rows, current, isUpToDate: true };
    const isToRename = mayReplace && findConflictingName(current, narration, plan) !== null;
    if (current.inputs !== inputs || isToRename) return { rows, current, isUpToDate: false };
    const companions = listCompanions(rows, current);
    const areIntact = await Promise.all(companions.map((row) => isFileIntact(row, folder.root)));
    return { rows, current, isUpToDate: areIntact.every((isIntact) => isIntact) };
  }

  /** Hashes everything that a file depends on: its audio, pauses, name and captions. */
  #hashInputs({ plan, narration, file, isComplete }: FileJoin, saved: readonly PartState[]): string {
    const hash = createHash("sha256");
    hash.update(JSON.stringify([file.chapterIndex, narration.file_name, this.#deps.captionFiles]));
    for (const { part, task } of saved) {
      const { pauseAfterSeconds, startSeconds } = plan.parts[part.position] ?? {};
      hash.update(JSON.stringify([part.position, task?.task_id, pauseAfterSeconds, startSeconds]));
    }
    return markInputs(hash.digest("hex"), isComplete);
  }

  async #findAudio(state: PartState): Promise<AudioPart | null> {
    const owners = await findRequestsByFingerprint(this.#deps.ledger, state.part.fingerprint);
    const usable = owners.filter(({ id }) => !this.#notHere.has(id));
    const audio = await findSavedAudio(this.#deps, usable, null);
    const owner = usable.find(({ id }) => id === audio?.owner);
    if (audio === null || owner === undefined) return null;
    return { ...state, audio, sampleRateHz: parseStoredFormat(owner).sampleRateHz };
  }

  /** Lets audio be fetched again, free of charge. What was fetched again in vain is a problem of its part. */
  async #refetch(states: readonly PartState[], damagedSha256: string | null = null): Promise<JoinOutcome> {
    const { ledger } = this.#deps;
    const problems = new Map<number, StoredProblem>();
    for (const { part, task } of states) {
      if (task === undefined || this.#refetched.has(task.id)) {
        problems.set(part.position, REFETCHED_IN_VAIN);
        continue;
      }
      this.#refetched.add(task.id);
      if (task.api_key_id === ledger.identity.apiKeyId) await forgetAudio(ledger, task, damagedSha256);
      else this.#notHere.add(task.id);
    }
    return problems.size === 0 ? REFETCH : { kind: "parts_failed", problems };
  }

  /** Joins a file and removes the one that it makes needless. */
  async #replace(
    join: FileJoin,
    parts: readonly AudioPart[],
    inputs: string,
    { rows, current }: FoundFile,
  ): Promise<void> {
    const { narration, plan, isComplete, mayReplace } = join;
    // Remove the old incomplete file before the new one is saved, so that the new one gets the same name.
    const isOutdated = current !== undefined && isIncompleteFile(current);
    if (isOutdated && !isComplete) await this.#removeFile(current, rows);
    const joined = await this.#writeFile(join, parts, inputs, rows);
    if (current === undefined || current.path === joined.path) return;
    const isRenamed =
      mayReplace &&
      current.sha256 === joined.sha256 &&
      findConflictingName(current, narration, plan) !== null;
    if ((isOutdated && isComplete) || isRenamed) await this.#removeFile(current, rows);
  }

  /** Removes an unchanged file with those of its companions that are unchanged, and forgets them. */
  async #removeFile(file: FileRow, rows: readonly FileRow[]): Promise<void> {
    const files = [file, ...listCompanions(rows, file)];
    await this.#removeIntact(files);
    await deleteFiles(this.#deps.ledger, files);
  }

  async #removeIntact(files: readonly FileRow[]): Promise<void> {
    for (const file of files)
      if (await isFileIntact(file, this.#deps.folder.root)) await removeIfPresent(file.path);
  }

  /**
   * Finds the older file whose name the joined file may take; `null` if there is none. The older file must be unchanged,
   * and must have been saved by this server: the last owner of a name gives it up. Two files of one narration never
   * take each other's name.
   */
  async #findReplaced(
    { narration, file, isComplete, mayReplace }: FileJoin,
    name: string,
  ): Promise<FileRow | null> {
    if (!mayReplace || !isComplete) return null;
    const owner = await findNameOwner(this.#deps, name);
    const isOtherFile = owner?.owner === narration.id && owner.chapter !== file.chapterIndex;
    return isOtherFile ? null : owner;
  }

  /** Joins parts to a file under its name, or the next free one. Returns the row of the file. */
  async #writeFile(
    join: FileJoin,
    parts: readonly AudioPart[],
    inputs: string,
    rows: readonly FileRow[],
  ): Promise<FileRow> {
    const { folder, clock, ledger } = this.#deps;
    const { narration, plan, file, isComplete } = join;
    const format = getPlanFormat(plan);
    const fileToName = { narrationId: narration.id, plan, fileName: narration.file_name, file, isComplete };
    const name = buildFileName(fileToName);
    const hasCompanions = plan.fileLayout !== "rows";
    const replaced = await this.#findReplaced(join, name);
    const content = await this.#prepare(join, parts);
    const results: JoinedAudio[] = [];
    const saved = await saveAudio({
      folder,
      fileName: name,
      fileToReplace:
        replaced === null
          ? null
          : await planReplacement(folder, name, { sizeBytes: replaced.size_bytes, sha256: replaced.sha256 }),
      mayBeNamed: async (tried) =>
        !isNameOfOtherRow(fileToName, tried) &&
        (!hasCompanions || (await isFreeInOtherFormats(folder, tried))),
      mayKeepWrongFormat: false,
      format,
      clock,
      writeAudio: async (sink) => {
        results.push(await content.writeAudio((bytes) => sink.write(bytes)));
      },
    });
    const [joined] = results;
    if (joined === undefined) throw new Error("nothing was joined");
    if (replaced !== null && replaced.path === saved.path) await this.#giveUpName(replaced, narration.id);
    const companions = hasCompanions ? await this.#saveCompanions(saved, plan, parts, content, joined) : [];
    const present = new Set(parts.map(({ part }) => part.position));
    const audio: FileRow = {
      ...toFileRow(narration.id, saved),
      chapter: file.chapterIndex,
      inputs,
      // The newest file of a chapter is the current one, whatever the clock says.
      saved_at_ms: Math.max(saved.savedAtMs, ...rows.map((row) => row.saved_at_ms + 1)),
      seconds: joined.durationSeconds,
      lacks: JSON.stringify(file.partIndexes.filter((index) => !present.has(index))),
      doubtful: JSON.stringify(findDoubtfulParts(plan, parts, joined, content.leadSeconds)),
    };
    const beside = companions.map(({ kind, file: { path, sizeBytes, sha256 } }) => ({
      ...audio,
      ...{ kind, path, size_bytes: sizeBytes, sha256, seconds: null, lacks: null, doubtful: null },
    }));
    await saveFiles(ledger, [audio, ...beside]);
    return audio;
  }

  /** Removes what lies beside a replaced file, because the companions of the new file need the same names. */
  async #giveUpName(replaced: FileRow, narrationId: string): Promise<void> {
    const { ledger } = this.#deps;
    const companions = listCompanions(await listFiles(ledger, [replaced.owner]), replaced);
    await this.#removeIntact(companions);
    // Another owner keeps its rows: it says that its file is not there any more.
    if (replaced.owner === narrationId) await deleteFiles(ledger, [replaced, ...companions]);
  }

  /** Prepares the content of a file, so that it can be written. */
  async #prepare({ plan, file }: FileJoin, parts: readonly AudioPart[]): Promise<FileContent> {
    const format = getPlanFormat(plan);
    const chapter = file.chapterIndex === null ? null : chooseChapterTitle(plan, file.chapterIndex);
    const title = chapter ?? plan.title;
    const sources = parts.map(({ audio, part, task, sampleRateHz }, index): JoinPart => {
      const { pauseAfterSeconds = 0, startSeconds } = plan.parts[part.position] ?? {};
      return {
        path: audio.path,
        durationSeconds: task?.output_seconds ?? task?.audio_seconds ?? 0,
        sampleRateHz,
        pauseAfterSeconds: index === parts.length - 1 ? 0 : pauseAfterSeconds,
        startSeconds,
      };
    });
    // Load this module on first use, because only joining needs the audio formats.
    const { joinAudio } = await import("../audio/join.ts");
    const leadSeconds = await measureLeads(format, sources, this.#signal);
    const placed = sources.map(({ startSeconds, ...source }, index) => ({
      ...source,
      startSeconds:
        startSeconds === undefined ? undefined : Math.max(0, startSeconds - (leadSeconds[index] ?? 0)),
    }));
    const tags = { title, author: plan.author, ...buildAlbumTags(plan, file) };
    const chapters = chapter === null ? listChapterMarks(plan, parts) : [];
    const signal = this.#signal;
    return {
      title,
      sources,
      leadSeconds,
      writeAudio: (write) => joinAudio({ ...tags, format, parts: placed, chapters, write, signal }),
    };
  }

  async #saveCompanions(
    saved: SavedFile,
    plan: StoredPlan,
    parts: readonly AudioPart[],
    { title, sources, leadSeconds }: FileContent,
    joined: JoinedAudio,
  ): Promise<Companion[]> {
    const { makeCompanions } = await import("./companions.ts");
    return await makeCompanions({
      folder: this.#deps.folder,
      captionFiles: this.#deps.captionFiles,
      saved,
      format: getPlanFormat(plan),
      title,
      sources,
      plannedParts: parts.map(({ part }) => plan.parts[part.position] ?? { text: "" }),
      joined,
      leadingSilenceSeconds: leadSeconds,
      signal: this.#signal,
    });
  }
}

/** The newest file of a chapter. */
interface FoundFile {
  /** All files of the chapter, the newest first. */
  readonly rows: readonly FileRow[];
  /** `undefined` if it was deleted or changed. */
  readonly current: FileRow | undefined;
  /** Whether nothing has to be joined. */
  readonly isUpToDate: boolean;
}

const listSavedParts = ({ file, states }: FileJoin): PartState[] =>
  file.partIndexes.flatMap((index) => {
    const state = states[index];
    return state?.status === "saved" ? [state] : [];
  });

/** What is written into a file. */
interface FileContent {
  readonly title: string;
  readonly sources: readonly JoinPart[];
  /** Seconds of silence at the start of each part of a timeline; empty for narrations without a timeline. */
  readonly leadSeconds: readonly number[];
  readonly writeAudio: (write: (bytes: Uint8Array) => Promise<void>) => Promise<JoinedAudio>;
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

async function measureLeads(
  format: OutputFormat,
  sources: readonly JoinPart[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (sources.every(({ startSeconds }) => startSeconds === undefined)) return [];
  const { findLeadingSilences } = await import("../audio/captions/leading-silence.ts");
  return await findLeadingSilences(format, sources, signal);
}

/** Lists the chapters, each with its first part. Returns an empty list for a text without headings. */
function listChapterMarks(
  plan: StoredPlan,
  parts: readonly AudioPart[],
): Array<{ readonly title: string; readonly firstPart: number }> {
  const heading = plan.chapters.find(({ title }) => title !== null)?.title;
  if (heading === undefined) return [];
  return plan.chapters.flatMap(({ title }, chapterIndex) => {
    const firstPart = parts.findIndex(({ part }) => plan.parts[part.position]?.chapterIndex === chapterIndex);
    // The text before the first heading is a chapter with the plan's title. If the plan's title is the first heading,
    // list no chapter for this text, because two chapters would have the same title.
    if (firstPart === -1 || (title === null && plan.title === heading)) return [];
    return [{ title: title ?? plan.title, firstPart }];
  });
}
