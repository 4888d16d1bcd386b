/**
 * Simulates a narration in memory. Answers, stops, deaths and retakes happen in a random order. `decideDriverStep`, or
 * a planted fault in its place, chooses each step.
 */
import fc from "fast-check";
import type {
  DriverStep,
  FileProgress,
  NarrationProgress,
  PartState,
} from "../../../src/narration/driving/driver-step.ts";
import { checkStep, Violation } from "./check-step.ts";

export type Next = (progress: NarrationProgress) => DriverStep;

/** Faults of the driver itself, not of the choice of its steps. */
export interface DriverFaults {
  readonly forgetsEquals?: boolean;
  readonly staysFull?: boolean;
}

const ENDS = ["saved", "failed", "retry", "full", "refused"] as const;

type Event =
  /** One of the running parts ends. */
  | { readonly kind: "end"; readonly which: number; readonly how: (typeof ENDS)[number] }
  /** No submission may be sent any more. Tasks that the service accepted go on. */
  | { readonly kind: "stop"; readonly accepted: number }
  /** The process ends, and another one continues the narration. */
  | { readonly kind: "death"; readonly accepted: number }
  /** A call states a limit, so failed parts are tried again. */
  | { readonly kind: "ask" }
  | { readonly kind: "retake"; readonly part: number }
  /** The next file cannot be joined, because the disk is full or a part is damaged. */
  | { readonly kind: "join fails"; readonly isDamaged: boolean };

const any = fc.nat(1000);
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("end" as const), which: any, how: fc.constantFrom(...ENDS) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stop" as const), accepted: any }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("death" as const), accepted: any }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("ask" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("retake" as const), part: any }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("join fails" as const), isDamaged: fc.boolean() }) },
);

export interface NarrationScenario {
  /** The text of each part. Parts with the same text are one task. */
  readonly texts: readonly number[];
  /** The status of each part at the beginning. Parts with the same text have the same status. */
  readonly states: readonly PartState[];
  /** The first part of each chapter but the first. */
  readonly chapters: readonly number[];
  readonly skipsFailed: boolean;
  readonly events: readonly Event[];
}

const MAX_PARTS = 8;
const STATES: readonly PartState[] = ["to_do", "to_do", "to_do", "sent", "saved"];

export const narrationScenario: fc.Arbitrary<NarrationScenario> = fc.record({
  texts: fc.array(fc.nat(5), { minLength: 1, maxLength: MAX_PARTS }),
  states: fc.array(fc.constantFrom(...STATES), { minLength: MAX_PARTS, maxLength: MAX_PARTS }),
  chapters: fc.uniqueArray(fc.integer({ min: 1, max: MAX_PARTS - 1 }), { maxLength: 2 }),
  skipsFailed: fc.boolean(),
  events: fc.array(event, { maxLength: 16 }),
});

/** The most steps of a scenario. Correct code needs far fewer, because each call tries a part at most twice. */
const MAX_STEPS = 600;
const MAX_TRIES = 2;

class Narration {
  readonly #scenario: NarrationScenario;
  readonly #faults: DriverFaults;
  readonly #texts: number[];
  #parts: PartState[];
  #files: FileProgress[] = [];
  #hasStoppedSubmitting = false;
  #isUnsent = false;
  #isFull = false;
  #newTexts = 1000;
  readonly #tries = new Map<number, number>();
  readonly #events: Event[];

  constructor(one: NarrationScenario, faults: DriverFaults) {
    this.#scenario = one;
    this.#faults = faults;
    this.#events = [...one.events];
    this.#texts = [...one.texts];
    this.#parts = one.texts.map((text) => one.states[one.texts.indexOf(text)] ?? "to_do");
    this.#look();
  }

  get progress(): NarrationProgress {
    return {
      partStates: this.#parts,
      firstEqualPartIndexes: this.#texts.map((text) => this.#texts.indexOf(text)),
      files: this.#files,
      hasStoppedSubmitting: this.#hasStoppedSubmitting,
      hasUnacceptedPart: this.#isUnsent,
      isOutOfCredits: this.#isFull,
    };
  }

  /** @returns `false` if the narration has ended and no later call continues it */
  take(step: DriverStep): boolean {
    switch (step.kind) {
      case "run_part":
        this.#isUnsent ||= this.#parts[step.partIndex] === "to_do";
        this.#parts[step.partIndex] = "working";
        return true;
      case "join":
        this.#join(step);
        return true;
      case "wait":
        if (this.#isUnsent && this.#events[0]?.kind !== "stop" && this.#events[0]?.kind !== "death")
          this.#isUnsent = false;
        else this.#happen(this.#events.shift() ?? { kind: "end", which: 0, how: "saved" });
        return true;
      case "end": {
        const asks = this.#events.findIndex(({ kind }) => kind === "ask" || kind === "retake");
        const [asked] = this.#events.splice(0, asks + 1).slice(-1);
        if (asks === -1 || asked === undefined) return false;
        this.#happen(asked);
        return true;
      }
    }
  }

  /**
   * Begins again, as a new call does: submissions are allowed, failed and skipped parts become `to_do`, and no file
   * counts as joined.
   */
  #look(): void {
    this.#hasStoppedSubmitting = false;
    this.#isFull = false;
    this.#tries.clear();
    this.#parts = this.#parts.map((state) => (state === "failed" || state === "skipped" ? "to_do" : state));
    const { chapters } = this.#scenario;
    const starts = [0, ...chapters.filter((start) => start < this.#parts.length).sort((a, b) => a - b)];
    const indexes = this.#parts.map((_, index) => index);
    this.#files = starts.map((from, at) => ({
      partIndexes: indexes.slice(from, starts[at + 1]),
      joinResult: null,
    }));
  }

  #happen(event: Event): void {
    const working = this.#parts.flatMap((state, index) => (state === "working" ? [index] : []));
    switch (event.kind) {
      case "end": {
        const part = working[event.which % Math.max(1, working.length)];
        if (part !== undefined) this.#end(part, event.how, working.length - 1);
        return;
      }
      case "stop":
        this.#hasStoppedSubmitting = true;
        this.#leave(event.accepted);
        return;
      case "death":
        this.#leave(event.accepted);
        this.#look();
        return;
      case "ask":
        this.#look();
        return;
      case "retake":
        this.#retake(event.part % this.#parts.length);
        return;
      case "join fails":
        return;
    }
  }

  #end(part: number, outcome: (typeof ENDS)[number], others: number): void {
    this.#isUnsent = false;
    if (this.#faults.staysFull !== true) this.#isFull = false;
    if (this.#hasStoppedSubmitting) {
      this.#endStep(part, outcome === "saved" ? "saved" : "to_do");
      return;
    }
    const tries = (this.#tries.get(part) ?? 0) + 1;
    this.#tries.set(part, tries);
    const failed = this.#scenario.skipsFailed ? "skipped" : "failed";
    if (outcome === "saved") this.#endStep(part, "saved");
    else if (outcome === "failed" || (outcome === "retry" && tries >= MAX_TRIES)) this.#endStep(part, failed);
    else this.#endStep(part, "to_do");
    if (outcome === "full" && others > 0) this.#isFull = true;
    // If no other part is running, no task can end and release credits.
    else if (outcome === "full" || outcome === "refused") this.#hasStoppedSubmitting = true;
  }

  /** Gives a part its new state, and also the parts with the same text, because they share one task. */
  #endStep(part: number, outcome: PartState): void {
    const text = this.#texts[part];
    this.#parts.forEach((state, index) => {
      const isEqual =
        this.#texts[index] === text && state !== "working" && this.#faults.forgetsEquals !== true;
      if (index === part || isEqual) this.#parts[index] = outcome;
    });
  }

  /** @param accepted one bit for each part: 1 if the service has accepted its submission */
  #leave(accepted: number): void {
    this.#isUnsent = false;
    this.#parts.forEach((state, part) => {
      if (state === "working") this.#endStep(part, ((accepted >> part) & 1) === 1 ? "sent" : "to_do");
    });
  }

  #retake(part: number): void {
    const text = this.#texts[part];
    this.#newTexts += 1;
    this.#texts.forEach((other, index) => {
      if (other !== text) return;
      this.#texts[index] = this.#newTexts;
      this.#parts[index] = "to_do";
    });
    this.#look();
  }

  #join({
    fileIndex: index,
    partIndexes: parts,
    isComplete: isWhole,
  }: Extract<DriverStep, { kind: "join" }>): void {
    const file = this.#files[index];
    if (file === undefined) throw new Violation("no such file");
    const fails = this.#events[0]?.kind === "join fails" ? this.#events.shift() : undefined;
    const [damaged] = parts;
    if (fails?.kind === "join fails" && fails.isDamaged && damaged !== undefined) {
      this.#endStep(damaged, this.#scenario.skipsFailed ? "skipped" : "failed");
      return;
    }
    const made = isWhole ? "complete" : "incomplete";
    this.#files[index] = { ...file, joinResult: fails === undefined ? made : "failed" };
    if (fails !== undefined) this.#hasStoppedSubmitting = true;
  }
}

/** @throws Violation if a step breaks a promise, or the narration never ends */
export function run(one: NarrationScenario, next: Next, faults: DriverFaults = {}): void {
  const narration = new Narration(one, faults);
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const { progress } = narration;
    const step = next(progress);
    checkStep(progress, step);
    if (!narration.take(step)) return;
  }
  throw new Violation("it never ends");
}
