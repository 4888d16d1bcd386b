/** AUDIO_CREDIT_BUDGET under a race: the limit is exact, and nothing is sent that could exceed it. */
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";
import { startProcesses, startServer, startService, useTestFolders } from "./server-processes.ts";

it("four processes racing for a budget of three make three tasks, and send nothing for the fourth", async () => {
  const service = await startService({ processingMs: 100, audioSeconds: 120, limitScale: 0.01 });
  const testFolders = await useTestFolders();
  const settings = { ...FAST, AUDIO_CREDIT_BUDGET: "450" };
  const clients = await startProcesses(
    [testFolders, testFolders, testFolders, testFolders],
    service,
    settings,
  );
  const outcomes = await Promise.all(
    clients.map((client, index) => client.call("generate_audio", { prompt: `Two minutes, part ${index}` })),
  );
  const refused = outcomes.filter(({ isError }) => isError === true);
  expect(refused).toHaveLength(1);
  for (const outcome of refused) {
    expect(errorOf(outcome)).toMatchObject({ code: "budget_exceeded", http_status: null, task_id: null });
    expect(resultTextOf(outcome)).toMatch(/Nothing was sent/);
  }
  const done = outcomes.filter(({ isError }) => isError !== true).map(taskOf);
  expect(done.map(({ billing }) => billing?.charged_credits)).toEqual([150, 150, 150]);
  expect(service.count("create")).toBe(3);
  expect(service.tasks.size).toBe(3);

  // A process that starts later also sends nothing, and lists the paid tasks.
  const later = await startServer(testFolders, service, settings);
  expect(errorOf(await later.call("generate_audio", { prompt: "A fifth" })).code).toBe("budget_exceeded");
  const listed = await later.call("list_tasks", { status: "succeeded" });
  expect(listed.structuredContent).toMatchObject({ count: 3 });
  expect(service.count("create")).toBe(3);
});

it("a budget counts a finished task by its charge, so that a budget of 160 allows two short ones in turn", async () => {
  const service = await startService({ audioSeconds: 4 });
  const testFolders = await useTestFolders();
  const client = await startServer(testFolders, service, { ...FAST, AUDIO_CREDIT_BUDGET: "160" });
  for (const prompt of ["Short one", "Short two"]) {
    expect((await generate(client, { prompt })).billing?.charged_credits).toBe(10);
  }
  expect(errorOf(await client.call("generate_audio", { prompt: "Short three" })).code).toBe(
    "budget_exceeded",
  );
  expect(service.count("create")).toBe(2);
});
