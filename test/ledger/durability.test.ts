/** Tests which writes of a record survive a power cut: those with a fact that the service could not report again. */
import { expect, it } from "vitest";
import type { RequestRecord } from "../../src/ledger/record.ts";
import { type Durability, decideDurability } from "../../src/ledger/rules/durability.ts";
import { sampleRecord } from "./sample-record.ts";

const AT_MS = 1_800_000_000_000;

const spend = (credits: number): RequestRecord["spend"] => ({ credits, atMs: AT_MS });
const WAITING: Partial<RequestRecord> = { status: "waiting", taskId: null };
const SENT: Partial<RequestRecord> = { status: "unresolved", taskId: null, spend: spend(150) };
const QUEUED: Partial<RequestRecord> = { status: "queued", spend: spend(150) };
const RUNNING: Partial<RequestRecord> = { status: "processing", spend: spend(150) };
const ENDED: Partial<RequestRecord> = { status: "succeeded", spend: spend(20) };

function durability(before: Partial<RequestRecord> | null, after: Partial<RequestRecord> | null): Durability {
  const whole = (changes: Partial<RequestRecord> | null): RequestRecord | null =>
    changes === null ? null : sampleRecord(changes);
  return decideDurability(whole(before), whole(after));
}

const FILE = { path: "/out/a.mp3", sizeBytes: 1, sha256: "00", savedAtMs: AT_MS, matchesFormat: true };

it.each<[string, Partial<RequestRecord> | null, Partial<RequestRecord> | null]>([
  ["the first write of a record", null, WAITING],
  ["that a submission is about to leave", WAITING, SENT],
  ["the task id", SENT, QUEUED],
  ["another task id", QUEUED, { ...QUEUED, taskId: "task-2" }],
  ["more spent than was known", RUNNING, { ...RUNNING, spend: spend(151) }],
  ["the saved file", ENDED, { ...ENDED, files: [FILE] }],
  ["that nothing is left to be asked for", RUNNING, { ...ENDED, files: [FILE] }],
  ["a failure, which ends the record", RUNNING, { status: "failed", spend: null }],
  [
    "the failure of a task that was made elsewhere",
    { ...RUNNING, spend: null },
    { status: "failed", spend: null },
  ],
  ["that the task is gone", RUNNING, { ...RUNNING, isGone: true, spend: null }],
  ["the removal of a record that was never sent", WAITING, null],
])("%s survives a power cut", (_what, before, after) => {
  expect(durability(before, after)).toBe("survives_power_cut");
});

it.each<[string, Partial<RequestRecord>, Partial<RequestRecord>]>([
  ["that it runs", QUEUED, RUNNING],
  ["when it was asked for", RUNNING, { ...RUNNING, polledAtMs: AT_MS }],
  ["that it has ended, and for less than was reserved", RUNNING, ENDED],
])("%s survives the end of every process, because the service states it again", (_what, before, after) => {
  expect(durability(before, after)).toBe("survives_process_kill");
});
