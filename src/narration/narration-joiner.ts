/** Joins the saved parts of a narration into its files, with captions and chapters. Costs nothing, and may be repeated. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { JoinedAudio, JoinPart } from "../audio/join-request.ts";
import { DamagedPartError } from "../audio/part-errors.ts";
import type { OutputFormat } from "../contract/audio-format.ts";
import type { FileDigest } from "../files/file-content.ts";
import { planReplacement } from "../files/replace.ts";
import { saveAudio } from "../files/save-audio.ts";
import { removeIfPresent } from "../files/temporary-file.ts";
import { deleteFiles, findFilesAt, listChapterFiles, listFiles, saveFiles } from "../ledger/file-rows.ts";
import type { StoredProblem } from "../ledger/narration-rows.ts";
import { findRequestsByFingerprint, forgetAudio } from "../ledger/request-rows.ts";
import type { FileRow, NarrationRow, PartRow, RequestRow } from "../ledger/schema.ts";
import { findSavedAudio, isShort, toFileRow, toSavedFile } from "../requests/saved-audio.ts";
import { parseStoredFormat } from "../requests/stored-input.ts";
import type { SpokenPart } from "./companions.ts";
import { findDoubtfulParts } from "./doubtful-parts.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import {
  buildFileName,
  chooseChapterTitle,
  isFreeInOtherFormats,
  isNameOfOtherRow,
} from "./narration-file-names.ts";
import {
  findConflictingName,
  findReplaceable,
  isFileIntact,
  isIncompleteFile,
  listAllBeside,
  listCompanions,
  listCurrentFiles,
  markInputs,
} from "./narration-files.ts";
import { convertJoinError, type PartState, REFETCHED_IN_VAIN } from "./part-status.ts";
import { getPlannedPart } from "./parts.ts";
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

/**
 * What joining a file has come to. `there`: the file is there, as far as its parts are. `refetch`: audio of a part is
 * missing or damaged here, so that it counts as not saved and is fetched again. Otherwise, the problems of parts that
 * cannot be joined.
 */
export type JoinOutcome = "there" | "refetch" | ReadonlyMap<PartRow, StoredProblem>;

/** A part with its audio on this machine. */
interface AudioPart extends PartState, SpokenPart {
  readonly audio: FileRow;
}

/** Joins files for one loop of a narration. */
export class NarrationJoiner {
  readonly #deps: NarrationDeps;
  readonly #signal: AbortSignal;
  /** Requests whose audio was fetched again, because it was missing or damaged. Each is fetched again at most once. */
  readonly #refetched = new Set<string>();
  /** Requests of other API keys whose audio is not usable here, so that their tasks are asked for. */
  readonly #notHere = new Set<string>();

  /** @param signal aborts when this process no longer drives the narration */
  constructor(deps: NarrationDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Requests of other API keys that count as saved, although their audio is not on this machine. */
  get notHere(): ReadonlySet<string> {
    return this.#notHere;
  }

  /**
   * Makes sure that a file is there as far as its parts are saved. Keeps a file that has the same parts and name.
   * Replaces an incomplete file by a complete one.
   *
   * @throws the AudioErrors of `saveAudio`
   */
  async join(join: FileJoin): Promise<JoinOutcome> {
    const found = await this.#look(join);
    if (found.isUpToDate) return "there";
    if (found.short.length > 0) return await this.#refetch(found.short);
    const parts: AudioPart[] = [];
    const missing: PartState[] = [];
    for (const state of found.saved) {
      const part = await this.#findAudio(state, join.plan);
      if (part === null) missing.push(state);
      else parts.push(part);
    }
    if (missing.length > 0) return await this.#refetch(missing);
    try {
      await this.#replace(join, parts, found);
      return "there";
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const damaged = error instanceof DamagedPartError ? parts[error.partIndex] : undefined;
      if (damaged?.task !== undefined && !this.#refetched.has(damaged.task.id))
        return await this.#refetch([damaged], damaged.audio.sha256);
      const rows = parts.map(({ part }) => part);
      const problems = convertJoinError(error, rows);
      if (problems === null) throw error;
      return problems;
    }
  }

  /** Whether a file is there with all parts that it can have, unchanged, and under the name that it can have. */
  async isThere(join: FileJoin): Promise<boolean> {
    return (await this.#look(join)).isUpToDate;
  }

  /** Looks for the newest file of a chapter, with everything that the ledger holds of the chapter. */
  async #look({ narration, plan, file, states, isComplete, mayReplace }: FileJoin): Promise<FoundFile> {
    const { ledger, folder, captionFiles } = this.#deps;
    const saved = file.partIndexes.flatMap((index) => {
      const state = states[index];
      return state?.status === "saved" ? [state] : [];
    });
    // Everything that a file depends on: its audio, pauses, name and captions.
    const hash = createHash("sha256");
    hash.update(JSON.stringify([file.chapterIndex, narration.file_name, captionFiles]));
    for (const { part, task } of saved) {
      const { pauseAfterSeconds, startSeconds } = getPlannedPart(plan, part.position);
      hash.update(JSON.stringify([part.position, task?.task_id, pauseAfterSeconds, startSeconds]));
    }
    const ids = saved.flatMap(({ task }) => task?.id ?? []);
    const shortFiles = (await listFiles(ledger, ids)).filter(isShort);
    for (const { sha256 } of shortFiles) hash.update(sha256);
    // Audio that is shorter than the service stated is downloaded again once in each run.
    const isToFetch = ({ id }: Pick<RequestRow, "id">): boolean =>
      !this.#refetched.has(id) && shortFiles.some(({ owner }) => owner === id);
    const short = saved.filter(({ task }) => task !== undefined && isToFetch(task));
    const inputs = markInputs(hash.digest("hex"), isComplete);
    const rows = saved.length === 0 ? [] : await listChapterFiles(ledger, narration.id, file.chapterIndex);
    const [current] = listCurrentFiles(rows);
    const found = { saved, short, inputs, rows };
    if (short.length > 0) return { ...found, current: undefined, isUpToDate: false };
    if (saved.length === 0) return { ...found, current: undefined, isUpToDate: true };
    if (current === undefined || !(await isFileIntact(current, folder.root)))
      return { ...found, current: undefined, isUpToDate: false };
    // An incomplete file never replaces a complete one.
    if (!isComplete && !isIncompleteFile(current)) return { ...found, current, isUpToDate: true };
    const isToRename = mayReplace && findConflictingName(current, narration, plan) !== null;
    if (current.inputs !== inputs || isToRename) return { ...found, current, isUpToDate: false };
    const companions = listCompanions(rows, current);
    const areIntact = await Promise.all(companions.map((row) => isFileIntact(row, folder.root)));
    const hasCaptions = !hasCompanions(plan) || companions.some(({ kind }) => kind === "captions");
    return { ...found, current, isUpToDate: hasCaptions && areIntact.every((isIntact) => isIntact) };
  }

  async #findAudio(state: PartState, plan: StoredPlan): Promise<AudioPart | null> {
    const { part, task } = state;
    const owners = await findRequestsByFingerprint(this.#deps.ledger, part.fingerprint);
    const usable = owners.filter(({ id }) => !this.#notHere.has(id));
    const audio = await findSavedAudio(this.#deps, usable, null);
    const owner = usable.find(({ id }) => id === audio?.owner);
    if (audio === null || owner === undefined) return null;
    const planned = getPlannedPart(plan, part.position);
    const { pauseAfterSeconds, startSeconds } = planned;
    const source = {
      path: audio.path,
      durationSeconds: audio.seconds ?? task?.output_seconds ?? task?.audio_seconds ?? 0,
      sampleRateHz: parseStoredFormat(owner).sampleRateHz,
      pauseAfterSeconds,
      startSeconds,
    };
    return { ...state, audio, planned, source };
  }

  /** Lets audio be fetched again, free of charge. What was fetched again in vain is a problem of its part. */
  async #refetch(states: readonly PartState[], damagedSha256: string | null = null): Promise<JoinOutcome> {
    const { ledger } = this.#deps;
    const problems = new Map<PartRow, StoredProblem>();
    for (const { part, task } of states) {
      if (task === undefined || this.#refetched.has(task.id)) {
        problems.set(part, REFETCHED_IN_VAIN);
        continue;
      }
      this.#refetched.add(task.id);
      if (task.api_key_id === ledger.identity.apiKeyId) await forgetAudio(ledger, task, damagedSha256);
      else this.#notHere.add(task.id);
    }
    return problems.size === 0 ? "refetch" : problems;
  }

  /** Joins a file and removes the one that it makes needless. */
  async #replace(
    join: FileJoin,
    parts: readonly AudioPart[],
    { inputs, rows, current }: FoundFile,
  ): Promise<void> {
    const { narration, plan, isComplete, mayReplace } = join;
    // Remove the old incomplete file before the new one is saved, so that the new one gets the same name.
    const isOutdated = current !== undefined && isIncompleteFile(current);
    if (isOutdated && !isComplete) await this.#removeFile(current, rows);
    const written = await this.#writeFile(join, parts, inputs, rows);
    const [joined] = written;
    if (current === undefined || current.path === joined.path) return;
    const isRenamed =
      mayReplace &&
      current.sha256 === joined.sha256 &&
      findConflictingName(current, narration, plan) !== null;
    if ((isOutdated && isComplete) || isRenamed) await this.#removeFile(current, rows, written);
  }

  /**
   * Removes an unchanged file with what lies beside it unchanged, and forgets them.
   *
   * @param kept files that were written since `rows` were read; captions may have kept the path of the old ones
   */
  async #removeFile(file: FileRow, rows: readonly FileRow[], kept: readonly FileRow[] = []): Promise<void> {
    const keptPaths = new Set(kept.map(({ path }) => path));
    const files = [file, ...listAllBeside(rows, file)].filter(({ path }) => !keptPaths.has(path));
    await this.#removeIntact(files);
    await deleteFiles(this.#deps.ledger, files);
  }

  async #removeIntact(files: readonly FileRow[]): Promise<void> {
    for (const file of files)
      if (await isFileIntact(file, this.#deps.folder.root)) await removeIfPresent(file.path);
  }

  /** Joins parts to a file under its name, or the next free one. Returns the row of the audio, then what lies beside it. */
  async #writeFile(
    join: FileJoin,
    parts: readonly AudioPart[],
    inputs: string,
    rows: readonly FileRow[],
  ): Promise<[FileRow, ...FileRow[]]> {
    const { folder, clock, ledger } = this.#deps;
    const { narration, plan, file, isComplete, mayReplace } = join;
    const name = buildFileName(join);
    const target = { owner: narration.id, chapter: file.chapterIndex };
    const replaced = mayReplace && isComplete ? await findReplaceable(this.#deps, target, name) : null;
    const sources = parts.map(({ source }, index) =>
      index === parts.length - 1 ? { ...source, pauseAfterSeconds: 0 } : source,
    );
    const content = buildContent(join, parts);
    // Load these modules on first use, because only joining needs the audio formats.
    const { joinAudio } = await import("../audio/join.ts");
    const leadSeconds = await measureLeads(content.format, sources, this.#signal);
    const placed = sources.map(({ startSeconds, ...source }, index) => ({
      ...source,
      startSeconds:
        startSeconds === undefined ? undefined : Math.max(0, startSeconds - (leadSeconds[index] ?? 0)),
    }));
    const request = { ...content, parts: placed, signal: this.#signal };
    const results: JoinedAudio[] = [];
    const saved = await saveAudio({
      folder,
      fileName: name,
      fileToReplace: replaced && (await planReplacement(folder, name, toSavedFile(replaced))),
      mayBeNamed: async (tried) =>
        !isNameOfOtherRow(join, tried) &&
        (!hasCompanions(plan) || (await isFreeInOtherFormats(folder, tried))),
      mayKeepWrongFormat: false,
      format: content.format,
      clock,
      writeAudio: async (sink) => {
        results.push(await joinAudio({ ...request, write: (bytes) => sink.write(bytes) }));
      },
    });
    const [joined] = results;
    if (joined === undefined) throw new Error("nothing was joined");
    if (replaced !== null && replaced.path === saved.path) await this.#giveUpName(replaced, narration.id);
    if (join.mayReplace) await this.#removeLeftovers(narration.id, saved);
    const present = new Set(parts.map(({ part }) => part.position));
    const audio: FileRow = {
      ...toFileRow(narration.id, saved),
      chapter: file.chapterIndex,
      inputs,
      // The newest file of a chapter is the current one, whatever the clock says.
      saved_at_ms: Math.max(saved.savedAtMs, ...rows.map((row) => row.saved_at_ms + 1)),
      seconds: joined.durationSeconds,
      lacks: JSON.stringify(file.partIndexes.filter((index) => !present.has(index))),
      doubtful: JSON.stringify(findDoubtfulParts(plan, parts, joined, leadSeconds)),
    };
    const { saveCompanions } = await import("./companions.ts");
    const companions = hasCompanions(plan)
      ? await saveCompanions(this.#deps, basename(saved.path), request, parts, joined, leadSeconds)
      : [];
    const nothing = { seconds: null, lacks: null, doubtful: null };
    const written = [audio, ...companions.map((row) => ({ ...audio, ...row, ...nothing }))] as const;
    await saveFiles(ledger, written);
    return [...written];
  }

  /** Removes what lies beside a replaced file, because the companions of the new file need the same names. */
  async #giveUpName(replaced: FileRow, narrationId: string): Promise<void> {
    const { ledger } = this.#deps;
    const beside = listAllBeside(await listFiles(ledger, [replaced.owner]), replaced);
    await this.#removeIntact(beside);
    // Another owner keeps its rows: it says that its file is not there any more.
    if (replaced.owner === narrationId) await deleteFiles(ledger, [replaced, ...beside]);
  }

  /** Finishes what a crash interrupted between the replacement of the audio and that of what lies beside it. */
  async #removeLeftovers(narrationId: string, { path, sha256 }: FileDigest & { readonly path: string }) {
    for (const row of await findFilesAt(this.#deps.ledger, path))
      if (row.sha256 !== sha256) await this.#giveUpName(row, narrationId);
  }
}

/** The rows of a sheet are single sentences, which need no captions. */
const hasCompanions = ({ fileLayout }: StoredPlan): boolean => fileLayout !== "rows";

/** The newest file of a chapter. */
interface FoundFile {
  /** The parts that it can have. */
  readonly saved: readonly PartState[];
  /** Those whose audio is shorter than stated, and was not downloaded again in this run. */
  readonly short: readonly PartState[];
  /** What it is made of, as a hash. */
  readonly inputs: string;
  /** All files of the chapter, the newest first. */
  readonly rows: readonly FileRow[];
  /** `undefined` if it was deleted or changed. */
  readonly current: FileRow | undefined;
  /** Whether nothing has to be joined. */
  readonly isUpToDate: boolean;
}

/**
 * Builds what is written beside the audio: tags and chapters. Players group the chapter files of a book by album and
 * track. The rows of a sheet get none, because they do not form an album.
 */
function buildContent({ plan, file: { chapterIndex } }: FileJoin, parts: readonly AudioPart[]) {
  const { title, author, wholeTitle = title, fileLayout, chapters } = plan;
  const format = getPlanFormat(plan);
  if (chapterIndex === null) return { format, title, author, chapters: listChapterMarks(plan, parts) };
  const album = { album: wholeTitle, track: `${chapterIndex + 1}/${chapters.length}` };
  return {
    format,
    title: chooseChapterTitle(plan, chapterIndex),
    author,
    ...(fileLayout === "chapters" ? album : {}),
    chapters: [],
  };
}

async function measureLeads(
  format: OutputFormat,
  sources: readonly JoinPart[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (sources.every(({ startSeconds }) => startSeconds === undefined)) return [];
  const { findLeadingSilences } = await import("../audio/captions/silences.ts");
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
    const firstPart = parts.findIndex(({ planned }) => planned.chapterIndex === chapterIndex);
    // The text before the first heading is a chapter with the plan's title. If the plan's title is the first heading,
    // list no chapter for this text, because two chapters would have the same title.
    if (firstPart === -1 || (title === null && plan.title === heading)) return [];
    return [{ title: title ?? plan.title, firstPart }];
  });
}
