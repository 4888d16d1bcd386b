/** Queues the reads of this process: one queue for downloads and single queries, and one for polls. */
import type { Clock } from "../clock.ts";
import { READS_PER_WINDOW } from "../contract/service-limits.ts";
import type { LocalCooldowns } from "./local-cooldowns.ts";
import { computePollSpacingMs, MAX_POLLS } from "./poll-spacing.ts";
import { PriorityQueue, type QueueDecision } from "./priority-queue.ts";
import type { LimitTiming } from "./timing.ts";

export interface ReadQueueOptions {
  readonly clock: Clock;
  readonly timing: LimitTiming;
  readonly cooldowns: LocalCooldowns;
}

/** `cooldown`: the service asked for a cooldown; `rate`: all reads of the window are used. */
export type ReadWaitReason = "cooldown" | "rate";

export interface ReadOptions {
  /**
   * Whether the read is a poll. Polls are spaced, and leave some reads of each window to downloads and other queries.
   */
  readonly isPoll?: boolean;
  /** Called before each wait, with its length in milliseconds. Not called for a wait that only spaces polls. */
  readonly onWaiting?: (reason: ReadWaitReason, waitMs: number) => void;
}

type Reason = ReadWaitReason | "pace";
interface Read {
  atMs: number;
}
type Queue = PriorityQueue<ReadOptions, Read, Reason>;

/**
 * Limits the queries and downloads of this process to 60 in 60 s, and applies the cooldowns of reads. Polls wait in a
 * queue of their own, so that they do not delay other reads.
 */
export class ReadQueue {
  readonly #options: ReadQueueOptions;
  readonly #queue: Queue;
  /** A separate queue, because waiting polls must not delay a download. */
  readonly #pollQueue: Queue;
  /** The reads in the window, in the order in which they began. */
  #reads: Read[] = [];
  #lastPollMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReadQueueOptions) {
    this.#options = options;
    this.#queue = this.#newQueue(() => this.#tryRead(READS_PER_WINDOW));
    this.#pollQueue = this.#newQueue(() => this.#tryPoll());
  }

  /**
   * Runs one query or download as soon as this process's limit of 60 reads in 60 s allows it. Ignores other processes,
   * because a 429 on a read costs nothing and only starts a cooldown for the reads of this process. Polls slow down
   * once more than half of the reads are used. Polls never use the last 8 of the 60 reads, which are for downloads and
   * other queries.
   */
  async run<T>(signal: AbortSignal, run: () => Promise<T>, options: ReadOptions = {}): Promise<T> {
    const admittedRead = await (options.isPoll === true ? this.#pollQueue : this.#queue).enqueue(
      options,
      signal,
    );
    try {
      return await run();
    } finally {
      // Count the read from its end instead of its beginning, because the service may count a read only when it ends.
      admittedRead.atMs = this.#options.clock.steadyMs();
    }
  }

  close(error: unknown): void {
    this.#queue.rejectAll(error);
    this.#pollQueue.rejectAll(error);
  }

  #newQueue(ask: () => QueueDecision<Read, Reason>): Queue {
    return new PriorityQueue({
      clock: this.#options.clock,
      tryAdmit: async () => ask(),
      mustRejectAll: () => true,
      // Release nothing. An admitted read counts in the window even if its caller has left the queue and does not read.
      releaseUnused: async () => {},
      rankOf: () => 0,
      onWaiting: ({ onWaiting }, reason, waitMs) => {
        if (reason !== "pace") onWaiting?.(reason, waitMs);
      },
    });
  }

  #tryPoll(): QueueDecision<Read, Reason> {
    const { clock, timing } = this.#options;
    const gapMs = computePollSpacingMs(this.#countRecentReads(), timing.limitWindowMs);
    const waitMs = this.#lastPollMs + gapMs - clock.steadyMs();
    if (waitMs > 0) return { waitFor: "pace", waitMs: Math.ceil(waitMs) };
    const answer = this.#tryRead(MAX_POLLS);
    if ("outcome" in answer) this.#lastPollMs = clock.steadyMs();
    return answer;
  }

  #tryRead(maxReads: number): QueueDecision<Read, ReadWaitReason> {
    const { clock, timing, cooldowns } = this.#options;
    const cooldownMs = cooldowns.computeLeftMs("reads");
    if (cooldownMs > 0) return { waitFor: "cooldown", waitMs: Math.ceil(cooldownMs) };
    if (this.#countRecentReads() < maxReads) {
      const timedRead = { atMs: clock.steadyMs() };
      this.#reads.push(timedRead);
      return { outcome: timedRead };
    }
    const newestFirst = this.#reads.map(({ atMs }) => atMs).sort((one, other) => other - one);
    const blockingMs = newestFirst[maxReads - 1] ?? clock.steadyMs();
    const waitMs = blockingMs + timing.limitWindowMs - clock.steadyMs();
    return { waitFor: "rate", waitMs: Math.max(1, Math.ceil(waitMs)) };
  }

  /** Returns the number of reads in the window. */
  #countRecentReads(): number {
    const { clock, timing } = this.#options;
    const fromMs = clock.steadyMs() - timing.limitWindowMs;
    this.#reads = this.#reads.filter(({ atMs }) => atMs > fromMs);
    return this.#reads.length;
  }
}
