/** Tests of records for every store: compare and set, leases, and queries. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { toPathLookupKey, toRequestLookupKey, toTaskLookupKey } from "../../../src/ledger/identity.ts";
import { toRow } from "../../../src/ledger/record.ts";
import type { RecordJsonRow } from "../../../src/ledger/store/record-rows.ts";
import type { ListQuery } from "../../../src/ledger/store/record-search.ts";
import { LEASE_MS, MINUTE_MS, reasonOf, type StoreFixture, type StoreSetup, savedAt } from "./store-setup.ts";

const idsOf = (found: readonly RecordJsonRow[]): string[] => found.map(({ recordId }) => recordId);

export function recordsSuite(fixture: () => StoreFixture, newSetup: () => StoreSetup): void {
  describe("a part of a narration", () => {
    it("is in no list of requests until it is requested separately", async () => {
      const setup = newSetup();
      const shown = await setup.put(setup.record({ createdAtMs: 1 }));
      const part = await setup.put(
        setup.record({ createdAtMs: 2, isListed: false, status: "queued", files: [] }),
      );
      const all = async (): Promise<string[]> => [
        ...idsOf(await setup.store().recordSearch.list({ apiKeys: "all", limit: 10 })),
        ...idsOf(await setup.store().recordSearch.list({ apiKeys: "all", status: "queued", limit: 10 })),
      ];
      expect(await all()).not.toContain(part.recordId);
      expect(await all()).toContain(shown.recordId);
      const open = { mustBeResumable: true, limit: 10 } as const;
      expect(idsOf(await setup.store().recordSearch.list({ apiKeys: "own", ...open }))).toContain(
        part.recordId,
      );
      expect(idsOf(await setup.store().recordSearch.list({ apiKeys: "all", ...open }))).toContain(
        part.recordId,
      );
      expect(
        idsOf(await setup.store().recordSearch.findByLookupKey(toRequestLookupKey(part.requestFingerprint))),
      ).toEqual([part.recordId]);
      await setup.change(part, { isListed: true });
      expect(await all()).toContain(part.recordId);
    });
  });

  describe("a write", () => {
    it("takes effect only on the revision that it expects", async () => {
      const setup = newSetup();
      const record = await setup.put(setup.record());
      const next = await setup.change(record, { fileName: "first.mp3" });
      const late = await setup.write(record, { fileName: "late.mp3" });
      expect(late).toEqual({ isWritten: false, recordJson: toRow(next).recordJson });
      expect(await setup.stored(record)).toEqual(next);
    });

    it("to create a record is refused if it exists, and to change one if it is gone", async () => {
      const setup = newSetup();
      const record = await setup.put(setup.record());
      const { apiKeyId, recordId } = record;
      const anew = {
        apiKeyId,
        recordId,
        expectedRevision: null,
        newRow: toRow(setup.record({ recordId })),
        durability: "survives_power_cut" as const,
      };
      expect(await setup.store().write(anew)).toEqual({
        isWritten: false,
        recordJson: toRow(record).recordJson,
      });
      expect(await setup.remove(record)).toEqual({ isWritten: true });
      expect(await setup.stored(record)).toBeUndefined();
      // A deletion is repeated if its answer is lost.
      expect(await setup.remove(record)).toEqual({ isWritten: true });
      expect(await setup.write(record, {})).toEqual({ isWritten: false, recordJson: undefined });
      expect(await setup.store().write(anew)).toEqual({ isWritten: true });
    });

    it("releases a rate slot whether it takes effect or not", async () => {
      const setup = newSetup();
      const two = { maxSubmissions: 2 };
      const first = await setup.ask(two);
      const second = await setup.ask(two);
      fixture().advance(40_000);
      await setup.write(first.record, {}, { sendOutcome: { sendId: first.sendId, outcome: "sent" } });
      const stale = { ...second.record, revision: 1, fileName: "stale.mp3" };
      const lost = await setup.write(
        stale,
        {},
        { sendOutcome: { sendId: second.sendId, outcome: "unsent" } },
      );
      expect(lost.isWritten).toBe(false);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
      fixture().advance(50_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("rate");
      fixture().advance(11_000);
      expect(reasonOf(await setup.ask({ maxSubmissions: 1 }))).toBe("admitted");
    });

    it("is read as it was written", async () => {
      const setup = newSetup();
      const first = await setup.put(setup.record({ input: '{"prompt":"Grüße, 世界 🎧 \\u2028 :base64:"}' }));
      const second = await setup.put({ ...setup.record(), tomorrow: { kept: [1] } });
      expect(await setup.stored(first)).toEqual(first);
      expect(await setup.stored(second)).toEqual(second);
      expect(await setup.stored({ recordId: "none" })).toBeUndefined();
    });
  });

  describe("leases", () => {
    it("belong to one process until released", async () => {
      const setup = newSetup();
      const record = setup.record();
      const recordJson = toRow(record).recordJson;
      expect(await setup.claim(record, "a")).toEqual({ leaseOwner: "a", recordJson });
      expect(await setup.claim({ ...record, fileName: "theirs" }, "b")).toEqual({
        leaseOwner: "a",
        recordJson,
      });
      await setup.store("b").releaseLease(record.recordId);
      expect((await setup.claim(record, "b")).leaseOwner).toBe("a");
      await setup.store("a").releaseLease(record.recordId);
      expect(await setup.claim(record, "b")).toEqual({ leaseOwner: "b", recordJson });
    });

    it("lapse, unless they are renewed", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record, "a");
      fixture().advance(40_000);
      expect(await setup.store("a").heartbeat([record.recordId])).toEqual([]);
      fixture().advance(40_000);
      expect((await setup.claim(record, "b")).leaseOwner).toBe("a");
      fixture().advance(21_000);
      expect((await setup.claim(record, "b")).leaseOwner).toBe("b");
    });

    it("are renewed by a write of their owner, and by no other write", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record, "a");
      fixture().advance(50_000);
      const next = await setup.change(record, { fileName: "a.mp3" }, undefined, "a");
      fixture().advance(50_000);
      expect((await setup.claim(record, "b")).leaseOwner).toBe("a");
      await setup.write(next, {}, {}, "b");
      fixture().advance(11_000);
      expect((await setup.claim(record, "b")).leaseOwner).toBe("b");
    });

    it("can be released with a write, by each process only its own", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record, "a");
      const next = await setup.change(record, {});
      await setup.write(next, {}, { lease: "release" }, "b");
      expect((await setup.claim(record, "b")).leaseOwner).toBe("a");
      await setup.write({ ...next, revision: next.revision + 1 }, {}, { lease: "release" }, "a");
      expect((await setup.claim(record, "b")).leaseOwner).toBe("b");
    });

    it("that are lost are reported, and not acquired again by a heartbeat", async () => {
      const setup = newSetup();
      const [kept, lost, released] = [setup.record(), setup.record(), setup.record()];
      for (const record of [kept, lost, released]) await setup.claim(record, "a");
      fixture().advance(LEASE_MS + 1);
      await setup.claim(lost, "b");
      await setup.store("a").releaseLease(released.recordId);
      const ids = [kept.recordId, lost.recordId, released.recordId, "none"];
      expect(await setup.store("a").heartbeat(ids)).toEqual(ids.slice(1));
      expect((await setup.claim(kept, "b")).leaseOwner).toBe("a");
      expect((await setup.claim(released, "b")).leaseOwner).toBe("b");
    });

    it("can be taken over only from the process that is known to be dead", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record, "a");
      expect((await setup.claim(record, "b", "c")).leaseOwner).toBe("a");
      expect((await setup.claim(record, "b", "a")).leaseOwner).toBe("b");
      expect((await setup.claim(record, "c", "a")).leaseOwner).toBe("b");
    });

    it("from before a restart of the clock last one more duration, not forever", async () => {
      const setup = newSetup();
      const record = setup.record();
      await setup.claim(record, "a");
      fixture().putBack();
      expect((await setup.claim(record, "b")).leaseOwner).toBe("a");
      fixture().advance(MINUTE_MS + 1000);
      expect((await setup.claim(record, "b")).leaseOwner).toBe("b");
    });
  });

  describe("lists", () => {
    it("contain the newest first, by account, status and open work, of one service", async () => {
      const setup = newSetup();
      const withOtherKey = setup.withOtherKey();
      const at = (ms: number) => ({
        recordId: `${setup.apiKeyId} ${ms}`,
        createdAtMs: 1_800_000_000_000 + ms,
      });
      await setup.put(setup.record({ ...at(1), status: "failed" }));
      await setup.put(setup.record({ ...at(4), status: "succeeded", taskId: "t4" }));
      await setup.put(setup.record({ ...at(3), status: "succeeded", taskId: "t3", files: [savedAt("/a")] }));
      await withOtherKey.put(withOtherKey.record({ ...at(2), status: "queued", taskId: "t2" }));
      await withOtherKey.put(withOtherKey.record({ ...at(5), status: "processing", taskId: "t5" }));
      const otherSetup = newSetup();
      await otherSetup.put(otherSetup.record());

      const ids = async (query: Partial<ListQuery>): Promise<string> =>
        idsOf(await setup.store().recordSearch.list({ apiKeys: "all", limit: 10, ...query }))
          .map((id) => id.slice(-1))
          .join("");
      expect(await ids({})).toBe("54321");
      expect(await ids({ limit: 2 })).toBe("54");
      expect(await ids({ apiKeys: "own" })).toBe("431");
      expect(await ids({ apiKeys: "own", limit: 1 })).toBe("4");
      expect(await ids({ status: "succeeded" })).toBe("43");
      expect(await ids({ status: "queued", apiKeys: "own" })).toBe("");
      expect(await ids({ mustBeResumable: true })).toBe("542");
      expect(await ids({ mustBeResumable: true, limit: 1 })).toBe("5");
      expect(await ids({ mustBeResumable: true, apiKeys: "own" })).toBe("4");
      expect(await ids({ mustBeResumable: true, status: "succeeded", apiKeys: "own" })).toBe("4");
      expect(await ids({ mustBeResumable: true, status: "failed" })).toBe("");
    });

    it("reflect each write, with the current value", async () => {
      const setup = newSetup();
      const record = await setup.put(setup.record({ status: "queued", taskId: "t" }));
      const ended = await setup.change(record, { status: "failed" });
      const { apiKeyId, recordId } = record;
      const listed = { apiKeyId, recordId, recordJson: toRow(ended).recordJson };
      expect(await setup.store().recordSearch.list({ apiKeys: "own", limit: 9 })).toEqual([listed]);
      expect(await setup.store().recordSearch.list({ apiKeys: "own", status: "queued", limit: 9 })).toEqual(
        [],
      );
      expect(await setup.store().recordSearch.list({ apiKeys: "own", status: "failed", limit: 9 })).toEqual([
        listed,
      ]);
      expect(
        await setup.store().recordSearch.list({ apiKeys: "own", mustBeResumable: true, limit: 9 }),
      ).toEqual([]);
      await setup.remove(ended);
      expect(await setup.store().recordSearch.list({ apiKeys: "own", limit: 9 })).toEqual([]);
    });
  });

  it("find records by work, task and file, this account's first, and none that are deleted", async () => {
    const setup = newSetup();
    const withOtherKey = setup.withOtherKey();
    const requestFingerprint = randomUUID();
    const path = `/audio/${requestFingerprint}.mp3`;
    const about = {
      requestFingerprint,
      status: "succeeded" as const,
      taskId: "t",
      files: [savedAt(path), savedAt(path)],
    };
    const theirs = await withOtherKey.put(withOtherKey.record({ ...about, createdAtMs: 1 }));
    const ours = await setup.put(setup.record({ ...about, createdAtMs: 2 }));
    const both = [ours.recordId, theirs.recordId];
    const store = setup.store();
    expect(idsOf(await store.recordSearch.findByLookupKey(toRequestLookupKey(requestFingerprint)))).toEqual(
      both,
    );
    expect(idsOf(await store.recordSearch.findByLookupKey(toTaskLookupKey(setup.baseUrl, "t")))).toEqual(
      both,
    );
    expect(idsOf(await store.recordSearch.findByLookupKey(toPathLookupKey(path)))).toEqual(both);
    expect(idsOf(await withOtherKey.store().recordSearch.findByLookupKey(toPathLookupKey(path)))).toEqual(
      [...both].reverse(),
    );
    expect(await store.recordSearch.findByLookupKey(toTaskLookupKey(setup.baseUrl, "unknown"))).toEqual([]);
    const otherSetup = newSetup();
    expect(
      await otherSetup.store().recordSearch.findByLookupKey(toTaskLookupKey(otherSetup.baseUrl, "t")),
    ).toEqual([]);

    await setup.change(ours, { files: [savedAt(`${path}.2`)], taskId: "t2" });
    expect(idsOf(await store.recordSearch.findByLookupKey(toPathLookupKey(path)))).toEqual([theirs.recordId]);
    expect(idsOf(await store.recordSearch.findByLookupKey(toPathLookupKey(`${path}.2`)))).toEqual([
      ours.recordId,
    ]);
    expect(idsOf(await store.recordSearch.findByLookupKey(toTaskLookupKey(setup.baseUrl, "t")))).toEqual([
      theirs.recordId,
    ]);
    await withOtherKey.remove(theirs);
    expect(await store.recordSearch.findByLookupKey(toPathLookupKey(path))).toEqual([]);
    expect(idsOf(await store.recordSearch.findByLookupKey(toRequestLookupKey(requestFingerprint)))).toEqual([
      ours.recordId,
    ]);
  });

  it("contain records whose write is not finished", async () => {
    const store = newSetup().store();
    expect(store.description).not.toBe("");
    expect(Array.isArray(await store.check())).toBe(true);
  });
}
