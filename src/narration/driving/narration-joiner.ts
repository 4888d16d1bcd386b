/** Joins parts into the files of one narration, for its driver. Remembers how joining went for each file. */
import { DamagedPartError } from "../../audio/part-errors.ts";
import { AudioError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { PartOperations, PartRequest } from "../../requests/use-cases/generate-part.ts";
import type { FileJoiner } from "../files/joined-files.ts";
import { listPlannedFiles } from "../files/planned-files.ts";
import { hasChangedChoice } from "../state/narration-changes.ts";
import type { NarrationRepository } from "../state/narration-repository.ts";
import type {
  NarrationFile,
  NarrationProblem,
  NarrationState,
  StoredPlan,
} from "../state/narration-state.ts";
import { buildPartRequest, type IndexedPart } from "../state/part-request.ts";
import { derivePartStatus } from "../state/part-summary.ts";
import type { DriverStep, FileProgress } from "./driver-step.ts";
import { buildPartProblem } from "./make-part.ts";
import { buildUnusableAudioProblem, concernsOnePart, convertJoinError } from "./part-problems.ts";

export interface NarrationJoinerDeps {
  readonly repository: NarrationRepository;
  readonly partOperations: PartOperations;
  readonly fileJoiner: FileJoiner;
  readonly log: Log;
}

/** Why the audio of a part cannot be joined now. */
type UnavailablePart =
  /** The part's audio is missing, so the part no longer counts as saved. */
  | { readonly kind: "part_missing"; readonly partIndex: number }
  | { readonly kind: "parts_failed"; readonly problems: readonly NarrationProblem[] };

export type JoinOutcome =
  /** The file is joined. `state` is the stored state that includes the file. */
  | { readonly kind: "joined"; readonly state: NarrationState }
  | UnavailablePart
  /** The error concerns the whole narration. */
  | { readonly kind: "failed"; readonly error: unknown }
  /**
   * Nothing was joined. Either a damaged part was downloaded again, so that the file can now be joined, or the signal
   * has aborted.
   */
  | { readonly kind: "unchanged" };

/**
 * Joins the saved parts of one narration into files. Remembers for each file how the join went, until
 * {@link NarrationJoiner.reset} is called. Downloads damaged audio of a part again, free of charge. Also downloads
 * missing audio, but only to join a complete file.
 */
export class NarrationJoiner {
  readonly #deps: NarrationJoinerDeps;
  readonly #narrationId: string;
  readonly #signal: AbortSignal;
  #progress: FileProgress[] = [];
  /**
   * Parts whose audio was downloaded again because it was missing or damaged. Each part is downloaded again at most
   * once.
   */
  readonly #downloadedAgain = new Set<number>();

  /** @param signal aborts when this process no longer drives the narration */
  constructor(deps: NarrationJoinerDeps, narrationId: string, signal: AbortSignal) {
    this.#deps = deps;
    this.#narrationId = narrationId;
    this.#signal = signal;
  }

  get progress(): readonly FileProgress[] {
    return this.#progress;
  }

  /** Forgets how joining went, because the parts were inspected again. */
  reset(plan: StoredPlan): void {
    this.#progress = listPlannedFiles(plan).map(({ partIndexes }) => ({ partIndexes, joinResult: null }));
    this.#downloadedAgain.clear();
  }

  /**
   * Joins the saved parts of one file, and stores the file in the narration's state.
   *
   * @param state the state at the last inspection of the parts
   */
  async join(
    plan: StoredPlan,
    state: NarrationState,
    step: Extract<DriverStep, { kind: "join" }>,
  ): Promise<JoinOutcome> {
    const { partIndexes: savedPartIndexes, isComplete } = step;
    const file = listPlannedFiles(plan)[step.fileIndex];
    if (file === undefined) return { kind: "unchanged" };
    const { partIndexes } = file;
    try {
      const sources: IndexedPart[] = [];
      for (const partIndex of savedPartIndexes) {
        const audio = await this.#findAudio(partIndex, buildPartRequest(plan, state, partIndex), isComplete);
        if (audio.kind !== "found") return audio;
        sources.push(audio.source);
      }
      const joinedFile = await this.#deps.fileJoiner.join({
        narrationId: this.#narrationId,
        plan,
        state,
        file,
        parts: sources,
        isComplete,
        signal: this.#signal,
      });
      // Record the joined file even if a call has changed the narration during the joining, because a later join can
      // replace only recorded files.
      const newState = await this.#deps.repository.change(this.#narrationId, (before) => ({
        ...before,
        files: withFile(before.files, joinedFile),
      }));
      if (!hasChangedChoice(state, newState))
        this.#progress[step.fileIndex] = { partIndexes, joinResult: isComplete ? "complete" : "incomplete" };
      return { kind: "joined", state: newState };
    } catch (error) {
      if (this.#signal.aborted) return { kind: "unchanged" };
      const damagedPart = error instanceof DamagedPartError ? savedPartIndexes[error.partIndex] : undefined;
      if (damagedPart !== undefined && !this.#downloadedAgain.has(damagedPart)) {
        await this.#replaceAudio(damagedPart, buildPartRequest(plan, state, damagedPart));
        return { kind: "unchanged" };
      }
      const problems = convertJoinError(error, savedPartIndexes);
      if (problems !== null) return { kind: "parts_failed", problems };
      this.#progress[step.fileIndex] = { partIndexes, joinResult: "failed" };
      return { kind: "failed", error };
    }
  }

  /**
   * Finds the audio of a saved part. If the audio was deleted and `mayDownload` is `true`, downloads the audio again,
   * free of charge.
   */
  async #findAudio(
    partIndex: number,
    request: PartRequest,
    mayDownload: boolean,
  ): Promise<{ readonly kind: "found"; readonly source: IndexedPart } | UnavailablePart> {
    const { partOperations } = this.#deps;
    const savedPart = await partOperations.findSaved(request);
    if (savedPart !== null) return { kind: "found", source: { partIndex, ...savedPart } };
    const record = await partOperations.findRecord(request);
    if (this.#downloadedAgain.has(partIndex)) {
      const problem = buildUnusableAudioProblem(
        "Its audio was fetched again, and cannot be read all the same.",
        partIndex,
      );
      return { kind: "parts_failed", problems: [problem] };
    }
    this.#downloadedAgain.add(partIndex);
    if (!mayDownload || derivePartStatus(record) !== "saved") return { kind: "part_missing", partIndex };
    try {
      const call = { signal: this.#signal, narrationId: this.#narrationId };
      return { kind: "found", source: { partIndex, ...(await partOperations.generate(request, call)) } };
    } catch (error) {
      if (!(error instanceof AudioError && concernsOnePart(error))) throw error;
      const problem = buildPartProblem(await partOperations.findRecord(request), partIndex, error);
      return { kind: "parts_failed", problems: [problem] };
    }
  }

  /** Downloads a damaged part again. The present file stays until the new one is saved. */
  async #replaceAudio(partIndex: number, request: PartRequest): Promise<void> {
    this.#downloadedAgain.add(partIndex);
    const call = { signal: this.#signal, narrationId: this.#narrationId, mustDownload: true };
    await this.#deps.partOperations.generate(request, call).catch((error: unknown) => {
      // Only log the error, because the next join reports the part as damaged.
      this.#deps.log.debug(`a damaged part could not be fetched again: ${String(error)}`);
    });
  }
}

/** Adds a joined file to the files of a narration, in reading order. It replaces the former file of its chapter. */
const withFile = (files: readonly NarrationFile[], joinedFile: NarrationFile): NarrationFile[] =>
  [...files.filter(({ chapterIndex }) => chapterIndex !== joinedFile.chapterIndex), joinedFile].sort(
    (one, other) => (one.chapterIndex ?? 0) - (other.chapterIndex ?? 0),
  );
