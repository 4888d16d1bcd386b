/** The rules of handles: when one is shared, when it ends, and how. */
import { describe, expect, it } from "vitest";
import { toRow } from "../../src/ledger/record.ts";
import {
  type CallHandle,
  type CallHandleTarget,
  callHandlesEndedByWaiting,
  cancelCallHandle,
  endCallHandle,
  findOrCreateCallHandle,
  parseCallHandleTarget,
  type SaveOptions,
} from "../../src/ledger/rules/call-handle.ts";
import { sampleRecord } from "./sample-record.ts";

const SAVE_OPTIONS: SaveOptions = { fileName: null, mayReplace: false };
const WAITING: CallHandleTarget = { status: "waiting", attempt: 1, taskId: null };
const SENT: CallHandleTarget = { ...WAITING, status: "unresolved" };
const FAILED: CallHandleTarget = { status: "failed", attempt: 1, taskId: "task-1" };

function open(
  handles: readonly CallHandle[],
  {
    handle = "new",
    target = WAITING,
    saveOptions = SAVE_OPTIONS,
  }: { handle?: string; target?: CallHandleTarget; saveOptions?: SaveOptions } = {},
): CallHandle {
  const draft = { handleId: handle, apiKeyId: "account", targetId: "record", openedAtMs: 10 };
  return findOrCreateCallHandle(handles, target, draft, saveOptions);
}

const only = open([], { handle: "one" });

describe("a handle", () => {
  it("is shared by calls for the same request and options, and by no others", () => {
    expect(open([only])).toBe(only);
    expect(open([only], { saveOptions: { fileName: "x", mayReplace: false } }).handleId).toBe("new");
    expect(open([only], { saveOptions: { fileName: null, mayReplace: true } }).handleId).toBe("new");
  });

  it("ends at once if it is cancelled before the send, and is no longer shared", () => {
    const cancelled = cancelCallHandle(only, WAITING, 900);
    expect(cancelled).toMatchObject({ end: { kind: "cancelled" }, endedAtMs: 900 });
    expect(cancelCallHandle(cancelled, WAITING, 950)).toBe(cancelled);
    expect(open([cancelled]).handleId).toBe("new");
  });

  it("ends only once the service has certainly not accepted its create", () => {
    const asked = cancelCallHandle(only, SENT, 900);
    expect(asked).toMatchObject({ end: null, cancelRequestedAtMs: 900 });
    expect(open([asked], { target: SENT }).handleId).toBe("new");
    expect(callHandlesEndedByWaiting([asked, open([], { handle: "two" })], null)).toEqual([
      { ...asked, end: { kind: "cancelled" }, endedAtMs: 900 },
    ]);
  });

  it("ends once: later events change nothing", () => {
    const done = endCallHandle(only, { kind: "done" }, 1);
    expect(endCallHandle(done, { kind: "error" }, 2)).toBe(done);
    expect(cancelCallHandle(done, WAITING, 3)).toBe(done);
  });

  it("keeps the failure of its attempt when a new call continues, and continues during a free repeat", () => {
    const error = { code: "task_failed", message: "lost" };
    const next = open([only], { handle: "next", target: FAILED });
    expect(next).toMatchObject({ handleId: "next", attempt: 2, saveOptions: { replayed: false } });
    expect(callHandlesEndedByWaiting([only, next], null)).toEqual([]);
    expect(callHandlesEndedByWaiting([only, next], { attempt: 1, error, atMs: 70 })).toMatchObject([
      { handleId: "one", endedAtMs: 70, end: { kind: "error", error } },
    ]);
  });

  it("does not exist for a damaged record", () => {
    expect(parseCallHandleTarget(undefined)).toBeNull();
    expect(parseCallHandleTarget("{")).toBeNull();
    expect(parseCallHandleTarget("{}")).toBeNull();
    expect(parseCallHandleTarget(toRow(sampleRecord()).recordJson)).toMatchObject({ attempt: 1 });
  });
});
