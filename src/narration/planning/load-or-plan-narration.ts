/** Finds the narration that a call means, and plans it if it is new. */
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import { assertFileName } from "../../files/file-name.ts";
import type { NarrationInput } from "../../files/input-format.ts";
import type { OutputFolder } from "../../files/output-folder.ts";
import type { Pronunciation } from "../../pronunciation.ts";
import { secretRefusedError } from "../../redaction.ts";
import { assertRoomForNames, buildFileStem } from "../files/narration-file-names.ts";
import { findInheritedRetakes } from "../state/inherited-retakes.ts";
import type { NarrateChanges } from "../state/narration-changes.ts";
import { deriveNarrationId, isNarrationId } from "../state/narration-id.ts";
import type { NarrationRepository, NarrationWithPlan } from "../state/narration-repository.ts";
import { type StoredPlan, withRemarks } from "../state/narration-state.ts";
import type { PlanOptions } from "./build-stored-plan.ts";
import type { Edit } from "./edits.ts";

export type NarrateSource =
  /** Edits of a stored narration. They make a new narration, which shares the unchanged parts with the stored one. */
  | {
      readonly kind: "edited";
      readonly narrationId: string;
      readonly edits: readonly Edit[];
      readonly pronunciations: readonly Pronunciation[];
    }
  /** Chapters that are chosen from a stored narration. They become a new narration. */
  | { readonly kind: "chosen"; readonly narrationId: string; readonly chapters: string }
  /** A text or a file. `sourceName` is the name of the file; absent for a text. */
  | {
      readonly kind: "text";
      readonly input: NarrationInput;
      readonly sourceName?: string;
      readonly options: PlanOptions;
    }
  /**
   * A stored narration. If `mayResume` is set and the process that drove the narration has ended, the call continues
   * the narration within the `max_credits` of an earlier call.
   */
  | { readonly kind: "narration"; readonly narrationId: string; readonly mayResume?: boolean };

/** A narration. `isNew` is set if this call has planned and stored it for the first time. */
export type LoadedNarration = NarrationWithPlan & { readonly isNew?: true };

export interface LoadNarrationDeps {
  readonly repository: NarrationRepository;
  /** Base URL of the service, which is part of a narration's id. */
  readonly baseUrl: string;
  readonly folder: OutputFolder;
  readonly clock: Pick<Clock, "wallMs">;
  /** Whether a text contains the API key or a password from the settings. */
  readonly containsSecret: (text: string) => boolean;
}

/**
 * Reads a stored narration.
 *
 * @throws AudioError `invalid_request` for a text that is not an id; `not_found`, `store_unavailable`
 */
async function loadById(repository: NarrationRepository, narrationId: string): Promise<NarrationWithPlan> {
  if (isNarrationId(narrationId)) return await repository.get(narrationId);
  throw new AudioError(
    "invalid_request",
    "narration_id must be an id that narrate returned: nar_ and 32 letters and digits.",
  );
}

/** Makes the plan of a source. Loads each planner on first use, because most calls need none. */
async function planSource(
  repository: NarrationRepository,
  source: Exclude<NarrateSource, { kind: "narration" }>,
): Promise<StoredPlan> {
  if (source.kind === "text") {
    const { planWithoutBlocking } = await import("./thread/plan-without-blocking.ts");
    const plan = await planWithoutBlocking(source.input, source.options);
    return source.sourceName === undefined ? plan : { ...plan, sourceName: source.sourceName };
  }
  const { plan, state } = await loadById(repository, source.narrationId);
  const { remarks, unspoken } = state;
  const current = { ...plan, remarks, unspoken };
  if (source.kind === "chosen") {
    const { keepChosenChapters } = await import("./chosen-plan.ts");
    return keepChosenChapters(current, source.chapters);
  }
  const { applyEdits } = await import("./edits.ts");
  return applyEdits(current, source.edits, source.pronunciations, state.retakes);
}

/**
 * Returns the file name of an edited narration. It is the name of the original narration, so that the new file can
 * replace the old one.
 */
async function chooseNameOfEdit(
  repository: NarrationRepository,
  narrationId: string,
): Promise<string | null> {
  const { plan, state } = await repository.get(narrationId);
  return plan.fileLayout === "rows" ? state.fileName : buildFileStem(narrationId, plan, state);
}

/**
 * Finds the narration of a source; plans and stores it if it is new.
 *
 * @throws AudioError `invalid_request`, `not_found`, `store_unavailable`
 */
export async function loadOrPlanNarration(
  deps: LoadNarrationDeps,
  source: NarrateSource,
): Promise<LoadedNarration> {
  const { repository, baseUrl, clock, containsSecret } = deps;
  if (source.kind === "narration") return await loadById(repository, source.narrationId);
  const plan = await planSource(repository, source);
  // Check the planned text, because markup, entities or invisible characters may hide a secret in the input.
  if (containsSecret(JSON.stringify(plan))) throw secretRefusedError("The text, as it is read,");
  const narrationId = deriveNarrationId(baseUrl, plan);
  const retakes = await findInheritedRetakes(repository, plan);
  if (await repository.exists(narrationId)) {
    await repository.change(narrationId, (state) => {
      const updatedState = withRemarks(state, plan);
      // Nobody has agreed to the takes of a narration that is only planned. So replace them by the takes that other
      // narrations now have for the same parts.
      const mayInheritRetakes =
        state.status === "planned" && JSON.stringify(state.retakes) !== JSON.stringify(retakes);
      return mayInheritRetakes ? { ...updatedState, retakes } : updatedState;
    });
    return await repository.get(narrationId);
  }
  const fileName = source.kind === "edited" ? await chooseNameOfEdit(repository, source.narrationId) : null;
  await repository.insertIfAbsent(narrationId, plan, { retakes, fileName, createdAtMs: clock.wallMs() });
  return { ...(await repository.get(narrationId)), isNew: true };
}

/**
 * Finds the narration of a call, and checks its file names before anything is sent.
 *
 * @throws AudioError as {@link loadOrPlanNarration} does, and `invalid_file_name`
 */
export async function loadOrPlanWithCheckedName(
  deps: LoadNarrationDeps,
  source: NarrateSource,
  { fileName, maxCredits }: NarrateChanges,
): Promise<LoadedNarration> {
  if (fileName !== null) assertFileName(fileName);
  if (fileName !== null && deps.containsSecret(fileName)) throw secretRefusedError("The file name");
  const loadedNarration = await loadOrPlanNarration(deps, source);
  const { state } = loadedNarration;
  if (maxCredits !== null) {
    await assertRoomForNames(deps.folder, {
      ...loadedNarration,
      state: { ...state, fileName: fileName ?? state.fileName },
    });
  }
  return loadedNarration;
}
