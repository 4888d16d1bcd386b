/** The rows of requests on both engines: leases, guarded writes, lists, and refusals that are forgotten. */
import { describe, expect, it } from "vitest";
import { insertFile, listFiles } from "../../src/ledger/file-rows.ts";
import { LeaseLostError } from "../../src/ledger/ledger.ts";
import {
  acquireRequest,
  buildNextAttempt,
  findAttemptsOfTask,
  listRequests,
  releaseRequest,
  renewLeases,
  saveAsDriver,
} from "../../src/ledger/request-rows.ts";
import { deleteOldRefusals } from "../../src/ledger/sweep.ts";
import { databasesOfFile } from "../support/postgres-server.ts";
import { sampleFile } from "../support/sample-request.ts";
import { skipBecause } from "../support/skip-because.ts";
import { listEngines, openLedgerAt } from "./open-test-ledger.ts";
import { look, place } from "./place-request.ts";

const DAY_MS = 86_400_000;
const ALL = { statuses: null, apiKeys: "visible", limit: 100 } as const;

for (const { engine, whyNot, createPlace } of listEngines(databasesOfFile())) {
  describe(`a lease on ${engine}`, skipBecause(whyNot), () => {
    it("is held by one process, lapses unless it is renewed, and is returned at the end", async () => {
      const where = await createPlace();
      const [one, other] = [await openLedgerAt(where), await openLedgerAt(where)];
      const { leaseMs } = one.database;
      const row = await place(one, "text");
      expect(await acquireRequest(other, row.id)).toMatchObject({ isMine: false });
      where.clock.skip(leaseMs - 1);
      expect(await renewLeases(one, { requests: [row.id], narrations: [] })).toEqual(new Set([row.id]));
      where.clock.skip(leaseMs - 1);
      expect(await acquireRequest(other, row.id)).toMatchObject({ isMine: false });
      where.clock.skip(1);
      expect(await acquireRequest(other, row.id)).toMatchObject({ isMine: true });
      await releaseRequest(one, row.id);
      expect((await look(one, row)).owner).toBe(other.identity.processId);
      await releaseRequest(other, row.id);
      expect(await acquireRequest(one, row.id)).toMatchObject({ isMine: true });
    });

    it("goes to one of many that ask at the same time", async () => {
      const where = await createPlace();
      const first = await openLedgerAt(where);
      const row = await place(first, "text");
      await releaseRequest(first, row.id);
      const ledgers = await Promise.all(Array.from({ length: 8 }, () => openLedgerAt(where)));
      const acquired = await Promise.all(ledgers.map((ledger) => acquireRequest(ledger, row.id)));
      expect(acquired.filter(({ isMine }) => isMine)).toHaveLength(1);
    });

    it("that is lost is reported: nothing is written, and a renewal does not take it again", async () => {
      const where = await createPlace();
      const [one, other] = [await openLedgerAt(where), await openLedgerAt(where)];
      const row = await place(one, "text");
      where.clock.skip(one.database.leaseMs);
      await acquireRequest(other, row.id);
      expect(await renewLeases(one, { requests: [row.id], narrations: [] })).toEqual(new Set());
      await expect(saveAsDriver(one, row, { status: "queued", task_id: "late" })).rejects.toThrow(
        LeaseLostError,
      );
      expect(await look(one, row)).toMatchObject({
        status: "waiting",
        task_id: null,
        owner: other.identity.processId,
      });
    });

    it("of a process that was lost before the machine restarted is free", async () => {
      const where = await createPlace();
      const row = await place(await openLedgerAt(where), "text");
      where.clock.reboot();
      expect(await acquireRequest(await openLedgerAt(where), row.id)).toMatchObject({ isMine: true });
    });
  });

  describe(`a write on ${engine}`, skipBecause(whyNot), () => {
    it("to an attempt is refused once a newer attempt exists", async () => {
      const ledger = await openLedgerAt(await createPlace());
      const row = await place(ledger, "text");
      const failed = await saveAsDriver(ledger, row, {
        status: "failed",
        task_id: "one",
        charged_credits: 0,
      });
      const next = await saveAsDriver(ledger, failed, buildNextAttempt(failed));
      expect(next).toMatchObject({ attempt: 2, n: 2, status: "waiting", task_id: null, spent: 0 });
      await expect(saveAsDriver(ledger, failed, { status: "succeeded" })).rejects.toThrow(LeaseLostError);
      expect(await findAttemptsOfTask(ledger, "one")).toMatchObject([
        { n: 1, status: "failed", is_current: 0 },
      ]);
    });

    it.each([["agm_request"], ["agm_attempt"], ["both"]] as const)(
      "stores a row that has vanished again, with its task: %s",
      async (gone) => {
        const ledger = await openLedgerAt(await createPlace());
        const row = await place(ledger, "text");
        const accepted = await saveAsDriver(ledger, row, { status: "queued", task_id: "one" });
        await ledger.database.tx(async (tx) => {
          if (gone !== "agm_request") await tx.deleteFrom("agm_attempt").execute();
          if (gone !== "agm_attempt") await tx.deleteFrom("agm_request").execute();
        });
        await saveAsDriver(ledger, accepted, { status: "processing" });
        expect(await look(ledger, row)).toMatchObject({
          status: "processing",
          task_id: "one",
          body: row.body,
          owner: ledger.identity.processId,
        });
      },
    );
  });

  describe(`lists on ${engine}`, skipBecause(whyNot), () => {
    it("are newest first, of the machine's API keys and of this service, without parts", async () => {
      const where = await createPlace();
      const own = await openLedgerAt(where);
      const earlier = await openLedgerAt(where, { apiKeyId: "earlier" });
      const stranger = await openLedgerAt(where, { apiKeyId: "stranger", machineId: "elsewhere" });
      const abroad = await openLedgerAt(where, { baseUrl: "https://other.example" });
      for (const [ledger, text, isListed] of [
        [own, "oldest", 1],
        [earlier, "of an earlier key", 1],
        [stranger, "of a stranger", 1],
        [abroad, "at another service", 1],
        [own, "a part", 0],
        [own, "newest", 1],
      ] as const) {
        where.clock.skip(1000);
        await place(ledger, text, { is_listed: isListed });
      }
      const list = async (query: Parameters<typeof listRequests>[1]) =>
        (await listRequests(own, query)).map(({ fingerprint }) => fingerprint);
      expect(await list(ALL)).toEqual(["newest", "of an earlier key", "oldest"]);
      expect(await list({ ...ALL, limit: 2 })).toEqual(["newest", "of an earlier key"]);
      expect(await list({ ...ALL, apiKeys: "own" })).toEqual(["newest", "oldest"]);
      expect(await list({ ...ALL, includesParts: true })).toEqual([
        "newest",
        "a part",
        "of an earlier key",
        "oldest",
      ]);
      expect(await list({ ...ALL, statuses: ["waiting"] })).toEqual([
        "newest",
        "of an earlier key",
        "oldest",
      ]);
      expect(await list({ ...ALL, statuses: ["failed"] })).toEqual([]);
    });

    it("omit a damaged row, and show the others", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      await place(ledger, "whole");
      const damaged = await place(ledger, "damaged");
      await ledger.database.run((db) =>
        db.updateTable("agm_request").set({ attempt: -1 }).where("id", "=", damaged.id).execute(),
      );
      expect((await listRequests(ledger, ALL)).map(({ fingerprint }) => fingerprint)).toEqual(["whole"]);
    });

    it("of files have each file of an owner once, the newest first", async () => {
      const ledger = await openLedgerAt(await createPlace());
      const { database } = ledger;
      const save = (path: string, savedAtMs: number) =>
        database.run((db) => insertFile(db, sampleFile({ owner: "one", path, saved_at_ms: savedAtMs })));
      await save("/a.mp3", 1);
      await save("/b.mp3", 2);
      await save("/a.mp3", 3);
      expect((await listFiles(ledger, ["one"])).map(({ path }) => path)).toEqual(["/a.mp3", "/b.mp3"]);
      expect(await listFiles(ledger, ["other"])).toEqual([]);
    });
  });

  describe(`refusals on ${engine}`, skipBecause(whyNot), () => {
    it("are forgotten after 30 days, and nothing else is", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      const refusal = { error_code: "invalid_request", error: "{}" };
      await place(ledger, "refused", refusal, false);
      await place(ledger, "waits", {}, false);
      await place(ledger, "refused after an attempt", { ...refusal, attempt: 2 }, false);
      await place(ledger, "unanswered", { ...refusal, status: "unresolved", maybe: 1 }, false);
      await place(ledger, "gone", { status: "queued", task_id: "one", error_code: "not_found" }, false);
      const stranger = await openLedgerAt(where, { apiKeyId: "stranger" });
      await place(stranger, "refused to a stranger", refusal, false);
      const left = async (): Promise<string[]> =>
        (
          await ledger.database.run((db) =>
            db.selectFrom("agm_current_attempt").select("fingerprint").execute(),
          )
        )
          .map(({ fingerprint }) => fingerprint)
          .sort();
      where.clock.skip(30 * DAY_MS);
      await deleteOldRefusals(ledger);
      expect(await left()).toHaveLength(6);
      where.clock.skip(1);
      await deleteOldRefusals(ledger);
      expect(await left()).toEqual([
        "gone",
        "refused after an attempt",
        "refused to a stranger",
        "unanswered",
        "waits",
      ]);
      const attempts = await ledger.database.run((db) =>
        db.selectFrom("agm_attempt").select("request").execute(),
      );
      expect(attempts).toHaveLength(5);
    });
  });
}
