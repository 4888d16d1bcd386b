/** Judges the answer to a question for leave, and notes what it changes. */
import type { Admission, HoldReason } from "../../../src/ledger/admission.ts";
import {
  ACCEPTED_SLOT_MS,
  type Asker,
  type AttemptFact,
  attemptOf,
  DAY_MS,
  type Facts,
  isBeforeBoot,
  LEASE_MS,
  LONGEST_COOLDOWN_MS,
  latest,
  MARGIN_MS,
  type Paid,
  RESERVED,
  type RequestFact,
  steadyNow,
  sumCosts,
  UNANSWERED_MS,
  Violation,
  WINDOW_MS,
  type WishFact,
} from "./facts.ts";

/** `lease_lost`: the ledger has thrown, because another process drives the request. */
export type AskAnswer = Admission | { readonly kind: "lease_lost" };

export interface Question {
  readonly requestId: string;
  readonly sendId: string;
  readonly mayResend: boolean;
  readonly budget: number | null;
}

const MAX_SENDS = 6;
const MAX_OPEN = 2;
/** A process that waits for a slot asks again after this time at the latest. */
const MAX_RETRY_MS = 1000;

/** Whether facts about which the ledger may be in doubt, because they are from before a restart, count. */
type Doubt = "certain" | "possible";

export function standsFor(facts: Facts, asker: Asker, wish: WishFact, doubt: Doubt): boolean {
  if (wish.process === asker.id) return true;
  if (!isBeforeBoot(facts, wish.leasedAtMs)) return wish.leaseUntilMs > facts.nowMs;
  // The ledger may take a lease from before the restart for one of now, if it could end then.
  const leftMs = wish.leaseUntilSteadyMs - steadyNow(facts);
  return doubt === "possible" && leftMs > 0 && leftMs <= 2 * LEASE_MS;
}

/** Lists who would pay: `null` for callers of the request itself, else narrations, the eldest wish first. */
export function listPayers(
  facts: Facts,
  asker: Asker,
  { id, fingerprint }: Pick<RequestFact, "id" | "fingerprint">,
  doubt: Doubt,
): Array<string | null> {
  const standing = Object.values(facts.wishes)
    .filter((wish) => wish.key === asker.key && standsFor(facts, asker, wish, doubt))
    .sort((a, b) => a.wishedWallMs - b.wishedWallMs || (a.id < b.id ? -1 : 1));
  if (standing.some(({ target }) => target === id)) return [null];
  const wanting = standing.map(({ target }) => target);
  return [...new Set(wanting)].filter((target) => {
    const narration = facts.narrations[target];
    return narration?.status === "running" && narration.parts.includes(fingerprint);
  });
}

export const billOf = (facts: Facts, payer: string): number =>
  sumCosts(facts, { counts: (attempt) => attempt.payer === payer, endsWithTwin: true });

/** What was spent in the last 24 hours, by whatever API key. */
export const spentInDay = (facts: Facts, except?: string): number =>
  sumCosts(facts, {
    counts: ({ spentAtWallMs }) => spentAtWallMs > facts.wallMs - DAY_MS,
    ...(except === undefined ? {} : { except }),
    endsWithTwin: false,
  });

function choosePayer(facts: Facts, payers: ReadonlyArray<string | null>): Paid | undefined {
  for (const payer of payers) {
    if (payer === null) return { payer, run: 0 };
    const spent = billOf(facts, payer);
    const { limit = 0, run = 0 } = facts.narrations[payer] ?? {};
    if (spent + RESERVED <= limit) return { payer, run };
  }
  return undefined;
}

/** A send that may have arrived has its payer. A later run of the narration that wants it pays as that run. */
function keepPayer(facts: Facts, { payer, run }: Paid, payers: ReadonlyArray<string | null>): Paid {
  if (payer === null || !payers.includes(payer)) return { payer, run };
  return { payer, run: facts.narrations[payer]?.run ?? run };
}

type Expected =
  | { readonly kind: "unwanted" | "over_max_credits" }
  | { readonly kind: "over_budget"; readonly spentCredits: number }
  | { readonly kind: "may_leave"; readonly paid: Paid };

/** Says what the ledger must answer, apart from the account's limits. */
function expectAnswer(facts: Facts, asker: Asker, question: Question, doubt: Doubt): Expected {
  const { requestId, mayResend, budget } = question;
  const request = facts.requests[requestId];
  if (request === undefined) return { kind: "unwanted" };
  const attempt = attemptOf(request);
  if (attempt.status !== "waiting" && attempt.status !== "unresolved") return { kind: "unwanted" };
  const isResend = attempt.maybe > 0;
  const payers = listPayers(facts, asker, request, doubt);
  if (payers.length === 0 && !(isResend && mayResend)) return { kind: "unwanted" };
  if (isResend) return { kind: "may_leave", paid: keepPayer(facts, attempt, payers) };
  const chosen = choosePayer(facts, payers);
  if (chosen === undefined) return { kind: "over_max_credits" };
  const spentCredits = spentInDay(facts, requestId);
  if (budget !== null && spentCredits + RESERVED > budget) return { kind: "over_budget", spentCredits };
  return { kind: "may_leave", paid: chosen };
}

/** When the slot that an attempt takes becomes free, unless its task ends before; 0 if it takes none. */
function slotEndMs(facts: Facts, other: RequestFact, doubt: Doubt): number {
  const attempt = attemptOf(other);
  const sentMs = doubt === "certain" ? attempt.sentMs : latest(facts, other.key, attempt.sentMs);
  const marginMs = doubt === "certain" ? 0 : MARGIN_MS;
  if (!takesSlot(other)) return 0;
  if (attempt.status !== "unresolved") return sentMs + ACCEPTED_SLOT_MS;
  const isOldLease = isBeforeBoot(facts, other.leasedAtMs);
  const leaseMs = isOldLease
    ? doubt === "certain"
      ? Math.min(other.leaseUntilMs, facts.bootMs)
      : facts.nowMs
    : other.leaseUntilMs;
  const seenMs = Math.max(sentMs, Math.min(leaseMs, facts.nowMs));
  return Math.min(seenMs, sentMs + WINDOW_MS + marginMs) + UNANSWERED_MS;
}

function takesSlot(other: RequestFact): boolean {
  const { status, maybe } = attemptOf(other);
  if (status === "unresolved") return maybe > 0;
  return (status === "queued" || status === "processing") && other.error !== "not_found";
}

const others = (facts: Facts, asker: Asker, requestId: string): RequestFact[] =>
  Object.values(facts.requests).filter(({ id, key }) => key === asker.key && id !== requestId);

/** Whether the request of a single call waits for nothing but its turn, so that parts of narrations let it pass. */
const mustLetPass = (facts: Facts, asker: Asker, requestId: string, doubt: Doubt): boolean =>
  others(facts, asker, requestId).some((other) => {
    if (attemptOf(other).status !== "waiting" || other.error !== null || other.hasNote) return false;
    const isOldLease = isBeforeBoot(facts, other.leasedAtMs);
    const isDriven = isOldLease
      ? doubt === "possible" && other.owner !== null
      : other.leaseUntilMs > facts.nowMs;
    if (!isDriven) return false;
    return Object.values(facts.wishes).some(
      (wish) => wish.target === other.id && standsFor(facts, asker, wish, doubt),
    );
  });

/** When each reason to hold the request ends; 0 for a reason that does not hold it. */
function holdEndsMs(
  facts: Facts,
  asker: Asker,
  requestId: string,
  isPart: boolean,
  doubt: Doubt,
): Record<HoldReason, number> {
  const { nowMs } = facts;
  const cooldowns = facts.cooldowns.filter(({ key }) => key === asker.key);
  const cooldownEnds = cooldowns.map(({ atMs, untilMs }) => {
    if (!isBeforeBoot(facts, atMs)) return untilMs;
    // The ledger cannot know when a cooldown from before the restart ends, so it may forget it or keep it.
    return doubt === "certain" ? 0 : nowMs + LONGEST_COOLDOWN_MS;
  });
  const sendEnds = facts.sends
    .filter(({ key }) => key === asker.key)
    .map(({ certainUntilMs, sinceMs, mayLastMs }) => {
      if (doubt === "certain") return certainUntilMs;
      return latest(facts, asker.key, sinceMs) + mayLastMs;
    })
    .filter((endMs) => endMs > nowMs)
    .sort((a, b) => a - b);
  const slotEnds = others(facts, asker, requestId)
    .map((other) => slotEndMs(facts, other, doubt))
    .filter((endMs) => endMs > nowMs);
  const letsPass = isPart && mustLetPass(facts, asker, requestId, doubt);
  return {
    cooldown: Math.max(0, ...cooldownEnds.filter((endMs) => endMs > nowMs)),
    rate: sendEnds[sendEnds.length - MAX_SENDS] ?? 0,
    concurrency: slotEnds.length >= MAX_OPEN || letsPass ? nowMs + MAX_RETRY_MS : 0,
  };
}

/** Judges an answer, and notes what it changes. */
export function judgeAsk(facts: Facts, asker: Asker, question: Question, answer: AskAnswer): void {
  const { requestId, sendId } = question;
  if (answer.kind === "hold" || answer.kind === "admitted") facts.firstReadMs[asker.key] ??= facts.nowMs;
  const request = facts.requests[requestId];
  const attempt = request === undefined ? undefined : attemptOf(request);
  if (attempt?.sendId === sendId) {
    if (answer.kind !== "admitted")
      throw new Violation("repeat", `a repeated question was answered ${answer.kind}`);
    return;
  }
  if (request === undefined || attempt === undefined || request.owner !== asker.id) {
    if (answer.kind === "admitted")
      throw new Violation("lease", `${asker.id} may send, but ${request?.owner} drives`);
    return;
  }
  if (answer.kind === "lease_lost")
    throw new Violation("lease", "the driver was told that it lost the lease");
  const isOld = (wish: WishFact) => isBeforeBoot(facts, wish.leasedAtMs);
  const doubts: readonly Doubt[] = Object.values(facts.wishes).some(isOld)
    ? ["certain", "possible"]
    : ["certain"];
  const violations: unknown[] = [];
  for (const doubt of doubts) {
    try {
      judgeAgainst(facts, asker, question, answer, expectAnswer(facts, asker, question, doubt));
      if (answer.kind === "admitted")
        noteAdmission(facts, request, attempt, sendId, answer.row.payer, answer.row.payer_run);
      return;
    } catch (violation) {
      violations.push(violation);
    }
  }
  throw violations[0];
}

function judgeAgainst(
  facts: Facts,
  asker: Asker,
  { requestId, sendId, budget }: Question,
  answer: Exclude<AskAnswer, { kind: "lease_lost" }>,
  expected: Expected,
): void {
  const attempt = attemptOf(facts.requests[requestId] ?? never());
  if (expected.kind !== "may_leave") {
    if (answer.kind === expected.kind) {
      if (expected.kind !== "over_budget" || answer.kind !== "over_budget") return;
      if (answer.spentCredits === expected.spentCredits) return;
      throw new Violation("sums", `${answer.spentCredits} credits instead of ${expected.spentCredits}`);
    }
    const rule = { unwanted: "wish", over_max_credits: "limit", over_budget: "budget" } as const;
    throw new Violation(rule[expected.kind], `${answer.kind} instead of ${expected.kind}`);
  }
  const isPart = expected.paid.payer !== null && attempt.maybe === 0;
  if (answer.kind === "hold") {
    const endMs = holdEndsMs(facts, asker, requestId, isPart, "possible")[answer.reason];
    if (endMs <= facts.nowMs) throw new Violation("liveness", `held without a reason: ${answer.reason}`);
    if (answer.retryMs <= 0 || answer.retryMs > endMs - facts.nowMs + 1)
      throw new Violation(
        "liveness",
        `${answer.reason}: ${answer.retryMs} ms instead of ${endMs - facts.nowMs}`,
      );
    return;
  }
  if (answer.kind !== "admitted") throw new Violation("liveness", `it may leave, but it is ${answer.kind}`);
  const certain = holdEndsMs(facts, asker, requestId, isPart, "certain");
  for (const reason of ["cooldown", "rate", "concurrency"] as const)
    if (certain[reason] > facts.nowMs) throw new Violation(reason, `${requestId} may leave`);
  const { payer, payer_run: run, send_id: storedSendId } = answer.row;
  if (payer !== expected.paid.payer || run !== expected.paid.run) {
    const { paid } = expected;
    throw new Violation("payer", `${payer} in run ${run} instead of ${paid.payer} in run ${paid.run}`);
  }
  if (storedSendId !== sendId) throw new Violation("rows", "the row that may be sent names another send");
  if (attempt.maybe > 0) return;
  // These follow from the above, unless the model itself is wrong.
  if (payer !== null && billOf(facts, payer) + RESERVED > (facts.narrations[payer]?.limit ?? 0))
    throw new Violation("limit", `${payer} pays more than its limit`);
  if (budget !== null && spentInDay(facts, requestId) + RESERVED > budget)
    throw new Violation("budget", "more than the budget is spent");
}

function never(): never {
  throw new Violation("rows", "an unknown request may be sent");
}

function noteAdmission(
  facts: Facts,
  request: RequestFact,
  attempt: AttemptFact,
  sendId: string,
  payer: string | null,
  run: number,
): void {
  const { nowMs } = facts;
  if (attempt.maybe === 0) attempt.spentAtWallMs = facts.wallMs;
  Object.assign(attempt, {
    status: "unresolved",
    maybe: attempt.maybe + 1,
    sendId,
    sentMs: nowMs,
    payer,
    run,
  });
  Object.assign(request, { error: null, leasedAtMs: nowMs, leaseUntilMs: nowMs + LEASE_MS });
  facts.sends.push({
    id: sendId,
    key: request.key,
    certainUntilMs: nowMs + WINDOW_MS + UNANSWERED_MS,
    sinceMs: nowMs,
    mayLastMs: WINDOW_MS + MARGIN_MS + UNANSWERED_MS,
  });
}
