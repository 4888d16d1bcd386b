/**
 * A process that slept past its lease (closed laptop, debugger) changes nothing of what another process has done.
 */
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import type { Exchange } from "../../support/fake-service.ts";
import { suspend } from "../../support/suspend.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import type { Outcome } from "../raw-server.ts";
import {
  pause,
  readOnlyTaskRow,
  shownTaskOf,
  shownTextOf,
  type TaskRow,
  waitForExchanges,
  waitForSavedFiles,
} from "./read-from-outside.ts";

closeAfterEach();

/** A lease expires 3 s after its owner's last heartbeat in tests; it was 15 s in 0.1.0, at every scale. */
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
 * One process sleeps with an unanswered create. The other takes over and finishes. Then the sleeper wakes and gets
 * the late answer.
 */
async function sleepOver(
  prompt: string,
  answerLate: (response: ServerResponse, exchange: Exchange, setup: FaultSetup) => void,
  options: {
    isCancelled?: boolean;
    answerOther?: (response: ServerResponse, exchange: Exchange, setup: FaultSetup) => boolean;
  } = {},
): Promise<Scene> {
  const setup = await openFaultSetup();
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
  const task = shownTaskOf(other);
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
    // The other process was refused, and nobody knows yet whether the first send was accepted.
    sleepOver("Taken late", (response, exchange, { service }) => service.answer(exchange, response), {
      answerOther: (response, _, { service }) => {
        service.refuse(response, 402, "insufficient_credits");
        return true;
      },
    }),
  ]);
  for (const scene of [refused, limited, failed]) await expectKept(scene);
  // The sleeper's caller is told that the audio exists, and not that nothing was charged.
  expect.soft(refused.late === "cancelled" ? "" : shownTextOf(refused.late)).toContain("Saved ");
  expect.soft(taken.row.task_id).toBe([...taken.setup.service.tasks.keys()][0]);
  await waitForSavedFiles(taken.setup);
});
