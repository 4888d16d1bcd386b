/** Builds what a call answers about a narration: how it stands, its plan, or what it would be with other choices. */
import {
  listOpenRequests,
  type NarrationSnapshot,
  readNarration,
  readTasksOf,
} from "../ledger/narration-rows.ts";
import { noteTold } from "../ledger/narration-writes.ts";
import { listNarrationsWith } from "../ledger/related-narrations.ts";
import type { PartRow } from "../ledger/schema.ts";
import { explainStandstill, type Standstill } from "../requests/activity.ts";
import { addToTold, areTold, type Consents, isLimitTold } from "./consents.ts";
import { estimateLateRemarks } from "./late-cues.ts";
import { type LoadedNarration, unknownNarrationError } from "./load-narration.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import {
  buildNarrationView,
  deriveNarrationStatus,
  type NarrationStatus,
  type NarrationView,
  type ViewedNarration,
} from "./narration-view.ts";
import { derivePartStates } from "./part-status.ts";
import type { Retake } from "./parts.ts";
import { type StoredPlan, toRemarks } from "./planning/stored-plan.ts";
import { describeListening } from "./running-playlist.ts";
import { estimateSecondsLeft } from "./time-left.ts";

/** Settings that each call may change. Changing them does not make another narration. */
export interface NarrateChanges {
  /** The limit of the narration's total cost; `null` if this call allows no new cost. */
  readonly maxCredits: number | null;
  /** Whether the narration starts with a limit that no answer has named. */
  readonly takesAnyLimit?: boolean;
  /** Whether a repeat agrees to a low limit, although it names the text, because a person typed it again. */
  readonly isTypedAgain?: boolean;
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

/** A narration as a call has found it, with the retakes that the call asks for. */
export interface CalledNarration extends LoadedNarration {
  readonly before: NarrationSnapshot;
  /** Rows of parts whose choices the call changes. */
  readonly choices: readonly PartRow[];
  readonly consents: Consents;
}

/** Reads narrations as calls see them. Writes nothing but what an answer has told. */
export class NarrationAnswers {
  readonly #deps: NarrationDeps;
  readonly #isRunning: (narrationId: string) => boolean;

  /** @param isRunning whether this process drives a narration */
  constructor(deps: NarrationDeps, isRunning: (narrationId: string) => boolean) {
    this.#deps = deps;
    this.#isRunning = isRunning;
  }

  async read(narrationId: string): Promise<NarrationSnapshot> {
    const snapshot = await readNarration(this.#deps.ledger, narrationId);
    if (snapshot === undefined) throw unknownNarrationError(narrationId);
    return snapshot;
  }

  /** Says why no part gets on; `null` if one does. */
  async explainStandstill(narrationId: string): Promise<Standstill | null> {
    const rows = await listOpenRequests(this.#deps.ledger, narrationId);
    return explainStandstill(rows.map((row) => ({ row, activity: this.#deps.driver.describe(row) })));
  }

  deriveStatus(snapshot: NarrationSnapshot): NarrationStatus {
    return deriveNarrationStatus(snapshot, (id) => this.#isRunning(id));
  }

  toViewed(snapshot: NarrationSnapshot, plan: StoredPlan): ViewedNarration {
    const { narration, parts, tasks } = snapshot;
    const states = derivePartStates(parts, tasks, {
      narration,
      apiKeyId: this.#deps.ledger.identity.apiKeyId,
      isDriving: (id) => this.#deps.driver.isDriving(id),
      unknownHere: new Set(),
      notHere: new Set(),
    });
    return { ...snapshot, plan, states, status: this.deriveStatus(snapshot) };
  }

  /** Builds a view. While no part gets on, it has the reason, and no time that nobody can keep. */
  async buildView(viewed: ViewedNarration): Promise<NarrationView> {
    const view = await buildNarrationView(this.#deps, viewed);
    const standstill = view.status === "running" ? await this.explainStandstill(view.narrationId) : null;
    if (standstill === null) return view;
    const { missingCount, seconds } = view;
    const left = estimateSecondsLeft(viewed.pace, missingCount, this.#deps.clock.wallMs(), standstill);
    return { ...view, seconds: { ...seconds, left }, standstill };
  }

  /**
   * Builds the answer of a call. Retakes of a call without a limit are shown as a plan, and not stored.
   *
   * @param refusedLimit a limit of the call that the plan is returned for
   */
  async buildAnswer(
    { plan, choices, consents, note }: CalledNarration,
    snapshot: NarrationSnapshot,
    changes: NarrateChanges,
    refusedLimit = Number.POSITIVE_INFINITY,
  ): Promise<NarrationView> {
    const { ledger } = this.#deps;
    const hasChoices = changes.maxCredits === null && choices.length > 0;
    const isPreview = hasChoices || refusedLimit !== Number.POSITIVE_INFINITY;
    const { shouldSkipFailed } = changes;
    const shown = isPreview ? await this.preview(snapshot, choices, shouldSkipFailed) : snapshot;
    const built = await this.buildView(this.toViewed(shown, plan));
    const { mayReplace, shouldStop: isStop } = changes;
    const sharedWith = await this.#listSharing(built.status, shown);
    const view = { ...built, isStop, sharedWith, ...(note === undefined ? {} : { note }) };
    if (view.status === "running") {
      const count = { done: view.parts.saved, total: view.parts.total };
      const where = await describeListening(this.#deps.folder, view.narrationId, plan, count);
      return { ...view, listening: `${view.listening} ${where}`.trim() };
    }
    if (view.status !== "planned") return view;
    const limit = Math.min(view.credits.suggestedMax, refusedLimit);
    if (!(areTold(snapshot.narration, consents) && isLimitTold(snapshot.narration, limit)))
      await noteTold(ledger, snapshot.narration.id, addToTold(snapshot.narration, consents, limit));
    return {
      ...view,
      argumentsToRepeat: [
        ...(hasChoices ? ["the same retakes"] : []),
        ...(isPreview && shouldSkipFailed !== null ? [`skip_failed ${shouldSkipFailed}`] : []),
        ...(mayReplace ? ["replace true"] : []),
      ],
      remarks: [
        ...view.remarks,
        ...(await estimateLateRemarks(ledger, plan, shown)),
        ...toRemarks("text", consents.extraRemarks),
      ],
    };
  }

  /** Lists the running narrations of this API key that have parts which this one still needs: another account would pay. */
  async #listSharing(
    status: NarrationStatus,
    { narration, parts, tasks }: NarrationSnapshot,
  ): Promise<string[]> {
    if (status !== "planned" && status !== "running") return [];
    const missing = parts
      .map(({ fingerprint }) => fingerprint)
      .filter((fingerprint) => tasks.get(fingerprint)?.some((task) => task.status === "saved") !== true);
    if (missing.length === 0) return [];
    const { ledger } = this.#deps;
    const others = await listNarrationsWith(ledger, missing, narration.id);
    return others
      .filter((other) => other.status === "running" && other.api_key_id === ledger.identity.apiKeyId)
      .map(({ id }) => id);
  }

  /** Returns the narration as it would be planned with changed choices. */
  async preview(
    snapshot: NarrationSnapshot,
    choices: readonly PartRow[],
    shouldSkipFailed: boolean | null = null,
  ): Promise<NarrationSnapshot> {
    const { narration } = snapshot;
    const changed = new Map(choices.map((row) => [row.position, row]));
    const fingerprints = choices.map(({ fingerprint }) => fingerprint);
    const tasks = await readTasksOf(this.#deps.ledger, narration, fingerprints);
    return {
      ...snapshot,
      narration: {
        ...narration,
        status: "planned",
        skip_failed: Number(shouldSkipFailed ?? narration.skip_failed),
      },
      parts: snapshot.parts.map((part) => changed.get(part.position) ?? part),
      tasks: new Map([...snapshot.tasks, ...tasks]),
      files: [],
    };
  }
}
