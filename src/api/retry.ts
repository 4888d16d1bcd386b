/** Which failures are repeated, and how long after: pure tables over {@link AudioError}. */
import { RETRY_AFTER_SECONDS } from "../contract/service-limits.ts";
import { AudioError, type ErrorCode } from "../errors.ts";
import { UnsentRequest } from "./causes.ts";

const BACKOFF_LEAST_MS = 1000;
const BACKOFF_MOST_MS = 30_000;
const RETRY_AFTER_MOST_SECONDS = 600;

/** The decision after a failed create. `limited`: wait, then take a slot again. `unavailable`: a 503. */
export type CreateDecision =
  | { readonly kind: "stop" }
  | { readonly kind: "retry"; readonly delayMs: number; readonly neverSent: boolean }
  | { readonly kind: "limited"; readonly retryAfterSeconds: number }
  | { readonly kind: "unavailable"; readonly delayMs: number };

/** The decision after a failed query or download. `not_ready`: watch the task again. */
export type ReadDecision = CreateDecision | { readonly kind: "not_ready" };

/**
 * Whether the request cannot have reached the service: refused, not resolved, no connection in time,
 * certificate. Nothing is concluded from a code, which may as well be that of a connection that broke later:
 * the transport marks what it never wrote.
 */
export function wasNeverSent(error: unknown): boolean {
  return error instanceof AudioError && error.cause instanceof UnsentRequest;
}

/**
 * Refusals that come before a task is made. A create that met one of them has made none, whoever said it: the
 * service, a gateway in front of it (which then let nothing through), or this program, which sent nothing.
 */
const REFUSED_BEFORE_ANY_TASK: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "invalid_api_key",
  "insufficient_credits",
  "purchase_required",
  "not_found",
  "idempotency_conflict",
  "request_too_large",
  "rate_limit",
  "concurrency_limit",
]);

/**
 * Whether the service may hold a task, and a reservation, after a create that failed like this. Where that cannot
 * be ruled out the answer is yes: a 503 too, because a gateway says it also for a create that went through behind
 * it, and every other 5xx, time-out, broken connection and answer that could not be read.
 */
export function mayHaveArrived(error: AudioError): boolean {
  return !wasNeverSent(error) && !REFUSED_BEFORE_ANY_TASK.has(error.code);
}

/**
 * Jittered exponential backoff from 1 s to 30 s.
 *
 * @param attempt 1 after the first failure
 * @param random in [0, 1)
 */
export function backoffMs(attempt: number, random: () => number): number {
  const ceiling = Math.min(BACKOFF_MOST_MS, BACKOFF_LEAST_MS * 2 ** Math.max(0, Math.min(attempt, 16)));
  return BACKOFF_LEAST_MS + random() * (ceiling - BACKOFF_LEAST_MS);
}

/** The same key and body again, except where the answer would be the same for ever (docs/contract.md, Idempotency). */
export function decideCreate(error: AudioError, attempt: number, random: () => number): CreateDecision {
  switch (error.code) {
    case "rate_limit":
    case "concurrency_limit":
      return { kind: "limited", retryAfterSeconds: error.retryAfterSeconds ?? RETRY_AFTER_SECONDS };
    case "api_unavailable":
    case "temporarily_unavailable": {
      const asked = error.retryAfterSeconds;
      return {
        kind: "unavailable",
        delayMs: asked === undefined ? backoffMs(attempt, random) : asked * 1000,
      };
    }
    case "network_error":
    case "timeout":
    case "unexpected_response":
      if (!error.retryable) return { kind: "stop" };
      return { kind: "retry", delayMs: backoffMs(attempt, random), neverSent: wasNeverSent(error) };
    default:
      return { kind: "stop" };
  }
}

/** The same for queries and downloads, which may always be repeated; 401 and 404 stop. */
export function decideRead(error: AudioError, attempt: number, random: () => number): ReadDecision {
  return error.code === "not_ready" ? { kind: "not_ready" } : decideCreate(error, attempt, random);
}

/**
 * How long a download pauses after a break: what a 503 asks for, else the backoff.
 *
 * @param attempt 1 after the first break
 * @param random in [0, 1)
 */
export function pauseAfterBreakMs(error: AudioError, attempt: number, random: () => number): number {
  const decision = decideRead(error, attempt, random);
  return "delayMs" in decision ? decision.delayMs : backoffMs(attempt, random);
}

/**
 * `Retry-After` in seconds: seconds or an HTTP date; unreadable, negative or absent counts as 60; capped at 600.
 *
 * @param nowWallMs wall-clock milliseconds, for a date
 */
export function parseRetryAfter(header: string | undefined, nowWallMs: number): number {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(RETRY_AFTER_MOST_SECONDS, Number(text));
  // Only what looks like a date: Date.parse would read "-5" or "1 x" as some year.
  const isDate = /^[A-Za-z]{3,9},? /.test(text);
  // All three forms of an HTTP date are in GMT; the oldest does not say so and would be read as local time.
  const dateMs = isDate ? Date.parse(/GMT$/.test(text) ? text : `${text} GMT`) : Number.NaN;
  const seconds = Math.ceil((dateMs - nowWallMs) / 1000);
  return seconds >= 0 ? Math.min(RETRY_AFTER_MOST_SECONDS, seconds) : RETRY_AFTER_SECONDS;
}
