/** Notes what calls of the ledger other than questions for leave have done, and judges their answers. */
import {
  type Asker,
  type AttemptFact,
  attemptOf,
  type Facts,
  isBeforeBoot,
  LEASE_MS,
  MARGIN_MS,
  newLease,
  type RequestFact,
  requestOf,
  type Status,
  unsentAttempt,
  Violation,
  WINDOW_MS,
} from "./facts.ts";

/** Whether a living process other than `asker` drives a request: certainly, perhaps (after a restart), or not. */
export function isDriven(facts: Facts, request: RequestFact): "yes" | "perhaps" | "no" {
  if (request.owner === null) return "no";
  if (isBeforeBoot(facts, request.leasedAtMs)) return "perhaps";
  return request.leaseUntilMs > facts.nowMs ? "yes" : "no";
}

/**
 * Judges whether a write of a driver was accepted, and renews its lease.
 *
 * @param attempt the number of the attempt that the driver knows
 * @returns whether it was written
 */
export function judgeDriverWrite(
  facts: Facts,
  { id }: Asker,
  requestId: string,
  attempt: number,
  wasWritten: boolean,
): boolean {
  const request = requestOf(facts, requestId);
  const isDriver = request.owner === id && request.attempt === attempt;
  if (wasWritten !== isDriver)
    throw new Violation(
      "lease",
      `${id} ${wasWritten ? "wrote" : "could not write"}: ${request.owner} drives`,
    );
  if (isDriver) takeLease(facts, request, id);
  return isDriver;
}

export const takeLease = (facts: Facts, request: RequestFact, owner: string | null): void => {
  const isHeld = owner !== null;
  Object.assign(request, {
    owner,
    leasedAtMs: facts.nowMs,
    leaseUntilMs: isHeld ? facts.nowMs + LEASE_MS : 0,
  });
};

/** The minute of a send begins with its answer; a send that did not leave does not count. */
export function noteAnswered(facts: Facts, sendId: string, wasSent: boolean): void {
  if (!wasSent) facts.sends = facts.sends.filter(({ id }) => id !== sendId);
  const send = facts.sends.find(({ id }) => id === sendId);
  if (send === undefined) return;
  // The ledger forgets a send after so long a time without an answer.
  if (send.sinceMs + send.mayLastMs <= facts.nowMs) return;
  const isCertain = send.certainUntilMs > facts.nowMs;
  Object.assign(send, {
    certainUntilMs: isCertain ? facts.nowMs + WINDOW_MS : 0,
    sinceMs: facts.nowMs,
    mayLastMs: WINDOW_MS + MARGIN_MS,
  });
}

/** A send of which no task can come: everything is as before it. */
export function takeSendBack(attempt: AttemptFact): void {
  attempt.maybe -= 1;
  if (attempt.maybe === 0)
    Object.assign(attempt, { status: "waiting", payer: null, run: 0, spentAtWallMs: 0 });
}

export interface TaskEnd {
  readonly status: Status;
  readonly taskId: string;
  readonly charged: number | null;
}

export const noteTask = (attempt: AttemptFact, { status, taskId, charged }: TaskEnd): void => {
  Object.assign(attempt, { status, taskId, charged, maybe: 0 });
};

/** Forgets the wishes of a request that nothing is left of to want. */
export function fulfil(facts: Facts, target: string): void {
  for (const wish of Object.values(facts.wishes)) if (wish.target === target) delete facts.wishes[wish.id];
}

export function beginAttempt(request: RequestFact): void {
  request.attempt += 1;
  request.attempts[request.attempt] ??= unsentAttempt();
  Object.assign(request, { error: null, hasNote: false });
}

/** Whether the service may have the request, so that its wish cannot be withdrawn any more. */
export function isWithService(request: RequestFact | undefined): boolean {
  if (request === undefined) return false;
  const attempt = attemptOf(request);
  return attempt.status !== "failed" && (attempt.taskId !== null || attempt.maybe > 0);
}

export function noteWish(
  facts: Facts,
  asker: Asker,
  id: string,
  target: string,
  kind: "call" | "handle",
): void {
  facts.wishes[id] = {
    id,
    target,
    key: asker.key,
    kind,
    process: asker.id,
    ...newLease(facts),
    wishedWallMs: facts.wallMs,
  };
}

/** A dead wish is deleted only a long time after its lease ended, or if it is from before a restart. */
export function judgeDeletedWish(facts: Facts, asker: Asker, wishId: string): void {
  const wish = facts.wishes[wishId];
  if (wish === undefined) return;
  const hasLongEnded = wish.leaseUntilMs < facts.nowMs - 20 * LEASE_MS;
  if (wish.process === asker.id || (!hasLongEnded && !isBeforeBoot(facts, wish.leasedAtMs)))
    throw new Violation("wish", "a wish that may stand was deleted");
  delete facts.wishes[wishId];
}
