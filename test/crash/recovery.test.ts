/**
 * After a crash, any tool call makes the new process watch accepted tasks and save their audio. A task is created only
 * by a call that requests it (docs/reference-requests.md, A request).
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { errorOf, generate } from "../support/tool-result.ts";
import { CrashSetup } from "./crash-setup.ts";
import { KILL_POINTS } from "./kill-points.ts";

const CALL = { prompt: "Taken up by another call" };

let setup: CrashSetup;
afterEach(() => setup.close());

/** Several times as long as a task takes at this scale. An unwanted create would happen within this time. */
const A_WHILE_MS = 250;

async function killedWhen(when: RegExp): Promise<void> {
  setup = await CrashSetup.set();
  const killTarget = await setup.start();
  await killTarget.call("list_tasks", {});
  const point = KILL_POINTS.find((candidate) => when.test(candidate.when));
  if (point === undefined) throw new Error(`no kill point is called ${when}`);
  const reached = point.reach(setup);
  void killTarget.call("generate_audio", CALL).catch(() => undefined);
  await setup.killAt(killTarget, reached);
  setup.service.intercept = undefined;
  await setup.ageLeftovers();
}

it.each([/^while watching/, /before it has its name/])(
  "after a crash %s, list_tasks has the audio saved in the background",
  async (when) => {
    await killedWhen(when);
    const successor = await setup.startSuccessor();
    await successor.call("list_tasks", {});
    const ledgerController = await setup.ledgerController();
    await ledgerController.waitUntil((records) => records.every(({ files }) => files.length === 1));
    const outcome = await successor.call("get_task", { task_id: [...setup.service.tasks.keys()][0] });
    await setup.checkFinalState(outcome);
    expect(setup.service.count("create")).toBe(1);
  },
);

it.each([/middle of the download/, /file has its name/])(
  "after a crash %s, get_task waits for the file to be saved",
  async (when) => {
    await killedWhen(when);
    const successor = await setup.startSuccessor();
    const [taskId] = setup.service.tasks.keys();
    await setup.checkFinalState(await successor.call("get_task", { task_id: taskId, wait_seconds: 10 }));
    expect(setup.service.count("create")).toBe(1);
  },
);

it.each([/took without answering/, /^while watching/, /file has its name/])(
  "after a crash in which the ledger was lost the same call still finds the same task: %s",
  async (when) => {
    await killedWhen(when);
    const successor = await setup.startSuccessor({
      AUDIO_STATE_DIR: join(setup.testFolders.root, "new-state"),
    });
    const task = await generate(successor, CALL);
    expect([...setup.service.tasks.keys()]).toEqual([task.task_id]);
    await setup.expectOnlyWholeFiles();
    expect(await setup.finalNames()).toHaveLength(1);
  },
);

it("nothing is created without a call if a submission was sent and its response was lost", async () => {
  await killedWhen(/took without answering/);
  const successor = await setup.startSuccessor();
  const listed = await successor.call("list_tasks", { status: "unresolved" });
  expect(listed.structuredContent).toMatchObject({
    count: 1,
    tasks: [
      {
        task_id: expect.stringMatching(/^req-/),
        status: "unresolved",
        next_step: expect.stringMatching(/task_id req-[0-9a-f]{32} .*never pays twice/),
      },
    ],
  });
  const facts = errorOf(await successor.call("get_task", { task_id: "task-of-nobody" }));
  expect(facts.code).toBe("not_found");
  await sleep(A_WHILE_MS);
  expect(setup.service.count("create")).toBe(1);
  await setup.checkFinalState(await successor.call("generate_audio", CALL));
  expect(setup.service.count("create")).toBe(2);
});

it("nothing is created without a call if a job was killed while it waited for a slot, and a slot becomes free afterwards", async () => {
  setup = await CrashSetup.set({ processingMs: 4000, limitScale: 0.01 });
  const killTarget = await setup.start();
  for (const prompt of ["First of two", "Second of two"]) {
    await killTarget.call("generate_audio", { prompt, wait_seconds: 0 });
  }
  const unfinishedTask = await generate(killTarget, { ...CALL, wait_seconds: 0.05 });
  expect(unfinishedTask).toMatchObject({ status: "waiting", task_id: expect.stringMatching(/^req-/) });
  await setup.killAt(killTarget, Promise.resolve());
  expect(setup.service.count("create")).toBe(2);

  const successor = await setup.startSuccessor();
  const rows = await successor.call("list_tasks", { status: "waiting" });
  expect(rows.structuredContent).toMatchObject({ count: 1 });
  const ledgerController = await setup.ledgerController();
  // The tasks of the killed process end, and their slots become free.
  setup.service.processingMs = 0;
  await ledgerController.waitUntil(
    (records) => records.filter(({ files }) => files.length === 1).length === 2,
  );
  await sleep(A_WHILE_MS);
  expect(setup.service.count("create")).toBe(2);
  expect((await generate(successor, CALL)).status).toBe("succeeded");
  expect(setup.service.tasks.size).toBe(3);
  expect(setup.service.rateLimitedCount).toBe(0);
  expect(ledgerController.concurrencySlots()).toBe(0);
  expect(await setup.finalNames()).toHaveLength(3);
});
