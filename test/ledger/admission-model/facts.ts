/**
 * The facts that the model knows: plain objects that say what has happened. Times are on a clock that never restarts
 * and that nobody sets, unlike the ledger's clocks.
 */

/** The rules that an answer of the ledger, or a row of it, can violate. */
export type Rule =
  | "wish"
  | "payer"
  | "limit"
  | "budget"
  | "rate"
  | "concurrency"
  | "cooldown"
  | "lease"
  | "repeat"
  /** Something was refused or held without a reason. */
  | "liveness"
  /** A row is not what has happened. */
  | "rows"
  /** A bill or a sum is not what was spent. */
  | "sums";

export class Violation extends Error {
  readonly rule: Rule;

  constructor(rule: Rule, description: string) {
    super(`${rule}: ${description}`);
    this.rule = rule;
  }
}

export type Status = "waiting" | "unresolved" | "queued" | "processing" | "succeeded" | "saved" | "failed";

export interface Paid {
  payer: string | null;
  run: number;
}

export interface AttemptFact extends Paid {
  status: Status;
  maybe: number;
  sendId: string | null;
  sentMs: number;
  spentAtWallMs: number;
  taskId: string | null;
  charged: number | null;
}

export interface RequestFact {
  readonly id: string;
  readonly key: string;
  readonly fingerprint: string;
  owner: string | null;
  leaseUntilMs: number;
  leasedAtMs: number;
  error: string | null;
  hasNote: boolean;
  attempt: number;
  attempts: Record<number, AttemptFact>;
}

export interface WishFact {
  readonly id: string;
  readonly target: string;
  readonly key: string;
  kind: "call" | "handle" | "self";
  readonly process: string;
  leaseUntilMs: number;
  leasedAtMs: number;
  /** The end of its lease on the ledger's steady clock, as it was when the lease was written. */
  leaseUntilSteadyMs: number;
  readonly wishedWallMs: number;
}

export interface NarrationFact {
  status: "planned" | "running" | "stopped";
  limit: number;
  run: number;
  parts: string[];
}

export interface SendFact {
  readonly id: string;
  readonly key: string;
  /** Until when it certainly counts in the minute. */
  certainUntilMs: number;
  /** Since when it counts for `mayLastMs` at most, unless the steady clock has begun anew. */
  sinceMs: number;
  mayLastMs: number;
}

export interface CooldownFact {
  readonly key: string;
  readonly atMs: number;
  readonly untilMs: number;
}

export interface Facts {
  nowMs: number;
  wallMs: number;
  /** When the machine was last started. */
  bootMs: number;
  /** The ledger's steady clock then. */
  bootSteadyMs: number;
  /** When the limits of an account were first judged after the last start. */
  firstReadMs: Record<string, number>;
  requests: Record<string, RequestFact>;
  wishes: Record<string, WishFact>;
  narrations: Record<string, NarrationFact>;
  sends: SendFact[];
  cooldowns: CooldownFact[];
}

export interface Asker {
  readonly id: string;
  readonly key: string;
}

export const RESERVED = 150;
export const WINDOW_MS = 60_000;
/** The ledger may wait a little longer than the service's minute. */
export const MARGIN_MS = 20;
export const UNANSWERED_MS = 30_000;
export const ACCEPTED_SLOT_MS = 65 * 60_000;
export const LEASE_MS = 15_000;
export const DAY_MS = 24 * 60 * 60_000;
export const LONGEST_COOLDOWN_MS = 601_000;

export const newFacts = (wallMs: number, steadyMs: number): Facts => ({
  nowMs: 0,
  wallMs,
  bootMs: 0,
  bootSteadyMs: steadyMs,
  firstReadMs: {},
  requests: {},
  wishes: {},
  narrations: {},
  sends: [],
  cooldowns: [],
});

export const steadyNow = ({ nowMs, bootMs, bootSteadyMs }: Facts): number => bootSteadyMs + nowMs - bootMs;

/** The lease that a process takes or renews now. */
export const newLease = (facts: Facts) => ({
  leasedAtMs: facts.nowMs,
  leaseUntilMs: facts.nowMs + LEASE_MS,
  leaseUntilSteadyMs: steadyNow(facts) + LEASE_MS,
});

export const unsentAttempt = (): AttemptFact => ({
  status: "waiting",
  maybe: 0,
  sendId: null,
  sentMs: 0,
  payer: null,
  run: 0,
  spentAtWallMs: 0,
  taskId: null,
  charged: null,
});

export function requestOf(facts: Facts, id: string): RequestFact {
  const request = facts.requests[id];
  if (request === undefined) throw new Violation("rows", `nobody has begun ${id}`);
  return request;
}

export function attemptOf({ attempts, attempt }: RequestFact): AttemptFact {
  const current = attempts[attempt];
  if (current === undefined) throw new Violation("rows", `there is no attempt ${attempt}`);
  return current;
}

export const hasEnded = ({ status }: Pick<AttemptFact, "status">): boolean =>
  status === "succeeded" || status === "saved" || status === "failed";

const costOf = (attempt: AttemptFact): number => {
  if (hasEnded(attempt)) return attempt.charged ?? RESERVED;
  return attempt.maybe > 0 || attempt.taskId !== null ? RESERVED : 0;
};

export interface SumOptions {
  readonly counts: (attempt: AttemptFact) => boolean;
  /** A request whose current attempt does not count. */
  readonly except?: string;
  /** Whether an unanswered send counts no more once another API key that sent the same attempt has its task. */
  readonly endsWithTwin: boolean;
}

/**
 * Sums what attempts have cost. A task that several API keys know counts once, and so do their unanswered sends of one
 * attempt.
 */
export function sumCosts(facts: Facts, { counts, except, endsWithTwin }: SumOptions): number {
  const tasks = new Map<string, { known: number | null; most: number }>();
  const answered = new Set<string>();
  for (const request of Object.values(facts.requests)) {
    for (const [n, attempt] of Object.entries(request.attempts)) {
      const unanswered = `${request.fingerprint}#${n}`;
      // Whichever payer the twin has.
      if (attempt.taskId !== null && endsWithTwin) answered.add(unanswered);
      if (!counts(attempt) || (request.id === except && Number(n) === request.attempt)) continue;
      const sum = tasks.get(attempt.taskId ?? unanswered) ?? { known: null, most: 0 };
      const cost = costOf(attempt);
      sum.most = Math.max(sum.most, cost);
      if (hasEnded(attempt)) sum.known = Math.max(sum.known ?? 0, cost);
      tasks.set(attempt.taskId ?? unanswered, sum);
    }
  }
  return [...tasks].reduce((sum, [id, { known, most }]) => sum + (answered.has(id) ? 0 : (known ?? most)), 0);
}

/** Whether the clock began anew after a time. */
export const isBeforeBoot = (facts: Facts, atMs: number): boolean => atMs < facts.bootMs;

/**
 * The latest time at which the ledger may believe that something happened. It cannot know how long before the start of
 * the machine that was, so it may count from when it first read of it.
 */
export const latest = (facts: Facts, key: string, atMs: number): number =>
  isBeforeBoot(facts, atMs) ? (facts.firstReadMs[key] ?? facts.nowMs) : atMs;
