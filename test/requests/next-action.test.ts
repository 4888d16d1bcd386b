/**
 * Random runs of a job, in which `decideNextAction` chooses each action. The service gives any responses in any order,
 * even ones that a correct service would not give.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { RequestRecord } from "../../src/ledger/record.ts";
import { decideNextAction, type JobAction, type JobFacts } from "../../src/requests/job/next-action.ts";
import { sampleRecord } from "../ledger/sample-record.ts";

type Next = typeof decideNextAction;

/** Responses to submissions and queries. `isRefunded` says whether the credits of a failed task are returned. */
const answers = fc.array(
  fc.record({
    status: fc.constantFrom("queued" as const, "succeeded" as const, "failed" as const),
    isRefunded: fc.boolean(),
    /** Whether the service already knows the idempotency key, as after the loss of the ledger. */
    isOld: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

const callFacts = fc.record({
  maySubmit: fc.boolean(),
  isOfNarration: fc.boolean(),
  mayRetryEarlierTask: fc.boolean(),
  wasFailed: fc.boolean(),
});

const bill = (charged: number): RequestRecord["billing"] => ({
  reserved_credits: 150,
  charged_credits: charged,
  refunded_credits: 150 - charged,
});

/** Runs a job. Returns the rule that the run breaks, or `null`. */
function brokenRule(
  next: Next,
  call: typeof callFacts extends fc.Arbitrary<infer CallFacts> ? CallFacts : never,
  responses: typeof answers extends fc.Arbitrary<infer Responses> ? Responses : never,
): string | null {
  let record: RequestRecord = sampleRecord({
    status: call.wasFailed ? "failed" : "waiting",
    billing: call.wasFailed ? bill(0) : null,
  });
  const facts = {
    failureTiming: "before_job" as JobFacts["failureTiming"],
    newTaskCount: 0,
    alreadyFailedResponseCount: 0,
  };
  let charged = 0;
  let isPaidFailureSeen = false;
  for (let steps = 0; steps < 60; steps += 1) {
    const action: JobAction = next(record, { ...call, ...facts, hadFailedAttempt: call.wasFailed });
    if ((action.kind === "send" || action.kind === "new_attempt") && !call.maySubmit)
      return "a submission without permission";
    if (action.kind === "new_attempt") {
      if (isPaidFailureSeen) return "a failure that was charged is repeated unasked";
      if (facts.failureTiming === "in_response") facts.alreadyFailedResponseCount += 1;
      record = { ...record, status: "waiting", billing: null };
      continue;
    }
    if (action.kind === "save" || action.kind === "end") break;
    const answer = responses[steps % responses.length] ?? {
      status: "succeeded",
      isRefunded: true,
      isOld: false,
    };
    if (action.kind === "send") {
      const isNew = !(answer.isOld && answer.status === "failed");
      if (isNew) facts.newTaskCount += 1;
      if (isNew && facts.newTaskCount > 2) return "a third new task";
      facts.failureTiming = "in_response";
      record = { ...record, status: answer.status, billing: bill(answer.isRefunded ? 0 : 100) };
    } else {
      facts.failureTiming = "during_job";
      const status = answer.status === "queued" ? "succeeded" : answer.status;
      record = { ...record, status, billing: bill(answer.isRefunded ? 0 : 100) };
    }
    if (record.status === "failed" && !answer.isRefunded) isPaidFailureSeen = true;
    if (record.status === "failed") charged += answer.isRefunded ? 0 : 1;
    if (charged > 1) return "two failures that were charged";
    if (steps === 59) return "no end";
  }
  return null;
}

it("a job sends only with permission, creates at most two tasks, and never repeats a charged failure", () => {
  fc.assert(
    fc.property(
      callFacts,
      answers,
      (call, responses) => brokenRule(decideNextAction, call, responses) === null,
    ),
    { numRuns: 5000 },
  );
});

const planted: readonly (readonly [string, string, Next])[] = [
  [
    "permission is not checked",
    "a submission without permission",
    (record, facts) => decideNextAction(record, { ...facts, maySubmit: true }),
  ],
  [
    "new tasks are not counted",
    "a third new task",
    (record, facts) => decideNextAction(record, { ...facts, newTaskCount: Math.min(1, facts.newTaskCount) }),
  ],
  [
    "a failure that was charged is taken for a refunded one",
    "charged",
    (record, facts) =>
      decideNextAction(record.status === "failed" ? { ...record, billing: bill(0) } : record, facts),
  ],
  [
    "each failure counts as an earlier call's",
    "charged",
    (record, facts) => decideNextAction(record, { ...facts, failureTiming: "before_job" }),
  ],
  [
    "failed attempts that are passed are not counted",
    "no end",
    (record, facts) => decideNextAction(record, { ...facts, alreadyFailedResponseCount: 0 }),
  ],
];

it.each(planted)("a run finds the planted fault: %s", (_name, rule, next) => {
  const broken = fc
    .sample(fc.tuple(callFacts, answers), { numRuns: 5000, seed: 7 })
    .map(([call, responses]) => brokenRule(next, call, responses));
  expect(broken.filter((found) => found?.includes(rule)).length).toBeGreaterThan(0);
});
