/** Computes a narration's state after the changes of a call, or a preview with the chosen retakes. Stores nothing. */
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { applyRetakes, type Retake } from "./retakes.ts";

/** Settings that each call may change. Changing them does not make another narration. */
export interface NarrateChanges {
  /** The limit of the narration's total cost; `null` if this call allows no new cost. */
  readonly maxCredits: number | null;
  /** Whether to stop creating tasks. */
  readonly shouldStop: boolean;
  readonly retakes: readonly Retake[];
  /** Whether failed parts are skipped; `null` keeps the earlier choice. */
  readonly shouldSkipFailed: boolean | null;
  /**
   * Whether the narration's files may replace files that have the same names and were saved by this server. The choice
   * applies to this call only.
   */
  readonly mayReplace: boolean;
  readonly fileName: string | null;
}

const STOPPED_PROBLEM = {
  partIndex: null,
  code: "stopped",
  message: "It was stopped, as asked for.",
} as const;

/** Returns the state after a call that requests the narration's audio. */
export function withNarrateCall(
  before: NarrationState,
  changes: NarrateChanges,
  plan: StoredPlan,
): NarrationState {
  return withResume({
    ...applyRetakes(before, plan, changes.retakes),
    shouldSkipFailed: changes.shouldSkipFailed ?? before.shouldSkipFailed,
    mayReplace: changes.mayReplace,
    fileName: changes.fileName ?? before.fileName,
    maxCredits: changes.maxCredits ?? before.maxCredits,
  });
}

/** Returns the state with the status `running` and unchanged choices, so that a driver works on the narration. */
export const withResume = (before: NarrationState): NarrationState => ({
  ...before,
  startCount: before.startCount + 1,
  status: "running",
  problems: [],
});

/** Returns the state after a call with `stop: true`. */
export const withStop = (before: NarrationState): NarrationState =>
  before.status === "running" ? { ...before, status: "stopped", problems: [STOPPED_PROBLEM] } : before;

/**
 * Returns a preview of the state with the retakes that a call chooses. The preview has the status `planned`, and no
 * files or problems. Returns the same object if these retakes are already chosen.
 */
export function previewState(
  before: NarrationState,
  changes: NarrateChanges,
  plan: StoredPlan,
): NarrationState {
  const after = applyRetakes(before, plan, changes.retakes);
  return after === before ? before : { ...after, status: "planned", files: [], problems: [] };
}

/** Whether a call changes the audio or the names of the narration's files. */
export function wouldChangeFiles(state: NarrationState, changes: NarrateChanges, plan: StoredPlan): boolean {
  const isToRename =
    changes.mayReplace && state.files.some(({ conflictingName }) => conflictingName !== null);
  return (
    isToRename ||
    hasChangedChoice(state, { ...withNarrateCall(state, changes, plan), startCount: state.startCount })
  );
}

/**
 * Whether a call has changed the narration between the states `before` and `after`: its retakes, its file name, whether
 * failed parts are skipped, or the number of its starts.
 */
export function hasChangedChoice(before: NarrationState, after: NarrationState): boolean {
  const choice = ({ retakes, shouldSkipFailed, fileName, startCount }: NarrationState): string =>
    JSON.stringify([retakes, shouldSkipFailed, fileName, startCount]);
  return choice(before) !== choice(after);
}
