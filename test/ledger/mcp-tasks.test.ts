/** The rules of MCP tasks: when one is shared, when it ends, and how. */
import { describe, expect, it } from "vitest";
import { toRow } from "../../src/ledger/record.ts";
import {
  cancelMcpTask,
  endMcpTask,
  endMcpTasksOfRequeuedRecord,
  type McpTask,
  type McpTaskTarget,
  parseMcpTaskTarget,
  reuseOrOpenRequestMcpTask,
} from "../../src/ledger/rules/mcp-task.ts";
import type { SaveOptions } from "../../src/ledger/rules/save-options.ts";
import { sampleRecord } from "./sample-record.ts";

const SAVE_OPTIONS: SaveOptions = { fileName: null, mayReplace: false };
const WAITING: McpTaskTarget = { status: "waiting", attempt: 1, taskId: null };
const SENT: McpTaskTarget = { ...WAITING, status: "unresolved" };
const FAILED: McpTaskTarget = { status: "failed", attempt: 1, taskId: "task-1" };

function open(
  mcpTasks: readonly McpTask[],
  {
    mcpTask = "new",
    target = WAITING,
    saveOptions = SAVE_OPTIONS,
  }: { mcpTask?: string; target?: McpTaskTarget; saveOptions?: SaveOptions } = {},
): McpTask {
  const draft = { mcpTaskId: mcpTask, apiKeyId: "account", targetId: "record", openedAtMs: 10 };
  return reuseOrOpenRequestMcpTask(mcpTasks, target, draft, saveOptions);
}

const only = open([], { mcpTask: "one" });

describe("an MCP task", () => {
  it("is shared by calls for the same request and options, and by no others", () => {
    expect(open([only])).toBe(only);
    expect(open([only], { saveOptions: { fileName: "x", mayReplace: false } }).mcpTaskId).toBe("new");
    expect(open([only], { saveOptions: { fileName: null, mayReplace: true } }).mcpTaskId).toBe("new");
  });

  it("ends at once if it is cancelled before the send, and is no longer shared", () => {
    const cancelled = cancelMcpTask(only, WAITING, 900);
    expect(cancelled).toMatchObject({ end: { kind: "cancelled" }, endedAtMs: 900 });
    expect(cancelMcpTask(cancelled, WAITING, 950)).toBe(cancelled);
    expect(open([cancelled]).mcpTaskId).toBe("new");
  });

  it("ends only once the service has certainly not accepted its create", () => {
    const asked = cancelMcpTask(only, SENT, 900);
    expect(asked).toMatchObject({ end: null, cancelRequestedAtMs: 900 });
    expect(open([asked], { target: SENT }).mcpTaskId).toBe("new");
    expect(endMcpTasksOfRequeuedRecord([asked, open([], { mcpTask: "two" })], null)).toEqual([
      { ...asked, end: { kind: "cancelled" }, endedAtMs: 900 },
    ]);
  });

  it("ends once: later events change nothing", () => {
    const done = endMcpTask(only, { kind: "done" }, 1);
    expect(endMcpTask(done, { kind: "error" }, 2)).toBe(done);
    expect(cancelMcpTask(done, WAITING, 3)).toBe(done);
  });

  it("keeps the failure of its attempt when a new call continues, and continues during a free retry", () => {
    const error = { code: "task_failed", message: "lost" };
    const next = open([only], { mcpTask: "next", target: FAILED });
    expect(next).toMatchObject({ mcpTaskId: "next", firstAttempt: 2, saveOptions: { replayed: false } });
    expect(endMcpTasksOfRequeuedRecord([only, next], null)).toEqual([]);
    expect(endMcpTasksOfRequeuedRecord([only, next], { attempt: 1, error, atMs: 70 })).toMatchObject([
      { mcpTaskId: "one", endedAtMs: 70, end: { kind: "error", error } },
    ]);
  });

  it("does not exist for a damaged record", () => {
    expect(parseMcpTaskTarget(undefined)).toBeNull();
    expect(parseMcpTaskTarget("{")).toBeNull();
    expect(parseMcpTaskTarget("{}")).toBeNull();
    expect(parseMcpTaskTarget(toRow(sampleRecord()).recordJson)).toMatchObject({ attempt: 1 });
  });
});
