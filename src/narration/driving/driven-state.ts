/** Keeps the state of a narration as its driver knows it, and stores the driver's progress in the ledger. */
import type { Clock } from "../../clock.ts";
import { hasChangedChoice } from "../state/narration-changes.ts";
import type { NarrationRepository } from "../state/narration-repository.ts";
import type { NarrationProblem, NarrationState } from "../state/narration-state.ts";

interface DrivenStateDeps {
  readonly repository: NarrationRepository;
  readonly clock: Clock;
}

/**
 * Keeps two states of a narration: the newest one that is known, and the one at the last inspection of the parts.
 * Stores the driver's progress only if no call has changed the narration since the last inspection.
 */
export class DrivenState {
  readonly #deps: DrivenStateDeps;
  readonly #narrationId: string;
  #newest: NarrationState | null = null;
  #inspected: NarrationState | null = null;

  constructor(deps: DrivenStateDeps, narrationId: string) {
    this.#deps = deps;
    this.#narrationId = narrationId;
  }

  /** The newest state that is known. */
  get newest(): NarrationState | null {
    return this.#newest;
  }

  /** The state at the last inspection of the parts. */
  get inspected(): NarrationState | null {
    return this.#inspected;
  }

  /**
   * Takes over a state as the newest one.
   *
   * @returns `false` if the state was ignored, because it is older than the last start of the narration
   */
  update(state: NarrationState): boolean {
    if (this.#newest !== null && state.startCount < this.#newest.startCount) return false;
    this.#newest = state;
    return true;
  }

  /**
   * Returns the newest state for an inspection of the parts, and remembers it as the inspected state.
   *
   * @returns `null` if no inspection is needed, because no call has changed the narration or requested it again since
   *   the last inspection
   */
  beginInspection(): NarrationState | null {
    if (this.#newest === null || this.isUpToDateWith(this.#newest)) return null;
    this.#inspected = this.#newest;
    return this.#inspected;
  }

  /**
   * Whether the parts were inspected, and no call has changed the narration or requested it again between the last
   * inspection and `state`.
   */
  isUpToDateWith(state: NarrationState): boolean {
    return this.#inspected !== null && !hasChangedChoice(this.#inspected, state);
  }

  /**
   * Stores that the narration begins to run.
   *
   * @returns the stored state
   */
  async storeBegin(savedPartCount: number): Promise<NarrationState> {
    const startedAtMs = this.#deps.clock.wallMs();
    const begun = { startedAtMs, savedPartCountAtStart: savedPartCount, lastSavedAtMs: null, savedPartCount };
    return await this.#change((before) => ({ ...before, problems: [], ...begun }));
  }

  /** Stores the number of saved parts, for lists and other processes. */
  async storeSavedCount(savedPartCount: number): Promise<NarrationState> {
    const totals = { savedPartCount, lastSavedAtMs: this.#deps.clock.wallMs() };
    return await this.#change((before) => ({ ...before, ...totals }));
  }

  async addProblem(problem: NarrationProblem): Promise<NarrationState> {
    return await this.#change((before) => ({ ...before, problems: [...before.problems, problem] }));
  }

  /** Stores the final status of the narration and its problems. */
  async storeEnd(
    isComplete: boolean,
    savedPartCount: number,
    problems: NarrationProblem[],
  ): Promise<NarrationState> {
    const end = { status: isComplete ? "finished" : "stopped", problems } as const;
    // If all files are complete, store the narration as finished, even if a call has stopped it. If a call has stopped
    // it and files are missing, keep the status and problems that the call stored.
    return await this.#change((before) => ({
      ...before,
      savedPartCount,
      ...(before.status === "running" || isComplete ? end : {}),
    }));
  }

  /** Changes the stored state, unless a call has changed the narration since the last inspection of the parts. */
  async #change(change: (before: NarrationState) => NarrationState): Promise<NarrationState> {
    const inspected = this.#inspected;
    return await this.#deps.repository.change(this.#narrationId, (before) =>
      inspected !== null && hasChangedChoice(inspected, before) ? before : change(before),
    );
  }
}
