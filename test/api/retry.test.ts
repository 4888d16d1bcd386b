/** Decisions about failed requests: which are retried, and after which wait. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnsentRequestError } from "../../src/api/network-error.ts";
import { computeBackoffMs, decideAfterFailure, parseRetryAfterSeconds } from "../../src/api/retry.ts";
import { mayHaveCreatedTask } from "../../src/api/service-error.ts";
import { AudioError, type AudioErrorOptions, type ErrorCode } from "../../src/errors.ts";

const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
const failure = (code: ErrorCode, facts: AudioErrorOptions = {}): AudioError =>
  new AudioError(code, "x", facts);
const half = (): number => 0.5;

it.each<ErrorCode>(["rate_limit", "concurrency_limit"])(
  "after a failed create %s waits as long as the service states, or 60 s",
  (code) => {
    const reported = failure(code, { retryAfterSeconds: 7 });
    expect(decideAfterFailure(reported, 1, half)).toEqual({
      kind: "rate_limited",
      pauseMs: 7000,
    });
    expect(decideAfterFailure(failure(code), 1, half)).toEqual({
      kind: "rate_limited",
      pauseMs: 60_000,
    });
    const atOnce = failure(code, { retryAfterSeconds: 0 });
    for (const [count, pauseMs] of [
      [1, 1500],
      [2, 3000],
      [3, 6000],
    ] as const)
      expect(decideAfterFailure(atOnce, count, half)).toEqual({ kind: "rate_limited", pauseMs });
  },
);

it.each<ErrorCode>(["api_unavailable", "temporarily_unavailable"])(
  "after a failed create %s waits, longer each time",
  (code) => {
    expect(decideAfterFailure(failure(code), 1, half)).toEqual({
      kind: "unavailable",
      delayMs: 1500,
    });
    expect(decideAfterFailure(failure(code), 3, half)).toEqual({
      kind: "unavailable",
      delayMs: 6000,
    });
    const reported = failure(code, { retryAfterSeconds: 20 });
    expect(decideAfterFailure(reported, 1, half)).toEqual({ kind: "unavailable", delayMs: 20_000 });
    const atOnce = failure(code, { retryAfterSeconds: 0 });
    expect(decideAfterFailure(atOnce, 1, half)).toEqual({ kind: "unavailable", delayMs: 1500 });
    expect(decideAfterFailure(atOnce, 3, half)).toEqual({ kind: "unavailable", delayMs: 6000 });
  },
);

describe("whether a failed submission may have made a task", () => {
  const unsent = new UnsentRequestError("x");
  it.each<[boolean, string, AudioError]>([
    [false, "never sent", failure("network_error", { retryable: true, cause: unsent })],
    [false, "not connected in time", failure("timeout", { retryable: true, cause: unsent })],
    [false, "400", failure("invalid_request", { httpStatus: 400 })],
    [false, "refused here, before it was sent", failure("invalid_request")],
    [false, "401", failure("invalid_api_key", { httpStatus: 401 })],
    [false, "402", failure("insufficient_credits", { httpStatus: 402 })],
    [false, "403", failure("purchase_required", { httpStatus: 403 })],
    [false, "404", failure("not_found", { httpStatus: 404 })],
    [false, "409", failure("idempotency_conflict", { httpStatus: 409 })],
    [false, "413", failure("request_too_large", { httpStatus: 413 })],
    [false, "429 of the rate", failure("rate_limit", { httpStatus: 429 })],
    [false, "429 of the place", failure("concurrency_limit", { httpStatus: 429 })],
    [true, "503", failure("temporarily_unavailable", { httpStatus: 503 })],
    [true, "503, not enabled", failure("api_unavailable", { httpStatus: 503 })],
    [true, "500", failure("unexpected_response", { httpStatus: 500, retryable: true })],
    [true, "502", failure("unexpected_response", { httpStatus: 502, retryable: true })],
    [true, "504", failure("unexpected_response", { httpStatus: 504, retryable: true })],
    [true, "403 page of a gateway", failure("unexpected_response", { httpStatus: 403 })],
    [true, "404 page of a gateway", failure("unexpected_response", { httpStatus: 404 })],
    [true, "a redirect", failure("unexpected_response", { httpStatus: 302 })],
    [true, "an unreadable 202", failure("unexpected_response", { httpStatus: 202, retryable: true })],
    [true, "no answer in time", failure("timeout", { retryable: true })],
    [true, "a broken connection", failure("network_error", { retryable: true })],
  ])("%s: %s", (expected, _what, error) => {
    expect(mayHaveCreatedTask(error)).toBe(expected);
    expect(mayHaveCreatedTask(error.withIds({ taskId: "t", idempotencyKey: "k" }))).toBe(expected);
  });
});

it("waits longer after each 429 that states no time, or a short one", () => {
  for (const retryAfterSeconds of [0, 1]) {
    const pauses = [1, 2, 3, 4].map((count) =>
      decideAfterFailure(failure("rate_limit", { retryAfterSeconds }), count, half),
    );
    expect(pauses).toEqual([1500, 3000, 6000, 12_000].map((pauseMs) => ({ kind: "rate_limited", pauseMs })));
  }
});

it("backs off between 1 s and 30 s, whatever the attempt", () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, chance) => {
        const delayMs = computeBackoffMs(attempt, () => chance);
        expect(delayMs).toBeGreaterThanOrEqual(1000);
        expect(delayMs).toBeLessThanOrEqual(30_000);
      },
    ),
  );
});

describe("Retry-After", () => {
  it.each([
    ["60", 60],
    ["0", 0],
    [" 5 ", 5],
    ["601", 600],
    ["99999999999999999999", 600],
    [new Date(NOW + 30_000).toUTCString(), 30],
    ["Thu, 15 Jan 2026 12:02:00 GMT", 120],
    ["Thursday, 15-Jan-26 12:02:00 GMT", 120],
    ["Thu Jan 15 12:02:00 2026", 120],
    [new Date(NOW + 86_400_000).toUTCString(), 600],
    [new Date(NOW - 1000).toUTCString(), 60],
    ["-5", 60],
    ["1.5", 60],
    ["1e3", 60],
    ["0x10", 60],
    ["soon", 60],
    ["", 60],
    ["60, 60", 60],
    [undefined, 60],
  ])("of %j means %i s", (header, seconds) => {
    expect(parseRetryAfterSeconds(header, NOW)).toBe(seconds);
  });

  it("is always a number from 0 to 600", () => {
    const anything = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(anything, (header) => {
        const seconds = parseRetryAfterSeconds(header, NOW);
        expect(seconds).toBeGreaterThanOrEqual(0);
        expect(seconds).toBeLessThanOrEqual(600);
      }),
    );
  });

  it.each([
    ["a service an hour ahead", NOW + 3_600_000, 3],
    ["a service ten minutes behind", NOW - 600_000, 20],
    ["a service in another year", Date.UTC(2019, 5, 1), 0],
  ])("measures a date by the answer's own Date: %s", (_what, sentAtMs, seconds) => {
    const [sentAt, until] = [sentAtMs, sentAtMs + seconds * 1000].map((ms) => new Date(ms).toUTCString());
    expect(parseRetryAfterSeconds(until, NOW, sentAt)).toBe(seconds);
    const rfc850 = sentAt?.replace(/^(\w+), (\d\d) (\w+) \d\d(\d\d)/, "Friday, $2-$3-$4");
    expect(parseRetryAfterSeconds(until, NOW, rfc850)).toBe(seconds);
    expect(parseRetryAfterSeconds("7", NOW, sentAt)).toBe(7);
  });

  it.each(["", "now", "0"])("measures a date by this machine's clock if Date is %j", (sentAt) => {
    expect(parseRetryAfterSeconds(new Date(NOW + 5000).toUTCString(), NOW, sentAt)).toBe(5);
  });

  it("round-trips every date within the cap", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 600 }), (seconds) => {
        expect(parseRetryAfterSeconds(new Date(NOW + seconds * 1000).toUTCString(), NOW)).toBe(seconds);
      }),
    );
  });
});
