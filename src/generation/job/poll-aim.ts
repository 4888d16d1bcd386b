/** When to begin asking for a task: what tasks before it took tells when it is likely to end. */

/** How long a task took that somebody else may have watched. */
export interface Took {
  readonly taskId: string;
  /** Estimated from its text. */
  readonly speechSeconds: number;
  /** Since its acceptance: it was still seen at work then. */
  readonly afterMs: number;
  /** Since its acceptance: it was seen ended. */
  readonly byMs: number;
}

/** What is known of one task: it ended later than `afterMs` and not later than `byMs`, both since its acceptance. */
interface Bracket {
  readonly taskId: string;
  /** Estimated from the text: what is known before it is spoken. */
  readonly speechSeconds: number;
  afterMs: number;
  /** Infinite while it runs. */
  byMs: number;
  /** When it is asked although it may still run, to learn more; `null`: it is asked when it should have ended. */
  readonly probeMs: number | null;
}

/** One task, from its acceptance to its end. */
export interface Aimed {
  /** Since the acceptance: one poll interval at least, less than two. All other polls follow at the interval. */
  readonly firstPollMs: number;
  /** It was seen at work, so many milliseconds after its acceptance. */
  ran(ms: number): void;
  /** It was seen ended. */
  ended(ms: number): void;
  /** Nobody watches it any more: how long it took is not found out, unless it has ended. */
  leave(): void;
}

/** Later tasks weigh more, so that a service that becomes faster or slower is followed. */
const REMEMBERED = 64;
const FADING = 0.95;

/** Sums of weights, added in any order, that differ by less are the same. */
const EQUAL = 1e-9;

/** Seconds of work for a second of speech that are tried, 0 first. */
const MOST_WORK = 1.5;
const WORK_STEP = 0.025;

/** Parts of the poll interval: what is known so well is not worth a probe, and how late to be rather than early. */
const KNOWN = 0.1;
const LATE = 0.02;

/**
 * Polls come an interval apart, so a task that ends just after one is seen almost an interval late. What can be chosen
 * is where the grid lies: one of its polls is put where the task should have just ended.
 *
 * Each task that was watched leaves a bracket. A line (a fixed time, and some more for each second of speech) is laid
 * through as many brackets as it can meet; where several do, the least dependent on the length is believed. What is
 * left between the lowest and the highest of these lines is searched by probes: while much is unknown, in the middle, then
 * nearer and nearer to the top, for a poll that comes too early costs a whole interval. One task probes at a time,
 * the others are asked when they should have ended for certain.
 */
export class PollAim {
  readonly #intervalMs: number;
  readonly #msASecond: number;
  #brackets: readonly Bracket[] = [];

  /**
   * @param intervalMs between two polls of one task
   * @param timeScale of the service's time to the clock's; 1 but in tests
   */
  constructor(intervalMs: number, timeScale: number) {
    this.#intervalMs = intervalMs;
    this.#msASecond = 1000 * timeScale;
  }

  /** Takes in what other processes saw, in the order in which it happened; what it knows already stays as it is. */
  learn(took: readonly Took[]): void {
    const known = new Set(this.#brackets.map(({ taskId }) => taskId));
    const news = took.filter(
      ({ taskId, afterMs, byMs }) => !known.has(taskId) && afterMs >= 0 && byMs > afterMs,
    );
    this.#brackets = [...this.#brackets, ...news.map((one) => ({ ...one, probeMs: null }))].slice(
      -REMEMBERED,
    );
  }

  /** @param speechSeconds how long the audio is estimated to be */
  begin(taskId: string, speechSeconds: number): Aimed {
    const { aimMs, isProbe } = this.#aim(speechSeconds);
    const bracket: Bracket = {
      taskId,
      speechSeconds,
      afterMs: 0,
      byMs: Number.POSITIVE_INFINITY,
      probeMs: isProbe ? aimMs : null,
    };
    this.#brackets = [...this.#brackets, bracket].slice(-REMEMBERED);
    const overMs = Math.max(0, aimMs - this.#intervalMs);
    return {
      firstPollMs: this.#intervalMs + (overMs % this.#intervalMs),
      ran: (ms) => {
        bracket.afterMs = Math.max(bracket.afterMs, ms);
      },
      ended: (ms) => {
        bracket.byMs = Math.max(bracket.afterMs, ms);
      },
      leave: () => {
        if (bracket.byMs === Number.POSITIVE_INFINITY) {
          this.#brackets = this.#brackets.filter((other) => other !== bracket);
        }
      },
    };
  }

  #aim(speechSeconds: number): { aimMs: number; isProbe: boolean } {
    if (this.#brackets.every(isRunning)) return { aimMs: this.#intervalMs, isProbe: false };
    const { fromMs, toMs } = this.#expect(speechSeconds);
    const wide = (toMs - fromMs) / this.#intervalMs;
    if (wide < KNOWN || this.#brackets.some((bracket) => this.#isProbing(bracket))) {
      return { aimMs: toMs + LATE * this.#intervalMs, isProbe: false };
    }
    const share = Math.max(0.5, 1 - Math.sqrt(wide) / 2);
    return { aimMs: fromMs + share * (toMs - fromMs), isProbe: true };
  }

  /** Clocks differ by parts of a millisecond, so the answer to a probe may seem to have come a little before it. */
  #isProbing({ byMs, probeMs, afterMs }: Bracket): boolean {
    const hasEnded = byMs !== Number.POSITIVE_INFINITY;
    return !hasEnded && probeMs !== null && afterMs < probeMs - LATE * this.#intervalMs;
  }

  /** Between which a task of that length should end. */
  #expect(speechSeconds: number): { fromMs: number; toMs: number } {
    const all = this.#brackets.reduce((sum, bracket, index) => sum + this.#weight(bracket, index), 0);
    let best = { weight: 0, fromMs: 0, toMs: 0 };
    for (let step = 0; step * WORK_STEP <= MOST_WORK && best.weight < all - EQUAL; step += 1) {
      const slopeMs = step * WORK_STEP * this.#msASecond;
      const { weight, fromMs, toMs } = this.#mostMet(slopeMs);
      const byLengthMs = slopeMs * speechSeconds;
      // Weights are sums in any order: what differs by less is equal.
      if (weight > best.weight + 1e-9)
        best = { weight, fromMs: fromMs + byLengthMs, toMs: toMs + byLengthMs };
    }
    // Nothing but lower bounds: the service has become slower, by how much is not known yet.
    return best.toMs === Number.POSITIVE_INFINITY ? { ...best, toMs: best.fromMs + this.#intervalMs } : best;
  }

  /** A task of which nothing has been seen yet says nothing. */
  #weight(bracket: Bracket, index: number): number {
    const isUnseen = isRunning(bracket) && bracket.afterMs === 0;
    return isUnseen ? 0 : FADING ** (this.#brackets.length - 1 - index);
  }

  /** Of the lines with that slope, those that meet most brackets: the span of their fixed times. */
  #mostMet(slopeMs: number): { weight: number; fromMs: number; toMs: number } {
    const edges = this.#brackets
      .flatMap((bracket, index) => {
        const { speechSeconds, afterMs, byMs } = bracket;
        const weight = this.#weight(bracket, index);
        if (weight === 0) return [];
        const byLengthMs = slopeMs * speechSeconds;
        return [
          { atMs: afterMs - byLengthMs, weight },
          { atMs: byMs - byLengthMs, weight: -weight },
        ];
      })
      .sort((a, b) => a.atMs - b.atMs || a.weight - b.weight);
    let best = { weight: 0, fromMs: 0, toMs: 0 };
    let weight = 0;
    edges.forEach(({ atMs, weight: change }, index) => {
      weight += change;
      const next = edges[index + 1];
      if (next !== undefined && weight > best.weight + EQUAL)
        best = { weight, fromMs: atMs, toMs: next.atMs };
    });
    return best;
  }
}

const isRunning = ({ byMs }: Bracket): boolean => byMs === Number.POSITIVE_INFINITY;
