/** Decides whether a failed request is retried, and after how long. Contains only pure functions. */
import { RETRY_AFTER_SECONDS } from "../contract/service-limits.ts";
import { AudioError } from "../errors.ts";
import { UnsentRequestError } from "./network-error.ts";

const MIN_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 30_000;
const MAX_RETRY_AFTER_SECONDS = 600;

/**
 * The decision after a failed request. `rate_limited` follows a 429: wait as long as the service says, then queue
 * again. `unavailable` follows a 503: wait, then send again.
 */
export type RetryDecision =
  | { readonly kind: "stop" }
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "rate_limited"; readonly pauseMs: number }
  | { readonly kind: "unavailable"; readonly delayMs: number };

/**
 * Whether the request was never sent, because there was no connection: the host was not found, the connection was
 * refused or took too long, or the certificate was invalid. Checks the cause that the transport gives such errors. The
 * error code is not enough, because a connection that breaks after sending can have the same code.
 */
export function wasNeverSent(error: unknown): boolean {
  return error instanceof AudioError && error.cause instanceof UnsentRequestError;
}

/**
 * Returns a random exponential backoff from 1 s to 30 s, which never shrinks from one failure to the next before it has
 * reached its maximum.
 *
 * @param failureCount number of times that the request has failed so far, at least 1
 * @param random in [0, 1)
 */
export function computeBackoffMs(failureCount: number, random: () => number): number {
  const ceiling = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.max(1, Math.min(failureCount, 16)));
  return (ceiling / 2) * (1 + random());
}

/**
 * Returns how long to wait after an answer that may state a time. The backoff is the minimum, because `Retry-After: 0`
 * would otherwise use up the minute's requests at once.
 */
const computeStatedDelayMs = (statedSeconds: number, failureCount: number, random: () => number): number =>
  Math.max(statedSeconds * 1000, computeBackoffMs(failureCount, random));

/**
 * Decides whether to repeat a failed request, and when. A request is repeated after a temporary failure, such as a 429,
 * a 503 or a time-out. Repeating a query or download is always safe. A repeated submission keeps its idempotency key and body (docs/contract.md, Idempotency).
 *
 * @param failureCount number of times that the request has failed so far, at least 1
 * @param random in [0, 1)
 */
export function decideAfterFailure(
  error: AudioError,
  failureCount: number,
  random: () => number,
): RetryDecision {
  switch (error.code) {
    case "rate_limit":
    case "concurrency_limit":
      return {
        kind: "rate_limited",
        pauseMs: computeStatedDelayMs(error.retryAfterSeconds ?? RETRY_AFTER_SECONDS, failureCount, random),
      };
    case "api_unavailable":
    case "temporarily_unavailable":
      return {
        kind: "unavailable",
        delayMs: computeStatedDelayMs(error.retryAfterSeconds ?? 0, failureCount, random),
      };
    case "network_error":
    case "timeout":
    case "unexpected_response":
      if (!error.retryable) return { kind: "stop" };
      return { kind: "retry", delayMs: computeBackoffMs(failureCount, random) };
    default:
      return { kind: "stop" };
  }
}

/**
 * Returns how long a download waits after its connection broke. Returns the time that a 503 states, or the backoff if
 * no time is stated.
 *
 * @param failureCount number of times in a row that the connection broke without a new byte, at least 1
 * @param random in [0, 1)
 */
export function computeDelayAfterBreakMs(
  error: AudioError,
  failureCount: number,
  random: () => number,
): number {
  const decision = decideAfterFailure(error, failureCount, random);
  return "delayMs" in decision ? decision.delayMs : computeBackoffMs(failureCount, random);
}

/** Parses an HTTP date to wall-clock milliseconds; NaN for anything else. */
function parseHttpDateMs(text: string): number {
  // Accept only what looks like a date, because Date.parse would read "-5" or "1 x" as a year.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return Number.NaN;
  // Add GMT to a date without a zone, such as "Sun Nov 6 08:49:37 1994". Date.parse would read it as local time.
  return Date.parse(/GMT$/.test(text) ? text : `${text} GMT`);
}

/**
 * Parses `Retry-After`, in seconds or as an HTTP date. Returns seconds, at most 600. Unreadable, negative and absent
 * values count as 60 s.
 *
 * @param nowWallMs wall-clock milliseconds, for an answer without a readable `Date`
 * @param sentAt the answer's `Date`, to subtract from a date: the clocks of service and machine may differ
 */
export function parseRetryAfterSeconds(
  header: string | undefined,
  nowWallMs: number,
  sentAt?: string,
): number {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(MAX_RETRY_AFTER_SECONDS, Number(text));
  const sentAtMs = parseHttpDateMs(sentAt?.trim() ?? "");
  const fromMs = Number.isNaN(sentAtMs) ? nowWallMs : sentAtMs;
  const seconds = Math.ceil((parseHttpDateMs(text) - fromMs) / 1000);
  return seconds >= 0 ? Math.min(MAX_RETRY_AFTER_SECONDS, seconds) : RETRY_AFTER_SECONDS;
}
