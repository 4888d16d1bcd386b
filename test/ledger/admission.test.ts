/** Who may submit, and who pays: one transaction on rows, on both engines, across processes and API keys. */
import { describe, expect, it } from "vitest";
import { recordSendResult, releaseAdmission } from "../../src/ledger/admission.ts";
import { readBill, sumSpentCredits } from "../../src/ledger/bills.ts";
import { addAgreed, namePair } from "../../src/ledger/kinship.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { buildLimitTiming } from "../../src/ledger/limit-timing.ts";
import { runTransaction } from "../../src/ledger/open-transaction.ts";
import { requestRead } from "../../src/ledger/read-limits.ts";
import { type RequestPatch, releaseRequest, saveAsDriver } from "../../src/ledger/request-rows.ts";
import type { RequestRow } from "../../src/ledger/schema.ts";
import { addWish, endWish } from "../../src/ledger/wishes.ts";
import { beginRequest } from "../../src/requests/begin.ts";
import { databasesOfFile } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { listEngines, openLedgerAt } from "./open-test-ledger.ts";
import { ask, look, place } from "./place-request.ts";

const MINUTE_MS = buildLimitTiming(1).windowMs;
const DAY_MS = 86_400_000;

/** Asks, and expects a yes. Returns the row with its send. */
async function admit(ledger: Ledger, row: RequestRow, isResend = false): Promise<RequestRow> {
  const admission = await ask(ledger, row, crypto.randomUUID(), isResend);
  if (admission.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(admission)}`);
  return admission.row;
}

const answer = (ledger: Ledger, row: RequestRow, patch: RequestPatch, wasSent = true): Promise<RequestRow> =>
  recordSendResult(
    ledger,
    row,
    { sendId: row.send_id ?? "", wasSent, mayHaveArrived: patch.status !== "waiting" },
    patch,
  );

const REFUSED: RequestPatch = { maybe: 0, status: "waiting", payer: null, payer_run: 0, spent_at_ms: 0 };
const accepted = (taskId: string): RequestPatch => ({ maybe: 0, status: "queued", task_id: taskId });
const ended = (charged: number): RequestPatch => ({ status: "succeeded", charged_credits: charged });

/** Submits a text whose task ends at once. */
async function make(ledger: Ledger, text: string, charged = 10): Promise<RequestRow> {
  const row = await answer(ledger, await admit(ledger, await place(ledger, text)), accepted(`task ${text}`));
  return await saveAsDriver(ledger, row, ended(charged));
}

const spent = (ledger: Ledger): Promise<number> =>
  ledger.database.run((db) => sumSpentCredits(db, ledger, ledger.clock.wallMs() - DAY_MS));

/** Stores a running narration that has a text as its part, wanted by the process. */
async function narrate(ledger: Ledger, id: string, text: string, maxCredits: number): Promise<void> {
  const { identity, clock } = ledger;
  await ledger.database.tx(async (tx, nowSteadyMs) => {
    await tx
      .insertInto("agm_narration")
      .values({
        ...{ id, base_url: identity.baseUrl, api_key_id: identity.apiKeyId, plan_hash: id, title: id },
        ...{ status: "running", max_credits: maxCredits, run: 1, revision: 1, problem: null },
        ...{
          file_name: null,
          skip_failed: 0,
          heard_part: 0,
          predecessor: null,
          told: "[]",
          started_at_ms: clock.wallMs(),
        },
        ...{ owner: null, lease_until_steady_ms: 0, created_at_ms: clock.wallMs() },
      })
      .execute();
    const part = { narration: id, position: 0, input: text, loose: text, fingerprint: text, take: 1 };
    await tx
      .insertInto("agm_part")
      .values({ ...part, speed: null, problem: null })
      .execute();
    await addWish({ tx, ledger, nowSteadyMs }, { target: id, kind: "call" });
  });
}

for (const { engine, whyNot, createPlace } of listEngines(databasesOfFile())) {
  describe(`admission on ${engine}`, skipBecause(whyNot), () => {
    it("counts the slots of running tasks that were taken over from another API key", async () => {
      const where = await createPlace();
      const [earlier, ledger] = [
        await openLedgerAt(where, { apiKeyId: "earlier" }),
        await openLedgerAt(where),
      ];
      for (const text of ["one", "two"]) {
        const other = await answer(
          earlier,
          await admit(earlier, await place(earlier, text)),
          accepted(`task ${text}`),
        );
        const fresh = { ...other, id: `own ${text}`, api_key_id: "account", owner: null, sent_steady_ms: 0 };
        await beginRequest(ledger, fresh, { wish: null, mayBeginAttempt: false });
      }
      expect(await ask(ledger, await place(ledger, "third"))).toMatchObject({
        kind: "hold",
        reason: "concurrency",
      });
    });

    it("is refused to a text that was sent meanwhile, typed otherwise, unless its payer has agreed", async () => {
      const ledger = await openLedgerAt(await createPlace());
      const typed = async (text: string, isWanted = true) =>
        await place(ledger, text, { loose: "its", body: JSON.stringify({ prompt: text }) }, isWanted);
      const [plain, curly] = [await typed("It's"), await typed("It’s")];
      await narrate(ledger, "narration", "“It's”", 1000);
      const part = await typed("“It's”", false);
      await admit(ledger, plain);
      expect(await ask(ledger, curly)).toMatchObject({ kind: "repeated", other: { id: plain.id } });
      expect(await ask(ledger, part)).toMatchObject({ kind: "repeated", other: { id: plain.id } });
      // Parts let a call pass that waits for its turn.
      await releaseRequest(ledger, curly.id);
      const told = addAgreed({ told: "[]" }, [namePair(part, plain)]);
      await ledger.database.run((db) => db.updateTable("agm_narration").set({ told }).execute());
      expect(await admit(ledger, part)).toMatchObject({ payer: "narration" });
    });

    it("is refused to a request that nobody wants, and to one whose only wish was withdrawn", async () => {
      const ledger = await openLedgerAt(await createPlace());
      expect(await ask(ledger, await place(ledger, "unwanted", {}, false))).toEqual({ kind: "unwanted" });
      const row = await place(ledger, "wanted", {}, false);
      const wish = { target: row.id, kind: "call" } as const;
      const id = await runTransaction(ledger, (open) => addWish(open, wish));
      await endWish(ledger, id, "withdrawn");
      expect(await ask(ledger, row)).toEqual({ kind: "unwanted" });
      expect(await look(ledger, row)).toMatchObject({ status: "waiting", spent: 0, is_open: 0 });
    });

    it("counts an unanswered send of a day, and returns the reservation of a refused one", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      const refused = await admit(ledger, await place(ledger, "refused"));
      expect(await spent(ledger)).toBe(150);
      await answer(ledger, refused, REFUSED);
      expect(await spent(ledger)).toBe(0);
      await admit(ledger, await place(ledger, "unanswered"));
      expect(await spent(ledger)).toBe(150);
      where.clock.skip(DAY_MS - 1);
      expect(await spent(ledger)).toBe(150);
      where.clock.skip(2);
      expect(await spent(ledger)).toBe(0);
    });

    it("counts spending of the future, because setting the clock back frees no credits", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      await make(ledger, "made");
      where.clock.moveWall(-400 * DAY_MS);
      expect(await spent(ledger)).toBe(10);
    });

    it("never exceeds the budget, however many ask at once", async () => {
      const where = await createPlace();
      const ledgers = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          openLedgerAt(where, { apiKeyId: `account ${index}`, creditBudget: 3 * 150 + 149 }),
        ),
      );
      const rows = await Promise.all(ledgers.map((ledger, index) => place(ledger, `text ${index}`)));
      const admissions = await Promise.all(
        ledgers.map(async (ledger, index) => {
          const row = rows[index];
          return row === undefined ? undefined : (await ask(ledger, row)).kind;
        }),
      );
      expect(admissions.toSorted()).toEqual([
        "admitted",
        "admitted",
        "admitted",
        "over_budget",
        "over_budget",
      ]);
    });

    it("counts a task that two API keys know once, by the row that knows its end", async () => {
      const where = await createPlace();
      const [one, other] = [await openLedgerAt(where), await openLedgerAt(where, { apiKeyId: "other" })];
      const first = await answer(one, await admit(one, await place(one, "text")), accepted("task"));
      await answer(other, await admit(other, await place(other, "text")), accepted("task"));
      expect(await spent(one)).toBe(150);
      await saveAsDriver(one, first, ended(10));
      expect(await spent(one)).toBe(10);
      expect(await spent(other)).toBe(10);
    });

    it("is the same one if it is repeated because its answer was lost", async () => {
      const ledger = await openLedgerAt(await createPlace());
      const row = await place(ledger, "text");
      const send = "the send";
      const admissions = [await ask(ledger, row, send), await ask(ledger, row, send)];
      for (const admission of admissions)
        expect(admission).toMatchObject({ kind: "admitted", row: { maybe: 1, send_id: send } });
      for (let index = 0; index < 5; index += 1) await make(ledger, `text ${index}`);
      expect(await ask(ledger, await place(ledger, "seventh"))).toMatchObject({ reason: "rate" });
    });

    it("lets six leave in a minute, which begins with each answer and is that of every process", async () => {
      const where = await createPlace();
      const [one, other] = [await openLedgerAt(where), await openLedgerAt(where)];
      for (let index = 0; index < 5; index += 1) await make(index % 2 === 0 ? one : other, `text ${index}`);
      const sixth = await admit(one, await place(one, "sixth"));
      where.clock.skip(MINUTE_MS - 1000);
      const seventh = await place(other, "seventh");
      expect(await ask(other, seventh)).toEqual({ kind: "hold", reason: "rate", retryMs: 1000 });
      where.clock.skip(1000);
      await answer(one, sixth, REFUSED);
      // The first five have left the minute; the refused one is in it.
      for (let index = 5; index < 10; index += 1) await make(other, `text ${index}`);
      expect(await ask(other, seventh)).toMatchObject({ reason: "rate" });
    });

    it("does not count a send that never left", async () => {
      const ledger = await openLedgerAt(await createPlace());
      for (let index = 0; index < 8; index += 1) {
        const row = await admit(ledger, await place(ledger, `unsent ${index}`));
        await answer(ledger, row, REFUSED, false);
        const released = await admit(ledger, await place(ledger, `released ${index}`));
        await releaseAdmission(ledger, released.id, released.send_id ?? "");
        expect(await look(ledger, released)).toMatchObject({ status: "waiting", maybe: 0, spent: 0 });
      }
      expect(await spent(ledger)).toBe(0);
    });

    it("pauses every process of the account for the longest cooldown, and no other account", async () => {
      const where = await createPlace();
      const [one, other] = [await openLedgerAt(where), await openLedgerAt(where)];
      const stranger = await openLedgerAt(where, { apiKeyId: "stranger" });
      const row = await admit(one, await place(one, "text"));
      const limited = await recordSendResult(
        one,
        row,
        { sendId: row.send_id ?? "", wasSent: true, mayHaveArrived: false, cooldownMs: 30_000 },
        REFUSED,
      );
      const second = await admit(stranger, await place(stranger, "text"));
      expect(second.status).toBe("unresolved");
      const result = { sendId: "none", wasSent: true, mayHaveArrived: true, cooldownMs: 1000 };
      await recordSendResult(one, limited, result, {});
      const next = await place(other, "next");
      expect(await ask(other, next)).toEqual({ kind: "hold", reason: "cooldown", retryMs: 30_000 });
      where.clock.skip(30_000);
      expect(await ask(other, next)).toMatchObject({ kind: "admitted" });
    });

    it("lets two tasks run at a time, and a third as soon as one has ended", async () => {
      const where = await createPlace();
      const [one, other] = [await openLedgerAt(where), await openLedgerAt(where)];
      const first = await answer(one, await admit(one, await place(one, "first")), accepted("task 1"));
      await answer(other, await admit(other, await place(other, "second")), accepted("task 2"));
      const third = await place(other, "third");
      expect(await ask(other, third)).toMatchObject({ kind: "hold", reason: "concurrency" });
      await saveAsDriver(one, first, ended(10));
      expect(await ask(other, third)).toMatchObject({ kind: "admitted" });
    });

    it("frees the slot of an unanswered send that nobody repeats, and a repeat takes it again", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      const { unansweredSlotMs } = buildLimitTiming(1);
      const rows = [await place(ledger, "first"), await place(ledger, "second")];
      for (const row of rows) {
        await admit(ledger, row);
        await releaseRequest(ledger, row.id);
      }
      const third = await place(ledger, "third");
      where.clock.skip(unansweredSlotMs - 1);
      expect(await ask(ledger, third)).toMatchObject({ reason: "concurrency" });
      where.clock.skip(1);
      const [again] = rows;
      if (again === undefined) throw new Error("no row");
      await admit(ledger, await place(ledger, "first"), true);
      await admit(ledger, third);
      expect(await ask(ledger, await place(ledger, "fourth"))).toMatchObject({ reason: "concurrency" });
    });

    it("gives one more duration after a restart of the machine, whose steady clock begins again", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      for (const text of ["first", "second"]) await admit(ledger, await place(ledger, text));
      where.clock.reboot();
      const third = await place(ledger, "third");
      expect(await ask(ledger, third)).toMatchObject({ reason: "concurrency" });
      where.clock.skip(2 * MINUTE_MS);
      expect(await ask(ledger, third)).toMatchObject({ kind: "admitted" });
    });

    it("counts the minute before a restart of the machine for one more minute at most", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      for (let index = 0; index < 6; index += 1) await make(ledger, `text ${index}`);
      for (let index = 0; index < 60; index += 1) expect(await requestRead(ledger, false)).toBeNull();
      where.clock.reboot();
      const row = await place(ledger, "seventh");
      await ask(ledger, row);
      await requestRead(ledger, false);
      where.clock.skip(MINUTE_MS);
      expect(await ask(ledger, row)).toMatchObject({ kind: "admitted" });
      expect(await requestRead(ledger, false)).toBeNull();
    });

    it("judges the row, then the budget, then cooldown, rate and slots", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where, { creditBudget: 150 });
      const running = await answer(
        ledger,
        await admit(ledger, await place(ledger, "runs")),
        accepted("task"),
      );
      expect(await ask(ledger, running)).toEqual({ kind: "unwanted" });
      await ledger.database.tx(async (tx) => {
        await ledger.database.lockGate(tx, "account");
        await tx
          .updateTable("agm_gate")
          .set({ cooldown_until_steady_ms: where.clock.steadyMs() + 60_000 })
          .where("id", "=", "account")
          .execute();
      });
      const row = await place(ledger, "next");
      expect(await ask(ledger, row)).toEqual({ kind: "over_budget", spentCredits: 150 });
      expect(await ask(await openLedgerAt(where, ledger.identity), row)).toMatchObject({
        reason: "cooldown",
      });
    });
  });

  describe(`the payer on ${engine}`, skipBecause(whyNot), () => {
    it("is the caller if there is one, and else the first narration with room for another reservation", async () => {
      const ledger = await openLedgerAt(await createPlace());
      await narrate(ledger, "poor", "both", 149);
      await narrate(ledger, "rich", "both", 150);
      const both = await place(ledger, "both", { is_listed: 0 }, false);
      expect((await admit(ledger, both)).payer).toBe("rich");
      await narrate(ledger, "third", "called", 1000);
      const called = await place(ledger, "called", { is_listed: 0 });
      expect((await admit(ledger, called)).payer).toBeNull();
      await narrate(ledger, "fourth", "nobody's", 149);
      const none = await place(ledger, "nobody's", { is_listed: 0 }, false);
      expect(await ask(ledger, none)).toEqual({ kind: "over_max_credits" });
    });

    it("pays no send without an answer once another API key has the task, whichever narration pays for it", async () => {
      const where = await createPlace();
      const [earlier, ledger] = [
        await openLedgerAt(where, { apiKeyId: "earlier" }),
        await openLedgerAt(where),
      ];
      const bill = (id: string) => ledger.database.run((db) => readBill(db, id));
      await narrate(earlier, "lost", "text", 1000);
      await admit(earlier, await place(earlier, "text", { is_listed: 0 }, false));
      const elsewhere = {
        base_url: "https://elsewhere.test",
        id: "elsewhere",
        task_id: "task of another service",
      };
      await place(ledger, "text", { ...elsewhere, status: "succeeded", spent_at_ms: 1 }, false);
      expect(await bill("lost")).toEqual({ spent: 150, charged: 0, unknown: 150 });
      await narrate(ledger, "found", "text", 1000);
      const sent = await admit(ledger, await place(ledger, "text", { is_listed: 0 }, false));
      expect(await bill("lost")).toEqual({ spent: 150, charged: 0, unknown: 150 });
      await saveAsDriver(ledger, await answer(ledger, sent, accepted("task 1")), ended(10));
      expect(await bill("found")).toEqual({ spent: 10, charged: 10, unknown: 0 });
      expect(await bill("lost")).toEqual({ spent: 0, charged: 0, unknown: 0 });
    });

    it("pays the reservation until its charge is known, and nothing for a refused send", async () => {
      const ledger = await openLedgerAt(await createPlace());
      const bill = () => ledger.database.run((db) => readBill(db, "narration"));
      await narrate(ledger, "narration", "text", 1000);
      const first = await admit(ledger, await place(ledger, "text", { is_listed: 0 }, false));
      expect(await bill()).toEqual({ spent: 150, charged: 0, unknown: 150 });
      await answer(ledger, first, REFUSED);
      expect(await bill()).toEqual({ spent: 0, charged: 0, unknown: 0 });
      const again = await admit(ledger, await look(ledger, first));
      const row = await answer(ledger, again, accepted("task"));
      expect(await bill()).toEqual({ spent: 150, charged: 0, unknown: 0 });
      await saveAsDriver(ledger, row, ended(42));
      expect(await bill()).toEqual({ spent: 42, charged: 42, unknown: 0 });
    });

    it("is not a narration that has stopped or that no living process wants", async () => {
      const where = await createPlace();
      const ledger = await openLedgerAt(where);
      await narrate(ledger, "stopped", "text", 1000);
      await ledger.database.run((db) => db.updateTable("agm_narration").set({ status: "stopped" }).execute());
      const row = await place(ledger, "text", { is_listed: 0 }, false);
      expect(await ask(ledger, row)).toEqual({ kind: "unwanted" });
      const dead = await openLedgerAt(where);
      await narrate(dead, "forgotten", "text", 1000);
      where.clock.skip(60_000);
      expect(await ask(ledger, row)).toEqual({ kind: "unwanted" });
    });

    it("lets a request that a person waits for go before parts of narrations", async () => {
      const where = await createPlace();
      const [ledger, other] = [await openLedgerAt(where), await openLedgerAt(where)];
      await narrate(ledger, "narration", "part", 1000);
      const part = await place(ledger, "part", { is_listed: 0 }, false);
      const direct = await place(other, "direct");
      expect(await ask(ledger, part)).toMatchObject({ kind: "hold", reason: "concurrency" });
      await admit(other, direct);
      expect(await ask(ledger, part)).toMatchObject({ kind: "admitted" });
    });
  });
}
