/** Keeps what a driver knows of each part of its narration since it last inspected the parts. */
import type { NarrationProblem } from "../state/narration-state.ts";
import type { PartRecordStatus } from "../state/part-summary.ts";
import type { PartState } from "./driver-step.ts";
import { MAX_JOBS_PER_PART } from "./part-problems.ts";

/** The state of a part by the status of its record. It applies only to parts on which this process does not work. */
export const STATES_BY_STATUS: Readonly<Record<PartRecordStatus, PartState>> = {
  not_started: "to_do",
  running: "sent",
  saved: "saved",
  failed: "to_do",
};

/** The result of an inspection of the parts. */
interface InspectedParts {
  readonly statuses: readonly PartRecordStatus[];
  /** For each part, its request as JSON. Parts with equal requests share one task. */
  readonly requests: readonly string[];
  /** Indexes of the parts on which this process works. */
  readonly workingParts: ReadonlySet<number>;
  /** Whether failed parts are skipped. */
  readonly shouldSkipFailed: boolean;
}

/**
 * Keeps the state of each part, and the problems of single parts, for the driver of a narration. The table is only in
 * memory.
 */
export class PartTable {
  #states: PartState[] = [];
  #firstEqualPartIndexes: readonly number[] = [];
  #shouldSkipFailed = false;
  readonly #problems = new Map<number, NarrationProblem>();
  /** For each part, how many of its jobs failed and cost nothing. */
  readonly #refundedJobs = new Map<number, number>();
  /** Parts for which an unknown status was already reported. */
  readonly #unknownStatuses = new Set<number>();

  get states(): readonly PartState[] {
    return this.#states;
  }

  /** For each part, the index of the first part with the same request. */
  get firstEqualPartIndexes(): readonly number[] {
    return this.#firstEqualPartIndexes;
  }

  get savedPartCount(): number {
    return this.#states.filter((state) => state === "saved").length;
  }

  /** The problems of single parts in reading order, including one problem for each part that was skipped. */
  get problems(): NarrationProblem[] {
    return this.#states.flatMap((state, part) => {
      const skippedProblems = state === "skipped" ? [buildSkippedProblem(part)] : [];
      const problem = this.#problems.get(part);
      return problem === undefined ? skippedProblems : [problem];
    });
  }

  /**
   * Forgets all problems and failed jobs. The driver does this before it inspects the parts, so that a problem that
   * occurs during the inspection is kept.
   */
  forgetFailures(): void {
    this.#problems.clear();
    this.#refundedJobs.clear();
    this.#unknownStatuses.clear();
  }

  /** Takes over the states that an inspection found. */
  setInspected({ statuses, requests, workingParts, shouldSkipFailed }: InspectedParts): void {
    this.#shouldSkipFailed = shouldSkipFailed;
    const firsts = new Map<string, number>();
    this.#firstEqualPartIndexes = requests.map((request, part) => {
      const first = firsts.get(request) ?? part;
      firsts.set(request, first);
      return first;
    });
    this.#states = statuses.map((status, part) => {
      if (workingParts.has(part)) return "working";
      return status === "failed" && shouldSkipFailed ? "skipped" : STATES_BY_STATUS[status];
    });
  }

  /** Marks a part as `working`. Other parts with the same request keep their states. */
  begin(partIndex: number): void {
    this.#states[partIndex] = "working";
  }

  /**
   * Sets the state of a part. Parts with equal requests share one task, so also sets the state of each of these parts
   * that is not `working`.
   */
  setState(partIndex: number, state: PartState): void {
    const first = this.#firstEqualPartIndexes[partIndex];
    this.#firstEqualPartIndexes.forEach((other, index) => {
      if (other === first && (index === partIndex || this.#states[index] !== "working"))
        this.#states[index] = state;
    });
  }

  /** Stores the problem of a part, and marks the part as failed or, if failed parts are skipped, as skipped. */
  fail(problem: NarrationProblem): void {
    if (problem.partIndex === null) return;
    this.#problems.set(problem.partIndex, problem);
    this.setState(problem.partIndex, this.#shouldSkipFailed ? "skipped" : "failed");
  }

  /**
   * Marks a part as `to_do` again after a failure that cost nothing.
   *
   * @returns `false` if the part has failed too often for another job
   */
  reopen(partIndex: number): boolean {
    const jobs = (this.#refundedJobs.get(partIndex) ?? 0) + 1;
    this.#refundedJobs.set(partIndex, jobs);
    if (jobs >= MAX_JOBS_PER_PART) return false;
    this.setState(partIndex, "to_do");
    return true;
  }

  /**
   * Remembers that a part has an unknown status.
   *
   * @returns `false` if the unknown status was remembered before
   */
  addUnknownStatus(partIndex: number): boolean {
    const isNew = !this.#unknownStatuses.has(partIndex);
    this.#unknownStatuses.add(partIndex);
    return isNew;
  }
}

/** Builds the problem of a part that was skipped. Every result about the narration lists this problem. */
const buildSkippedProblem = (partIndex: number): NarrationProblem => ({
  partIndex,
  code: "skipped",
  message: "It is skipped.",
});
