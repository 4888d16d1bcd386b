/** The ledger's records: how they change, and what happens to damaged and lost ones. */
import { randomUUID } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { systemClock } from "../../src/clock.ts";
import { deriveApiKeyId, deriveRecordId, toRequestLookupKey } from "../../src/ledger/identity.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import { type RequestEvent, UNSENT_ATTEMPT } from "../../src/ledger/lifecycle.ts";
import { type RequestRecord, toRow } from "../../src/ledger/record.ts";
import type { AdmissionLimits } from "../../src/ledger/rules/admission.ts";
import type { LedgerIdentity, LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { BUDGET_WINDOW_MS } from "../../src/limits/timing.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { failureOf } from "../api/failure.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openSqliteStore } from "../support/sqlite-ledger.ts";
import { sampleRecord } from "./sample-record.ts";

const WALL_MS = 1_800_000_000_123;
const NO_LIMITS: AdmissionLimits = {
  maxSubmissions: 1000,
  limitWindowMs: 60_000,
  maxConcurrentTasks: 1000,
  unresolvedSlotTtlMs: 30_000,
  budget: null,
};

/** Opens the same store for another API key or process. */
type OpenStore = (identity: LedgerIdentity) => LedgerStore;

/** The ledgers of one test. Each test has its own service address, because the tests share a store. */
class Fixture {
  readonly baseUrl = `https://${randomUUID()}`;
  readonly logged: string[] = [];
  readonly #open: OpenStore;

  constructor(open: OpenStore) {
    this.#open = open;
  }

  ledger(account = "account", processId = createProcessId()): Ledger {
    const log = createLog(
      "warn",
      (text) => text,
      (line) => this.logged.push(line),
    );
    const identity = { baseUrl: this.baseUrl, apiKeyId: deriveApiKeyId(this.baseUrl, account), processId };
    const store = this.#open(identity);
    onTestFinished(() => store.close());
    return new Ledger(store, identity, { wallMs: () => WALL_MS }, log);
  }
}

/** Builds a record for the API key of a ledger, and does not store it. */
function draft(ledger: Ledger, changes: Partial<RequestRecord> = {}): RequestRecord {
  const { baseUrl, apiKeyId } = ledger.identity;
  const requestFingerprint = changes.requestFingerprint ?? randomUUID();
  const names = {
    requestFingerprint,
    recordId: deriveRecordId(requestFingerprint, apiKeyId),
    baseUrl,
    apiKeyId,
  };
  return sampleRecord({ ...UNSENT_ATTEMPT, revision: 0, createdAtMs: WALL_MS, ...names, ...changes });
}

async function claimed(ledger: Ledger, changes: Partial<RequestRecord> = {}): Promise<RequestRecord> {
  return (await ledger.acquireLease(draft(ledger, changes))).record;
}

async function sent(ledger: Ledger, record: RequestRecord, send: string): Promise<RequestRecord> {
  const admitted = await ledger.requestAdmission(record, send, NO_LIMITS);
  if (admitted.kind !== "admitted") throw new Error(admitted.kind);
  return admitted.record;
}

const observedEvent = (status: ObservedTask["status"], taskId = "task-1", attempt = 1): RequestEvent => ({
  kind: "observed",
  attempt,
  task: { taskId, status, billing: null, audioSeconds: null, output: null, error: null, deviations: [] },
  atMs: WALL_MS,
});

/** Replaces the text of a record, and leaves its columns unchanged. */
async function damage(ledger: Ledger, record: RequestRecord, recordJson: string): Promise<void> {
  const { apiKeyId, recordId: id, revision } = record;
  const newRow = { ...toRow(record), revision: revision + 1, recordJson };
  const answer = await ledger.store.write({
    apiKeyId,
    recordId: id,
    expectedRevision: revision,
    newRow,
    durability: "survives_power_cut",
  });
  if (!answer.isWritten) throw new Error("not damaged");
}

async function rawText(ledger: Ledger, { requestFingerprint }: RequestRecord): Promise<string | undefined> {
  return (await ledger.store.recordSearch.findByLookupKey(toRequestLookupKey(requestFingerprint)))[0]
    ?.recordJson;
}

const textOf = (record: object): string => JSON.stringify(record);

function recordsSuite(name: string, open: () => OpenStore): void {
  describe(`records over ${name}`, () => {
    const newFixture = (): Fixture => new Fixture(open());

    it("are read as they were written, singly and in every list", async () => {
      const ledger = newFixture().ledger();
      const record = await claimed(ledger, { status: "processing", taskId: "task-1" });
      const saved = { path: "/out/a.mp3", sizeBytes: 1, sha256: "0", savedAtMs: 1, matchesFormat: true };
      const changed = await ledger.apply(record, { kind: "saved", file: saved });
      expect(changed).toEqual({ ...record, files: [saved], revision: changed?.revision });
      expect(changed?.revision).toBeGreaterThan(record.revision);
      expect(await ledger.get(record.recordId)).toEqual(changed);
      expect(await ledger.findByFingerprint(record.requestFingerprint)).toEqual([changed]);
      expect(await ledger.findByTask("task-1")).toEqual([changed]);
      expect(await ledger.findByPath("/out/a.mp3")).toEqual([changed]);
      expect(await ledger.list({ apiKeys: "own", mustBeResumable: true, limit: 9 })).toEqual([changed]);
      expect(await ledger.get("none")).toBeNull();
    });

    it("are plain JSON in the store, without an expiry", async () => {
      const ledger = newFixture().ledger();
      const record = await claimed(ledger);
      expect(JSON.parse((await rawText(ledger, record)) ?? "")).toEqual(record);
    });

    it.each([
      ["no JSON", () => '{"recordId":"record-1","revision":1'],
      ["JSON of something else", () => "[1,2,3,4,5,6,7,8,9,10]"],
      ["a record with a field lost", (record: RequestRecord) => textOf({ ...record, status: undefined })],
      ["another record", (record: RequestRecord) => textOf({ ...record, recordId: "record-9" })],
    ])("damaged to %s are set aside, reported, and never read as missing", async (_what, textFor) => {
      const fixture = newFixture();
      const ledger = fixture.ledger();
      const record = await claimed(ledger);
      const other = await claimed(ledger);
      const text = textFor(record);
      await damage(ledger, record, text);
      const failure = await failureOf(ledger.get(record.recordId));
      expect(failure.code).toBe("store_unavailable");
      expect(failure.message).toContain("set aside");
      expect(failure.remedy).toContain("same idempotency key");
      const asideKey = `set-aside:${record.recordId}:${WALL_MS}`;
      expect(fixture.logged.join()).toContain(asideKey);
      // A person can still read all that is left of the record.
      expect(await ledger.store.documents.get(asideKey)).toBe(text);
      expect(await ledger.get(record.recordId)).toBeNull();
      expect(await ledger.get(other.recordId)).toEqual(other);
    });

    it("that are damaged are skipped by lists, and reported", async () => {
      const fixture = newFixture();
      const ledger = fixture.ledger();
      const odd = await claimed(ledger);
      const sound = await claimed(ledger);
      await damage(ledger, odd, "{}");
      expect(await ledger.list({ apiKeys: "all", limit: 9 })).toEqual([sound]);
      expect(fixture.logged.join()).toContain("passed over");
    });

    it("of another account that are damaged are skipped silently, and those of this account are reported", async () => {
      const fixture = newFixture();
      const [mine, theirs] = [fixture.ledger("mine"), fixture.ledger("theirs")];
      const odd = await claimed(theirs, { requestFingerprint: "both" });
      await damage(theirs, odd, "{}");
      const own = await claimed(mine, { requestFingerprint: "both" });
      expect(await mine.findByFingerprint("both")).toEqual([own]);
      expect((await failureOf(theirs.findByFingerprint("both"))).message).toContain("set aside");
    });

    it("that were deleted are written again from memory once they have a task, and not before", async () => {
      const ledger = newFixture().ledger();
      const forget = (record: RequestRecord): Promise<void> => ledger.store.discard(record);
      const accepted = await ledger.apply(
        await sent(ledger, await claimed(ledger), "s"),
        observedEvent("queued"),
      );
      if (accepted === null) throw new Error("not accepted");
      await forget(accepted);
      const ended = await ledger.apply(accepted, observedEvent("processing"));
      expect(ended).toMatchObject({ status: "processing", taskId: "task-1" });
      expect(await ledger.get(accepted.recordId)).toEqual(ended);

      const unsent = await claimed(ledger);
      await forget(unsent);
      expect(
        await ledger.apply(unsent, { kind: "file_named", fileName: "story", fileToReplace: null }),
      ).toBeNull();
      expect(await ledger.get(unsent.recordId)).toBeNull();
    });
  });

  describe(`changes of records over ${name}`, () => {
    const newFixture = (): Fixture => new Fixture(open());

    it("from several processes at once are all made", async () => {
      const fixture = newFixture();
      const claim = await claimed(fixture.ledger(), { status: "succeeded", taskId: "task-1" });
      const record = await fixture
        .ledger()
        .apply(claim, { kind: "file_named", fileName: "a", fileToReplace: null });
      if (record === null) throw new Error("not named");
      const paths = Array.from({ length: 8 }, (_, at) => `/out/${at}.mp3`);
      await Promise.all(
        paths.map((path) => {
          const file = { path, sizeBytes: 1, sha256: "0", savedAtMs: 1, matchesFormat: true };
          return fixture.ledger().apply(record, { kind: "saved", file });
        }),
      );
      const stored = await fixture.ledger().get(record.recordId);
      expect(stored?.files.map(({ path }) => path).sort()).toEqual(paths);
      expect(stored?.revision).toBe(record.revision + paths.length);
    });

    it("that change nothing write nothing, and still return the handles that ended with them", async () => {
      const ledger = newFixture().ledger();
      const record = await sent(ledger, await claimed(ledger), "send-1");
      const sendOutcome = { sendId: "send-1", outcome: "unsent" } as const;
      const stale: RequestEvent = { kind: "task_vanished", taskId: "task-9" };
      expect(await ledger.apply(record, stale, { sendOutcome, lease: "release" })).toBe(record);
      expect(await ledger.get(record.recordId)).toEqual(record);
      const other = await claimed(ledger);
      const six = { ...NO_LIMITS, maxSubmissions: 1 };
      expect(await ledger.requestAdmission(other, "send-2", six)).toMatchObject({ kind: "admitted" });
    });

    it("that come late from a suspended process undo no changes of other processes", async () => {
      const fixture = newFixture();
      const [sleeper, other] = [fixture.ledger(), fixture.ledger()];
      const first = await sent(sleeper, await claimed(sleeper), "send-1");
      await sleeper.store.releaseLease(first.recordId);
      const second = await sent(other, (await other.acquireLease(first)).record, "send-2");
      expect(await sleeper.apply(first, { kind: "not_accepted", sendId: "send-1" })).toEqual(second);
      const accepted = await other.apply(second, observedEvent("queued"));
      expect(await sleeper.apply(first, { kind: "not_accepted", sendId: "send-1" })).toEqual(accepted);
      expect(await sleeper.releaseAdmission(first, "send-1")).toEqual(accepted);
      expect(await sleeper.requestAdmission(first, "send-3", NO_LIMITS)).toMatchObject({
        kind: "conflict",
        record: { taskId: "task-1" },
      });
    });

    it("that remove a record, repeated because their answer was lost, spare the record that was claimed again", async () => {
      const fixture = newFixture();
      const [first, other] = [fixture.ledger(), fixture.ledger()];
      const record = await sent(first, await claimed(first), "send-1");
      const { apiKeyId, recordId: id, revision: expectedRevision } = record;
      const removal = {
        apiKeyId,
        recordId: id,
        expectedRevision,
        newRow: null,
        durability: "survives_power_cut",
      } as const;
      expect(await first.store.write(removal)).toEqual({ isWritten: true });
      const anew = await sent(other, (await other.acquireLease(record)).record, "send-2");
      expect(await first.store.write(removal)).toEqual({ isWritten: false, recordJson: textOf(anew) });
      expect(await other.get(id)).toEqual(anew);
    });

    it("to a refused request cost nothing and are kept for 30 days, and an unused admission restores the earlier status", async () => {
      const ledger = newFixture().ledger();
      const claim = await claimed(ledger);
      const unused = await sent(ledger, claim, "send-1");
      const back = await ledger.releaseAdmission(unused, "send-1");
      expect(back).toEqual({ ...claim, revision: unused.revision + 1 });
      expect(await ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS)).toBe(0);
      const again = await sent(ledger, back ?? claim, "send-2");
      expect(await ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS)).toBe(150);
      const waiting = await ledger.apply(again, { kind: "not_accepted", sendId: "send-2" });
      expect(await ledger.store.admissions.sumSpentCredits(BUDGET_WINDOW_MS)).toBe(0);
      const error = { code: "invalid_request", message: "No." };
      const refused = await ledger.apply(waiting ?? again, { kind: "refused", error, atMs: WALL_MS });
      expect(refused).toMatchObject({ status: "waiting", refusal: { error } });
      expect(await ledger.get(claim.recordId)).toEqual(refused);
      await sent(ledger, await claimed(ledger), "send-3");
      expect(await ledger.get(claim.recordId)).toEqual(refused);
      const old = { kind: "refused", error, atMs: 1 } as const;
      expect(await ledger.apply(refused ?? again, old)).toMatchObject({ refusal: { atMs: old.atMs } });
      await sent(ledger, await claimed(ledger), "send-4");
      expect(await ledger.get(claim.recordId)).toBeNull();
      expect(await ledger.findByFingerprint(claim.requestFingerprint)).toEqual([]);
    });
  });

  describe(`leases over ${name}`, () => {
    const newFixture = (): Fixture => new Fixture(open());

    it("belong to one process, and pass to another once that is certainly dead", async () => {
      const fixture = newFixture();
      const [machineHash, , random] = createProcessId().split(".");
      // In practice, no process of Linux, macOS or Windows has an id as large as 4194999.
      const dead = fixture.ledger("account", `${machineHash}.4194999.${random}`);
      const record = await claimed(dead);
      const first = fixture.ledger();
      expect(await first.acquireLease(record)).toEqual({ record, isOurs: true });
      expect(await fixture.ledger().acquireLease(record)).toEqual({ record, isOurs: false });
      const elsewhere = fixture.ledger("account", `0123456789abcdef.4194999.${random}`);
      const theirs = await claimed(elsewhere);
      expect((await first.acquireLease(theirs)).isOurs).toBe(false);
    });
  });

  describe(`a task that two keys name, over ${name}`, () => {
    const newFixture = (): Fixture => new Fixture(open());
    const named = async (ledger: Ledger, createdAtMs: number): Promise<RequestRecord> =>
      await claimed(ledger, { requestFingerprint: "work", taskId: "task-1", status: "queued", createdAtMs });

    it("is listed once, by the record of the key that lists", async () => {
      const fixture = newFixture();
      const [mine, theirs] = [fixture.ledger("mine"), fixture.ledger("theirs")];
      const old = await named(theirs, 2);
      const own = await named(mine, 2);
      const first = await claimed(theirs, { createdAtMs: 1 });
      const second = await claimed(mine, { createdAtMs: 0 });
      expect(await mine.list({ apiKeys: "all", limit: 9 })).toEqual([own, first, second]);
      expect(await theirs.list({ apiKeys: "all", limit: 9 })).toEqual([old, first, second]);
      // The list has as many entries as requested, although it omits the other record of the same task.
      expect(await mine.list({ apiKeys: "all", limit: 2 })).toEqual([own, first]);
    });
  });
}

describe("with a file", () => {
  recordsSuite("SQLite", () => {
    const stateDir = scratchFolder();
    return (identity) => openSqliteStore({ stateDir, clock: systemClock, identity });
  });
});
