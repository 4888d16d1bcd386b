/** The default wait of a client that has given up a call. */
import { expect, it } from "vitest";
import { isCancelledByCaller } from "../../src/call-cancellation.ts";
import { ClientTimeout } from "../../src/server/client.ts";

it("is the default wait until the client gives up a call", () => {
  expect(new ClientTimeout().capWaitSeconds(45)).toBe(45);
});

it.each([
  ["two thirds of the time that the client waited", [60_000], 40],
  ["that of the shortest time", [60_000, 30_000, 45_000], 20],
  ["the default wait, if the client waited longer", [600_000], 45],
  ["a second, even if a person stopped the call at once", [200], 1],
])("is %s", (_, waitedMs, waitSeconds) => {
  const timeout = new ClientTimeout();
  for (const ms of waitedMs) timeout.recordGiveUp(ms);
  expect(timeout.capWaitSeconds(45)).toBe(waitSeconds);
});

it.each([
  "context deadline exceeded",
  "rpc error: code = DeadlineExceeded",
  "deadline has elapsed",
  "MCP error -32001: Request timed out",
  "execution expired",
  "java.util.concurrent.TimeoutException: Did not observe any item within 30000ms",
  "The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing.",
  "no response within 60s",
  "took too long",
  "tool call exceeded 45000 ms",
  "ETIMEDOUT",
  "请求超时",
  "connection reset by peer",
  "transport closed",
  "client disconnected",
  "unexpected EOF",
])("a client that cancels a call only stops waiting if it says %j", (reason) => {
  expect(isCancelledByCaller(reason)).toBe(false);
});

it.each([
  "context canceled",
  "Canceled",
  "user requested cancellation",
  "The user aborted this because it took too long",
  "cancelled by user after 30 s",
  "AbortError: This operation was aborted",
  "not needed any more",
  "wrong voice, stop at the end of chapter 3",
  "",
  undefined,
])("a client that cancels a call wants the work to stop if it says %j", (reason) => {
  expect(isCancelledByCaller(reason)).toBe(true);
});
