/** The changes of a call, and their preview: a question writes nothing. */
import type { NarrationState, StoredPlan } from "./narration-state.ts";
import { applyRetakes, type Retake } from "./retakes.ts";

/** Settings that may change from call to call without making another narration. */
export interface NarrateChanges {
  /** The most that it may cost in all; `null`: nothing new is allowed by this call. */
  readonly maxCredits: number | null;
  /** Nothing more is created. */
  readonly stop: boolean;
  readonly retakes: readonly Retake[];
  /** `null`: as before. */
  readonly skipsFailed: boolean | null;
  readonly fileName: string | null;
}

const STOPPED = { part: null, code: "stopped", message: "It was stopped, as asked for." } as const;

/** The state after a call that wants the narration made. */
export function wanted(before: NarrationState, changes: NarrateChanges, plan: StoredPlan): NarrationState {
  return goingOn({
    ...applyRetakes(before, plan, changes.retakes),
    skipsFailed: changes.skipsFailed ?? before.skipsFailed,
    fileName: changes.fileName ?? before.fileName,
    maxCredits: changes.maxCredits ?? before.maxCredits,
  });
}

/** The state of a narration that somebody wants made, or joined, with what it says. */
export const goingOn = (before: NarrationState): NarrationState => ({
  ...before,
  asks: before.asks + 1,
  status: "running",
  problems: [],
});

/** The state after a call with `stop: true`. */
export const stopped = (before: NarrationState): NarrationState =>
  before.status === "running" ? { ...before, status: "stopped", problems: [STOPPED] } : before;

/**
 * The state as a question about it shows it: with the takes that are asked about, as a plan. The very same object
 * where they are the ones that are chosen.
 */
export function previewed(before: NarrationState, changes: NarrateChanges, plan: StoredPlan): NarrationState {
  const after = applyRetakes(before, plan, changes.retakes);
  return after === before ? before : { ...after, status: "planned", files: [], problems: [] };
}

/** Whether a call wants other files than those that are there. */
export function choosesAnew(state: NarrationState, changes: NarrateChanges, plan: StoredPlan): boolean {
  return isOtherChoice(state, { ...wanted(state, changes, plan), asks: state.asks });
}

/** Whether somebody has asked for it since a run has looked: for other parts, another name, or to go on. */
export function isOtherChoice(seen: NarrationState, now: NarrationState): boolean {
  const choice = ({ takes, skipsFailed, fileName, asks }: NarrationState): string =>
    JSON.stringify([takes, skipsFailed, fileName, asks]);
  return choice(seen) !== choice(now);
}
