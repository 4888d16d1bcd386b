/** One text that the ledger holds more than once: typed again after days, and under two API keys of one account. */
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import type { ServiceClient } from "../../src/api/service.ts";
import { AudioError } from "../../src/errors.ts";
import { findAttemptsOfTask } from "../../src/ledger/request-rows.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { scratchFolder } from "../support/scratch.ts";
import { CALL, createFailingService, makeDeps, observedTask, requestOf } from "./request-setup.ts";

const HOUR_MS = 3_600_000;

const RUNNING = observedTask();

it.each([
  [23, 'He said "no".'],
  [25, "He said “no”."],
])("a text without an answer that is typed again after %d h is sent as %s", async (hours, expected) => {
  const first = await makeDeps(() => ({
    ...createFailingService(),
    submit: async () => {
      throw new AudioError("network_error", "The connection broke.", { retryable: true });
    },
  }));
  const dead = createRequests(first.deps).requests;
  await first.clock.until(dead.generate(requestOf('He said "no".'), CALL).catch(() => undefined));
  await dead.close();
  first.clock.skip(hours * HOUR_MS);

  const sent: string[] = [];
  const submit = async (body: string): Promise<ObservedTask> => {
    sent.push(JSON.parse(body).prompt);
    return RUNNING;
  };
  const next = await makeDeps(() => ({ ...createFailingService(), submit }), { meeting: first });
  const { requests } = createRequests(next.deps);
  await first.clock.until(requests.generate(requestOf("He said “no”."), CALL));
  await requests.close();
  expect(sent).toEqual([expected]);
});

it("a list shows as many tasks as were asked for, although two API keys know each of them", async () => {
  const account = (): ServiceClient => ({
    ...createFailingService(),
    submit: async (body) => ({ ...RUNNING, taskId: `task-${JSON.parse(body).prompt}` }),
    query: async (taskId) => ({ ...RUNNING, taskId }),
  });
  const older = await makeDeps(account, { apiKey: "sk-older" });
  const newer = await makeDeps(account, { apiKey: "sk-newer", meeting: older });
  const processes = [older, newer].map(({ deps }) => createRequests(deps).requests);
  for (const prompt of ["First", "Second"]) {
    for (const process of processes) {
      await older.clock.until(process.generate(requestOf(prompt), CALL));
      older.clock.skip(1000);
    }
  }
  const listed = await processes[1]?.listRequests({ status: null, search: null, limit: 2 });
  expect(listed?.map(({ promptExcerpt }) => promptExcerpt)).toEqual(["Second", "First"]);
  for (const process of processes) await process.close();
});

it("a refusal of a second send does not end the task that the first one turns out to have made", async () => {
  const [sent, accept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The manual clock stands still while the second call is sent and the task of the first one is written down.
  let isSending = false;
  const meeting = { folder: scratchFolder(), clock: new ManualClock(() => isSending) };
  const submit = async (): Promise<ObservedTask> => {
    sent.resolve();
    await accept.promise;
    return RUNNING;
  };
  const sleeper = await makeDeps(() => ({ ...createFailingService(), submit }), { meeting });
  const refuse = async (): Promise<never> => {
    accept.resolve();
    while ((await findAttemptsOfTask(other.deps.ledger, RUNNING.taskId)).length === 0) await setImmediate();
    isSending = false;
    throw new AudioError("insufficient_credits", "No credits.", { httpStatus: 402 });
  };
  const account = { ...createFailingService(), submit: refuse, query: async () => RUNNING };
  const other = await makeDeps(() => account, { meeting });
  const processes = [sleeper, other].map(({ deps }) => createRequests(deps).requests);
  const calls = [processes[0]?.generate(requestOf("Twice"), CALL)];
  await meeting.clock.until(sent.promise);
  meeting.clock.skip(HOUR_MS);
  isSending = true;
  calls.push(processes[1]?.generate(requestOf("Twice"), { ...CALL, waitMs: 10_000 }));
  const [, second] = await meeting.clock.until(Promise.all(calls));
  expect(second).toMatchObject({ taskId: "task", status: "processing", error: null });
  for (const process of processes) await process?.close();
});

it("a task that was fetched by its id alone is the task of its text, too", async () => {
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async () => RUNNING,
    query: async () => RUNNING,
  }));
  const { requests } = createRequests(deps);
  await clock.until(requests.getTask(RUNNING.taskId, CALL));
  await clock
    .until(requests.download({ taskIdOrHandle: RUNNING.taskId, fileName: null }, CALL))
    .catch(() => undefined);
  const made = await clock.until(requests.generate(requestOf("My own"), { ...CALL, waitMs: 60_000 }));
  expect(made).toMatchObject({ taskId: RUNNING.taskId, status: "processing", error: null });
  await requests.close();
});

it("a task id that the service gives to several texts holds no slot for those that are refused", async () => {
  const sent: string[] = [];
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async (body) => {
      sent.push(JSON.parse(body).prompt);
      return { ...RUNNING, taskId: body.includes("Healthy") ? "own" : "same" };
    },
    query: async (taskId) => ({ ...RUNNING, taskId }),
  }));
  const { requests } = createRequests(deps);
  for (const prompt of ["One", "Two", "Three", "Healthy"])
    await clock.until(requests.generate(requestOf(prompt), { ...CALL, waitMs: 500 })).catch(() => undefined);
  // Each of them is asked once more for its own task.
  expect(sent).toEqual(["One", "Two", "Two", "Three", "Three", "Healthy"]);
  await requests.close();
});
