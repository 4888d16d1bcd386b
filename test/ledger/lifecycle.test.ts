/**
 * The lifecycle of a record: every status with every event, the spend after each event, and properties that hold for
 * every order of events.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { TASK_STATUSES } from "../../src/contract/audio-task.ts";
import { deriveIdempotencyKey } from "../../src/ledger/identity.ts";
import { applyEvent, type RequestEvent, UNSENT_ATTEMPT } from "../../src/ledger/lifecycle.ts";
import {
  deriveConcurrencySlotState,
  isResumable,
  type RequestRecord,
  requestRecordSchema,
  toRow,
} from "../../src/ledger/record.ts";
import { sampleRecord } from "./sample-record.ts";

const SENT_AT_MS = 1_800_000_000_000;
const NOW_MS = SENT_AT_MS + 60_000;
const MINUTE_MS = 60_000;

const billing = (charged: number | null): ObservedTask["billing"] => ({
  reserved_credits: 150,
  charged_credits: charged,
  refunded_credits: null,
});

function task(status: ObservedTask["status"], changes: Partial<ObservedTask> = {}): ObservedTask {
  const defaults = { audioSeconds: null, output: null, error: null, deviations: [] };
  return { taskId: "task-1", status, billing: billing(null), ...defaults, ...changes };
}

const observed = (observedTask: ObservedTask, attempt = 1, atMs = NOW_MS): RequestEvent => ({
  kind: "observed",
  attempt,
  task: observedTask,
  atMs,
});

const file = { path: "/out/a.mp3", sizeBytes: 1, sha256: "0", savedAtMs: NOW_MS, matchesFormat: true };
const fileToReplace = { sizeBytes: 1, sha256: "1", name: "b.mp3", movedTo: "b (previous).mp3" };
const reservedSpend = { credits: 150, atMs: SENT_AT_MS };
const newRecord = sampleRecord({ ...UNSENT_ATTEMPT });
const sentOnce = {
  ...newRecord,
  status: "unresolved",
  sendId: "send-1",
  sentAtMs: SENT_AT_MS,
  spend: reservedSpend,
} as const;
const acceptedRecord = {
  ...sentOnce,
  sendId: null,
  taskId: "task-1",
  billing: billing(null),
  acceptedAtMs: SENT_AT_MS,
} as const;
const endedRecord = { ...acceptedRecord, finishedAtMs: NOW_MS } as const;

/** A record in each status, as it is after the usual events. */
const RECORDS = {
  waiting: newRecord,
  unresolved: sentOnce,
  "unresolved, sent again": { ...sentOnce, sendId: "send-2", hasUnresolvedEarlierSend: true },
  queued: { ...acceptedRecord, status: "queued" },
  processing: { ...acceptedRecord, status: "processing" },
  succeeded: { ...endedRecord, status: "succeeded", spend: { credits: 10, atMs: NOW_MS } },
  saved: { ...endedRecord, status: "succeeded", spend: { credits: 10, atMs: NOW_MS }, files: [file] },
  failed: { ...endedRecord, status: "failed", spend: null },
} as const satisfies Record<string, RequestRecord>;
type Name = keyof typeof RECORDS;

const EVENTS = {
  "sent as send-1": { kind: "send_started", attempt: 1, sendId: "send-1", atMs: NOW_MS },
  "sent as send-2": { kind: "send_started", attempt: 1, sendId: "send-2", atMs: NOW_MS },
  "send-1 not accepted": { kind: "not_accepted", sendId: "send-1" },
  refused: { kind: "refused", error: { code: "invalid_request", message: "No." }, atMs: NOW_MS },
  "send-2 not accepted": { kind: "not_accepted", sendId: "send-2" },
  "seen queued": observed(task("queued")),
  "seen processing": observed(task("processing")),
  "seen succeeded": observed(task("succeeded", { billing: billing(10) })),
  "seen failed": observed(task("failed", { billing: billing(0) })),
  gone: { kind: "task_vanished", taskId: "task-1" },
  "result revoked": { kind: "result_revoked", taskId: "task-1", atMs: NOW_MS },
  "too large": { kind: "audio_found_too_large", taskId: "task-1" },
  "attempt begun": { kind: "attempt_begun", failedAttempt: 1 },
} as const satisfies Record<string, RequestEvent>;
type EventName = keyof typeof EVENTS;

/**
 * Each cell is the status and the spent credits after the event, such as `queued 150`. `=` means that the record does
 * not change, and `polled` that only the time of the last poll changes.
 */
const OUTCOMES: Record<Name, Partial<Record<EventName, string>>> = {
  waiting: {
    refused: "waiting 0",
    "sent as send-1": "unresolved 150",
    "sent as send-2": "unresolved 150",
    // The answer to a send that was recorded as not accepted can still arrive.
    "seen queued": "queued 150",
    "seen processing": "processing 150",
    "seen succeeded": "succeeded 10",
    "seen failed": "failed 0",
  },
  unresolved: {
    "sent as send-2": "unresolved 150",
    "send-1 not accepted": "waiting 0",
    "seen queued": "queued 150",
    "seen processing": "processing 150",
    "seen succeeded": "succeeded 10",
    "seen failed": "failed 0",
  },
  // The first send may have created a task. The outcome of the second send does not show whether it did.
  "unresolved, sent again": {
    "sent as send-1": "unresolved 150",
    "seen queued": "queued 150",
    "seen processing": "processing 150",
    "seen succeeded": "succeeded 10",
    "seen failed": "failed 0",
  },
  queued: {
    "seen queued": "polled",
    "seen processing": "processing 150",
    "seen succeeded": "succeeded 10",
    "seen failed": "failed 0",
    gone: "queued 150",
    "too large": "queued 150",
  },
  processing: {
    "seen queued": "polled",
    "seen processing": "polled",
    "seen succeeded": "succeeded 10",
    "seen failed": "failed 0",
    gone: "processing 150",
    "too large": "processing 150",
  },
  succeeded: {
    "seen queued": "polled",
    "seen processing": "polled",
    "seen succeeded": "polled",
    "seen failed": "polled",
    gone: "succeeded 10",
    "result revoked": "processing 150",
    "too large": "succeeded 10",
  },
  saved: {
    "seen queued": "polled",
    "seen processing": "polled",
    "seen succeeded": "polled",
    "seen failed": "polled",
    gone: "succeeded 10",
    "too large": "succeeded 10",
  },
  failed: {
    "seen queued": "polled",
    "seen processing": "polled",
    "seen succeeded": "polled",
    "seen failed": "polled",
    gone: "failed 0",
    "too large": "failed 0",
    "attempt begun": "waiting 0",
  },
};

function outcomeOf(before: RequestRecord, event: RequestEvent): string {
  const after = applyEvent(before, event);
  if (after === before) return "=";
  const { polledAtMs } = before;
  const isPolled = JSON.stringify({ ...after, polledAtMs }) === JSON.stringify(before);
  return isPolled ? "polled" : `${after.status} ${after.spend?.credits ?? 0}`;
}

describe.each(Object.keys(RECORDS) as Name[])("a record that is %s", (name) => {
  it.each(Object.keys(EVENTS) as EventName[])("after: %s", (event) => {
    const outcome = outcomeOf(RECORDS[name], EVENTS[event]);
    // An event that the table omits must not change the record.
    expect(outcome).toBe(OUTCOMES[name][event] ?? "=");
  });
});

/** Returns the record after a list of events. */
function recordAfter(events: readonly RequestEvent[], record: RequestRecord = newRecord): RequestRecord {
  return events.reduce(applyEvent, record);
}

describe("an attempt", () => {
  it("after a failed one has its own key, and earlier charges stay counted", () => {
    const charged = recordAfter([observed(task("failed", { billing: billing(40) }))], RECORDS.queued);
    expect(charged.spend).toMatchObject({ credits: 40 });
    const second = recordAfter([{ kind: "attempt_begun", failedAttempt: 1 }], charged);
    expect(second).toMatchObject({
      ...UNSENT_ATTEMPT,
      attempt: 2,
      earlierCredits: 40,
      spend: { credits: 40 },
    });
    expect(second.idempotencyKey).toBe(deriveIdempotencyKey(newRecord.input ?? "", 1, 2));
    const sent = recordAfter([{ kind: "send_started", attempt: 2, sendId: "send-2", atMs: NOW_MS }], second);
    expect(sent.spend).toEqual({ credits: 190, atMs: NOW_MS });
    const refused = recordAfter([{ kind: "not_accepted", sendId: "send-2" }], sent);
    expect(refused).toMatchObject({ status: "waiting", attempt: 2, spend: { credits: 40 } });
    const end = (observedTask: ObservedTask): number =>
      recordAfter([observed(observedTask, 2)], sent).spend?.credits ?? 0;
    expect(end(task("succeeded", { taskId: "task-2", billing: billing(10) }))).toBe(50);
    expect(end(task("failed", { taskId: "task-2", billing: billing(0) }))).toBe(40);
  });

  it("that has a task is not sent again automatically", () => {
    for (const name of TASK_STATUSES) {
      expect(applyEvent(RECORDS[name], EVENTS["sent as send-2"])).toBe(RECORDS[name]);
    }
  });
});

describe("the spend of a record", () => {
  it("is the whole reservation if the bill is unreadable, and 0 if a failure states no charge", () => {
    expect(recordAfter([observed(task("succeeded"))], RECORDS.queued).spend).toMatchObject({ credits: 150 });
    const unread = task("failed", { billing: null });
    expect(recordAfter([observed(unread)], RECORDS.queued).spend).toMatchObject({ credits: 150 });
    const unstated = { reserved_credits: 150, charged_credits: null, refunded_credits: null };
    expect(recordAfter([observed(task("failed", { billing: unstated }))], RECORDS.queued).spend).toBeNull();
  });

  it("has the date of the possible charge, even if we learn of it later", () => {
    const spendDateWhenSeenAt = (atMs: number): number | undefined =>
      recordAfter([observed(task("succeeded", { billing: billing(10) }), 1, atMs)], RECORDS.queued).spend
        ?.atMs;
    expect(spendDateWhenSeenAt(SENT_AT_MS + 5 * MINUTE_MS)).toBe(SENT_AT_MS + 5 * MINUTE_MS);
    expect(spendDateWhenSeenAt(SENT_AT_MS + 10_000 * MINUTE_MS)).toBe(SENT_AT_MS + 65 * MINUTE_MS);
    // After the wall clock was set back, a charge must still not be dated before its reservation.
    expect(spendDateWhenSeenAt(SENT_AT_MS - 5 * MINUTE_MS)).toBe(SENT_AT_MS);
  });

  it("is the whole reservation for a task whose send was believed to be refused", () => {
    const failed = recordAfter([observed(task("failed", { billing: billing(40) }))], RECORDS.queued);
    const sentAgain: RequestEvent = { kind: "send_started", attempt: 2, sendId: "send-2", atMs: NOW_MS };
    const late = observed(task("queued", { taskId: "task-2" }), 2);
    const refused: RequestEvent[] = [
      { kind: "attempt_begun", failedAttempt: 1 },
      sentAgain,
      { kind: "not_accepted", sendId: "send-2" },
    ];
    expect(recordAfter([...refused, late], failed).spend).toMatchObject({ credits: 150 + 40 });
    const atMs = NOW_MS + 10_000 * MINUTE_MS;
    const ended = observed(task("succeeded", { taskId: "task-2", billing: billing(10) }), 2, atMs);
    expect(recordAfter([...refused, ended], failed).spend).toEqual({ credits: 10 + 40, atMs });
  });

  it("is 0 for a task that another machine made, however it ends", () => {
    const recordWithoutInput = sampleRecord({ ...UNSENT_ATTEMPT, input: null, take: null });
    for (const status of ["queued", "succeeded", "failed"] as const) {
      expect(
        recordAfter([observed(task(status, { billing: billing(10) }))], recordWithoutInput).spend,
      ).toBeNull();
    }
  });
});

describe("a task that was given up", () => {
  it("is restored when the service knows it again", () => {
    const gone = recordAfter([EVENTS.gone], RECORDS.processing);
    expect(gone).toMatchObject({ isGone: true, status: "processing" });
    expect([isResumable(gone), deriveConcurrencySlotState(gone)]).toEqual([false, null]);
    const back = recordAfter([EVENTS["seen processing"]], gone);
    expect([back.isGone, isResumable(back), deriveConcurrencySlotState(back)]).toEqual([
      false,
      true,
      "accepted",
    ]);
  });
});

describe("a file", () => {
  it("is recorded once per path and hash, the newest last", () => {
    const other = { ...file, path: "/out/b.mp3" };
    const again = { ...file, savedAtMs: NOW_MS + 1 };
    const events = [file, other, again].map((one): RequestEvent => ({ kind: "saved", file: one }));
    expect(recordAfter(events, RECORDS.succeeded).files).toEqual([other, again]);
  });

  it("keeps its name: only a record without one is renamed", () => {
    const named: RequestEvent = { kind: "file_named", fileName: "story", fileToReplace: null };
    expect(recordAfter([named]).fileName).toBe("story");
    expect(applyEvent(RECORDS.saved, named)).toBe(RECORDS.saved);
    expect(applyEvent(recordAfter([named]), named)).toEqual(recordAfter([named]));
  });

  it("replaces another one once: the replacement is dropped with the first saved file", () => {
    const named: RequestEvent = { kind: "file_named", fileName: "b", fileToReplace };
    const asked = recordAfter([{ ...named, fileToReplace: null }, named]);
    expect(asked.fileToReplace).toEqual(fileToReplace);
    expect(
      recordAfter([{ kind: "attempt_begun", failedAttempt: 1 }], {
        ...RECORDS.failed,
        ...asked,
        status: "failed",
      }),
    ).toEqual(expect.objectContaining({ fileToReplace }));
    expect(recordAfter([{ kind: "saved", file }], asked).fileToReplace).toBeNull();
    expect(recordAfter([named], RECORDS.saved).fileToReplace).toBeNull();
    const later = recordAfter([{ kind: "replacement_planned", fileToReplace }], RECORDS.saved);
    expect(later).toEqual({ ...RECORDS.saved, fileToReplace });
    expect(recordAfter([{ kind: "saved", file }], later).fileToReplace).toBeNull();
  });
});

const STATUSES = ["queued", "processing", "succeeded", "failed"] as const;
const anyTask = fc.record({
  status: fc.constantFrom(...STATUSES),
  taskId: fc.constantFrom("task-1", "task-2"),
  charged: fc.option(fc.constantFrom(0, 10, 150)),
});
const attempt = fc.integer({ min: 1, max: 3 });
const sendId = fc.constantFrom("send-1", "send-2", "send-3");
const taskId = fc.constantFrom("task-1", "task-2");
const atMs = fc.integer({ min: SENT_AT_MS, max: SENT_AT_MS + 100 * MINUTE_MS });
const anyEvent: fc.Arbitrary<RequestEvent> = fc.oneof(
  fc.record({ kind: fc.constant("send_started" as const), attempt, sendId, atMs }),
  fc.record({ kind: fc.constant("not_accepted" as const), sendId }),
  fc
    .tuple(anyTask, attempt, atMs)
    .map(([{ status, taskId: id, charged }, of, at]) =>
      observed(task(status, { taskId: id, billing: billing(charged) }), of, at),
    ),
  fc.record({ kind: fc.constant("task_vanished" as const), taskId }),
  fc.record({ kind: fc.constant("result_revoked" as const), taskId, atMs }),
  fc.record({ kind: fc.constant("saved" as const), file: fc.constant(file) }),
  fc.record({ kind: fc.constant("audio_found_too_large" as const), taskId }),
  fc.record({ kind: fc.constant("attempt_begun" as const), failedAttempt: attempt }),
  fc.record({
    kind: fc.constant("file_named" as const),
    fileName: fc.option(fc.constant("story")),
    fileToReplace: fc.option(fc.constant(fileToReplace)),
  }),
  fc.record({ kind: fc.constant("replacement_planned" as const), fileToReplace: fc.constant(fileToReplace) }),
);
const anyLife = fc.array(anyEvent, { maxLength: 20 });

/**
 * Applies a list of events, passes each step to `check`, and returns the last record. After an event that deletes the
 * record, continues with a new record.
 */
function live(
  events: readonly RequestEvent[],
  check: (before: RequestRecord, event: RequestEvent, after: RequestRecord) => void,
): RequestRecord {
  return events.reduce<RequestRecord>((before, event) => {
    const next = applyEvent(before, event);
    if (next !== null) check(before, event, next);
    return next ?? newRecord;
  }, newRecord);
}

const RANK = { waiting: 0, unresolved: 1, queued: 2, processing: 3, succeeded: 4, failed: 4 } as const;

describe("any events, in any order", () => {
  it("a status goes backwards only if a send was not accepted, a success was revoked, or a new attempt begins", () => {
    fc.assert(
      fc.property(anyLife, (events) => {
        live(events, (before, event, next) => {
          const isBackwards = RANK[next.status] < RANK[before.status];
          const isOtherEnd = RANK[before.status] === RANK.succeeded && next.status !== before.status;
          if (!isBackwards && !isOtherEnd) return;
          expect(["not_accepted", "result_revoked", "attempt_begun"]).toContain(event.kind);
          if (event.kind === "not_accepted") expect(before.status).toBe("unresolved");
          if (event.kind === "result_revoked") expect(next.status).toBe("processing");
          if (event.kind === "attempt_begun") expect(next.attempt).toBe(before.attempt + 1);
        });
      }),
    );
  });

  it("only a new attempt drops or replaces a task id, and the number of the attempt never decreases", () => {
    fc.assert(
      fc.property(anyLife, (events) => {
        live(events, (before, event, next) => {
          expect(next.attempt).toBeGreaterThanOrEqual(before.attempt);
          if (before.taskId !== null && event.kind !== "attempt_begun")
            expect(next.taskId).toBe(before.taskId);
        });
      }),
    );
  });

  it("spend is never negative, includes the cost of earlier attempts, and is the whole reservation while a response is missing", () => {
    fc.assert(
      fc.property(anyLife, (events) => {
        live(events, (_before, _event, next) => {
          const credits = next.spend?.credits ?? 0;
          expect(credits).toBeGreaterThanOrEqual(next.earlierCredits);
          if (deriveConcurrencySlotState(next) !== null) expect(credits).toBe(150 + next.earlierCredits);
          if (next.status === "waiting") expect(credits).toBe(next.earlierCredits);
        });
      }),
    );
  });

  it("events of another attempt, send or task change nothing", () => {
    fc.assert(
      fc.property(anyLife, anyTask, (events, { status, charged }) => {
        const record = live(events, () => {});
        const otherTask = task(status, { taskId: "task-9", billing: billing(charged) });
        const strangers: RequestEvent[] = [
          { kind: "send_started", attempt: 9, sendId: "send-9", atMs: NOW_MS },
          { kind: "not_accepted", sendId: "send-9" },
          observed(otherTask, 9),
          { kind: "task_vanished", taskId: "task-9" },
          { kind: "result_revoked", taskId: "task-9", atMs: NOW_MS },
          { kind: "audio_found_too_large", taskId: "task-9" },
          { kind: "attempt_begun", failedAttempt: 9 },
        ];
        if (record.taskId !== null) strangers.push(observed(otherTask, record.attempt));
        for (const event of strangers) expect(applyEvent(record, event)).toBe(record);
      }),
    );
  });

  it("an event that is applied twice has one effect", () => {
    fc.assert(
      fc.property(anyLife, anyEvent, (events, event) => {
        const once = applyEvent(
          live(events, () => {}),
          event,
        );
        if (once !== null) expect(applyEvent(once, event)).toEqual(once);
      }),
    );
  });

  it("stored records can be read again", () => {
    fc.assert(
      fc.property(anyLife, (events) => {
        const record = live(events, () => {});
        expect(requestRecordSchema.parse(JSON.parse(toRow(record).recordJson))).toEqual(record);
      }),
    );
  });
});
