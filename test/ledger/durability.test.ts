/** Which writes of a record are on the disk before anybody goes on: all that the service would not tell again. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { rowOf, type TaskRecord } from "../../src/ledger/record.ts";
import { type Durability, LedgerDatabase } from "../../src/ledger/sqlite/database.ts";
import { openSqliteStore } from "../../src/ledger/sqlite/sqlite-store.ts";
import { durabilityOf } from "../../src/ledger/sqlite/writes.ts";
import { createLog } from "../../src/log.ts";
import { scratchFolder } from "../support/scratch.ts";
import { aRecord } from "./a-record.ts";

const log = createLog("silent", (text) => text);
const AT_MS = 1_800_000_000_000;

const spend = (credits: number): TaskRecord["spend"] => ({ credits, atMs: AT_MS });
const WAITING: Partial<TaskRecord> = { status: "waiting", taskId: null };
const SENT: Partial<TaskRecord> = { status: "unresolved", taskId: null, spend: spend(150) };
const QUEUED: Partial<TaskRecord> = { status: "queued", spend: spend(150) };
const RUNNING: Partial<TaskRecord> = { status: "processing", spend: spend(150) };
const ENDED: Partial<TaskRecord> = { status: "succeeded", spend: spend(20) };
const FILE = { path: "/out/a.mp3", sizeBytes: 1, sha256: "00", savedAtMs: AT_MS, isSound: true };

async function durability(
  before: Partial<TaskRecord> | null,
  after: Partial<TaskRecord> | null,
  isDear = false,
): Promise<Durability> {
  const { accountId, recordId, origin } = aRecord();
  const stateDir = scratchFolder();
  const identity = { origin, accountId, holder: "holder" };
  const store = openSqliteStore({ stateDir, log, clock: systemClock, identity });
  const database = new LedgerDatabase({ stateDir, log, clock: systemClock });
  onTestFinished(async () => {
    database.close();
    await store.close();
  });
  const write = { accountId, recordId, isDear };
  if (before !== null) {
    await store.write({ ...write, expectedRevision: null, after: rowOf(aRecord(before)) });
  }
  const row = after === null ? null : rowOf(aRecord({ ...after, revision: 2 }));
  return await database.read((session) =>
    durabilityOf(session, { ...write, expectedRevision: 1, after: row }),
  );
}

it.each<[string, Partial<TaskRecord> | null, Partial<TaskRecord> | null]>([
  ["a claim", null, WAITING],
  ["that a create is about to leave", WAITING, SENT],
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
  ["a claim taken back", WAITING, null],
])("%s survives a power cut", async (_what, before, after) => {
  expect(await durability(before, after)).toBe("power_cut");
});

it.each<[string, Partial<TaskRecord>, Partial<TaskRecord>]>([
  ["that it runs", QUEUED, RUNNING],
  ["when it was asked for", RUNNING, { ...RUNNING, polledAtMs: AT_MS }],
  ["that it has ended, and for less than was reserved", RUNNING, ENDED],
])("%s survives the end of every process, for the service tells it again", async (_what, before, after) => {
  expect(await durability(before, after)).toBe("process_kill");
});

it("what a call was promised as a task of the protocol survives a power cut", async () => {
  expect(await durability(RUNNING, { ...RUNNING, polledAtMs: AT_MS }, true)).toBe("power_cut");
});

it("a write that meets another row than it expects is not trusted to be a small one", async () => {
  expect(await durability({ ...RUNNING, revision: 3 }, { ...RUNNING, polledAtMs: AT_MS })).toBe("power_cut");
});
