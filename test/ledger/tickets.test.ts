/** The table of tickets: when one is shared, when it ends, and what a record must not forget because of it. */
import { describe, expect, it } from "vitest";
import { NO_TASK_YET, step, type TaskEvent } from "../../src/ledger/lifecycle.ts";
import type { TaskRecord } from "../../src/ledger/record.ts";
import { isCancelNews, openTicket, type TicketWish, ticketOf } from "../../src/ledger/record-tickets.ts";
import { aRecord } from "./a-record.ts";

const WISH: TicketWish = { fileName: null, replace: false };
const waiting = aRecord({ ...NO_TASK_YET });
const opening = (atMs: number, wish = WISH): TaskEvent => ({ kind: "ticketOpened", wish, atMs });

function play(record: TaskRecord, ...events: TaskEvent[]): TaskRecord {
  return events.reduce((current, event) => {
    const next = step(current, event);
    if (next === null) throw new Error("the record was forgotten");
    return next;
  }, record);
}

const cancelling = (openedAtMs: number): TaskEvent => ({ kind: "ticketCancelled", openedAtMs, atMs: 900 });
const sent: TaskEvent = { kind: "sent", attempt: 1, send: "send-1", atMs: 50 };
const notTaken: TaskEvent = { kind: "notTaken", send: "send-1" };
const endOf = (record: TaskRecord, openedAtMs: number) => ticketOf(record, openedAtMs)?.end?.kind;

describe("a ticket", () => {
  it("is shared by calls that want the same, and has a name of its own where they do not", () => {
    const record = play(waiting, opening(10), opening(20), opening(10, { fileName: "x", replace: false }));
    expect(record.tickets.map(({ openedAtMs }) => openedAtMs)).toEqual([10, 11]);
    expect(step(record, opening(30))).toBe(record);
  });

  it("is no more than a hundred times in a record", () => {
    const names = Array.from({ length: 120 }, (_, index) =>
      opening(index + 1, { ...WISH, fileName: `${index}` }),
    );
    const full = play(waiting, ...names);
    expect(full.tickets).toHaveLength(100);
    expect(openTicket(full, { ...WISH, fileName: "110" })).toBeUndefined();
  });

  it("ends at once where nothing is sent, and is not opened again", () => {
    const cancelled = play(waiting, opening(10), cancelling(10));
    expect(endOf(cancelled, 10)).toBe("cancelled");
    expect(step(cancelled, cancelling(10))).toBe(cancelled);
    expect(play(cancelled, opening(5)).tickets.map(({ openedAtMs }) => openedAtMs)).toEqual([10, 11]);
    expect(isCancelNews(play(waiting, opening(10)), cancelled)).toBe(true);
    expect(isCancelNews(cancelled, cancelled)).toBe(false);
  });

  it("of what is under way ends when that was certainly not taken, and not before", () => {
    const asked = play(waiting, opening(10), sent, cancelling(10));
    expect(endOf(asked, 10)).toBeUndefined();
    expect(endOf(play(asked, notTaken), 10)).toBe("cancelled");
    expect(openTicket(asked, WISH)).toBeUndefined();
  });

  it("ends once: what is told later changes nothing", () => {
    const done = play(waiting, opening(10), {
      kind: "ticketEnded",
      openedAtMs: 10,
      end: { kind: "done", atMs: 1 },
    });
    const error = { kind: "error", atMs: 2, error: { code: "timeout", message: "late" } } as const;
    expect(step(done, { kind: "ticketEnded", openedAtMs: 10, end: error })).toBe(done);
    expect(step(done, cancelling(10))).toBe(done);
  });

  it("keeps the failure of its attempt when a later call goes on, and goes on with a free repeat", () => {
    const failed = aRecord({
      status: "failed",
      taskError: { code: "generation_failed", message: "lost" },
      finishedAtMs: 70,
      tickets: play(waiting, opening(10)).tickets,
    });
    const repeated = play(failed, { kind: "again", failed: 1, isSameCall: true });
    expect(endOf(repeated, 10)).toBeUndefined();
    const next = play(failed, opening(80), { kind: "again", failed: 1 });
    expect(ticketOf(next, 10)?.end).toMatchObject({
      kind: "failed",
      taskId: "task-1",
      taskError: { message: "lost" },
    });
    expect(ticketOf(next, 80)).toMatchObject({ attempt: 2, end: null });
  });
});

describe("a record", () => {
  it("keeps its tickets after a refusal", () => {
    const kept = play(waiting, opening(10), cancelling(10), opening(20), sent, notTaken);
    expect(kept.status).toBe("waiting");
    expect(endOf(kept, 10)).toBe("cancelled");
  });
});
