/** Keeps what a loop knows of the parts of its narration, so that a round need not look at all of them. */
import type { PartTask, TasksByFingerprint } from "../ledger/narration-rows.ts";
import type { PartRow } from "../ledger/schema.ts";
import {
  choosePartTask,
  decidePartStatus,
  type PartState,
  type PartStatus,
  type StatusContext,
} from "./part-status.ts";

/** Statuses to which nothing happens by itself. */
const ENDED: ReadonlySet<PartStatus> = new Set<PartStatus>(["saved", "failed", "skipped"]);

export class KnownParts {
  #states: PartState[] = [];
  readonly #tasks = new Map<string, readonly PartTask[]>();
  /** Positions of the parts with a fingerprint. Equal parts share one request. */
  #positions: ReadonlyMap<string, readonly number[]> = new Map();
  readonly #counts = new Map<PartStatus, number>();
  readonly #openFingerprints = new Set<string>();
  /** All parts before this position have ended. */
  #firstOpen = 0;

  /** All parts, in reading order. */
  get states(): readonly PartState[] {
    return this.#states;
  }

  /** The fingerprints of requests that have not ended. */
  get openFingerprints(): ReadonlySet<string> {
    return this.#openFingerprints;
  }

  get endedCount(): number {
    return [...ENDED].reduce((sum, status) => sum + (this.#counts.get(status) ?? 0), 0);
  }

  /** Whether a part has not ended. */
  get isAnyOpen(): boolean {
    return this.endedCount < this.#states.length;
  }

  has(status: PartStatus): boolean {
    return (this.#counts.get(status) ?? 0) > 0;
  }

  /** Takes over all parts. */
  reset(parts: readonly PartRow[], tasks: TasksByFingerprint, context: StatusContext): void {
    this.#tasks.clear();
    for (const [fingerprint, found] of tasks) this.#tasks.set(fingerprint, found);
    const positions = new Map<string, number[]>();
    for (const { fingerprint, position } of parts) {
      const others = positions.get(fingerprint);
      if (others === undefined) positions.set(fingerprint, [position]);
      else others.push(position);
    }
    this.#positions = positions;
    this.#states = parts.map((part) => ({ part, task: undefined, status: "to_do" }));
    this.deriveAll(context);
  }

  /** Takes over requests that were read again. */
  update(fingerprints: Iterable<string>, tasks: TasksByFingerprint, context: StatusContext): void {
    for (const fingerprint of fingerprints) {
      this.#tasks.set(fingerprint, tasks.get(fingerprint) ?? []);
      this.#derive(fingerprint, context);
    }
  }

  /** Derives the status of all parts anew, because something has changed that it depends on. */
  deriveAll(context: StatusContext): void {
    this.#counts.clear();
    this.#counts.set("to_do", this.#states.length);
    this.#states = this.#states.map(({ part }) => ({ part, task: undefined, status: "to_do" }));
    this.#openFingerprints.clear();
    this.#firstOpen = 0;
    for (const fingerprint of this.#positions.keys()) this.#derive(fingerprint, context);
  }

  /** Lists parts in reading order which have not ended and have a status. */
  listOpen(status: PartStatus): PartState[] {
    if (!this.has(status)) return [];
    return this.#states.slice(this.#firstOpen).filter((state) => state.status === status);
  }

  /** Finds the first part that has one of the statuses and whose fingerprint is none of the given ones. */
  findOpen(statuses: readonly PartStatus[], except: ReadonlySet<string>): PartRow | undefined {
    if (!statuses.some((status) => this.has(status))) return undefined;
    for (let index = this.#firstOpen; index < this.#states.length; index += 1) {
      const state = this.#states[index];
      if (state !== undefined && statuses.includes(state.status) && !except.has(state.part.fingerprint))
        return state.part;
    }
    return undefined;
  }

  #derive(fingerprint: string, context: StatusContext): void {
    const task = choosePartTask(this.#tasks.get(fingerprint) ?? [], context);
    for (const position of this.#positions.get(fingerprint) ?? []) {
      const before = this.#states[position];
      if (before === undefined) continue;
      const { part } = before;
      const status = decidePartStatus(part, task, context);
      this.#states[position] = { part, task, status };
      this.#counts.set(before.status, (this.#counts.get(before.status) ?? 0) - 1);
      this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
      if (task !== undefined && !ENDED.has(status)) this.#openFingerprints.add(fingerprint);
      else this.#openFingerprints.delete(fingerprint);
      if (!ENDED.has(status)) this.#firstOpen = Math.min(this.#firstOpen, position);
    }
    while (this.#isEnded(this.#firstOpen)) this.#firstOpen += 1;
  }

  #isEnded(position: number): boolean {
    const state = this.#states[position];
    return state !== undefined && ENDED.has(state.status);
  }
}
