/**
 * A process that was suspended for longer than its lease (closed laptop, debugger) changes nothing that another process
 * has written.
 */
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import type { Exchange } from "../../support/fake-service.ts";
import { suspend } from "../../support/suspend.ts";
import { resultTextOf, taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import type { Outcome } from "../raw-server.ts";
import {
  pause,
  readOnlyTaskRow,
  type TaskRow,
  waitForExchanges,
  waitForSavedFiles,
} from "./read-from-outside.ts";

closeAfterEach();

/** Longer than a lease lasts: 3 s in these tests, and 15 s if they run with version 0.1.0. */
const OUTLASTS_THE_LEASE = { wait_seconds: 19 };

interface Scene {
  readonly setup: FaultSetup;
  /** The result that the suspended process finally returned to its caller. */
  readonly late: Outcome | "cancelled";
  /** The result of the other process's call. */
  readonly other: Outcome;
  readonly row: TaskRow;
}

/**
 * Suspends one process while its submission is not answered. Another process takes over and finishes the request. Then
 * the first process continues, and gets the late answer.
 */
async function sleepOver(
  prompt: string,
  answerLate: (response: ServerResponse, exchange: Exchange, setup: FaultSetup) => void,
  options: {
    isCancelled?: boolean;
    answerOther?: (response: ServerResponse, exchange: Exchange, setup: FaultSetup) => boolean;
  } = {},
): Promise<Scene> {
  const setup = await openFaultSetup({ start: { isInProcess: false } });
  const releases: Array<() => void> = [];
  setup.misbehave((exchange, response) => {
    if (exchange.kind !== "create") return false;
    if (exchange.ordinal > 1) return options.answerOther?.(response, exchange, setup) ?? false;
    releases.push(() => answerLate(response, exchange, setup));
    return true;
  });
  const { server: sleeper } = setup;
  const other = await setup.another();
  const id = sleeper.begin("generate_audio", { prompt, ...OUTLASTS_THE_LEASE });
  await waitForExchanges(setup, "create");
  await suspend(sleeper.child.pid ?? 0, setup.testFolders.stateDir);
  const outcome = await other.call("generate_audio", { prompt, ...OUTLASTS_THE_LEASE });
  for (const answer of releases) answer();
  await pause(20);
  if (options.isCancelled === true) sleeper.cancel(id);
  sleeper.child.kill("SIGCONT");
  const late = options.isCancelled === true ? "cancelled" : await sleeper.outcomeOf(id);
  await pause(300);
  return { setup, late, other: outcome, row: await readOnlyTaskRow(other) };
}

async function expectKept({ setup, other, row }: Scene): Promise<void> {
  const task = taskOf(other);
  expect
    .soft(row)
    .toMatchObject({ status: "succeeded", task_id: task.task_id, audio_path: task.audio?.path });
  expect.soft(setup.service.tasks.size).toBe(1);
}

const refuse =
  (status: number, code: string) =>
  (response: ServerResponse, _: Exchange, { service }: FaultSetup): void =>
    service.refuse(response, status, code);

it("a late refusal, a late 429 and a cancellation do not change the task that another process saved; a late 202 is kept", {
  timeout: 40_000,
}, async () => {
  const [refused, limited, failed, taken] = await Promise.all([
    sleepOver("Refused late", refuse(402, "insufficient_credits")),
    sleepOver("Limited late", refuse(429, "rate_limit"), { isCancelled: true }),
    sleepOver("Unavailable late", refuse(503, "api_unavailable"), { isCancelled: true }),
    // The service refuses the submission of the other process, before it is known whether the first send was accepted.
    sleepOver("Taken late", (response, exchange, { service }) => service.answer(exchange, response), {
      answerOther: (response, _, { service }) => {
        service.refuse(response, 402, "insufficient_credits");
        return true;
      },
    }),
  ]);
  for (const scene of [refused, limited, failed]) await expectKept(scene);
  // The call of the suspended process reports the saved audio. It does not say that nothing was charged.
  expect.soft(refused.late === "cancelled" ? "" : resultTextOf(refused.late)).toContain("Saved ");
  expect.soft(taken.row.task_id).toBe([...taken.setup.service.tasks.keys()][0]);
  await waitForSavedFiles(taken.setup);
});
