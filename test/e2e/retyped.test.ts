/** A text that a model retypes after a time-out returns the running task, so that nothing is paid twice. */
import { beforeEach, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf, type ToolOutcome, taskOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));
beforeEach(() => {
  service.processingMs = 60_000;
});

const TEXT = '"It\'s late," she said. The harbour was empty.';
const RETYPED = "“It’s late,” she said.\nThe Harbour was  empty. ";

/** Makes the call, and repeats it while its error is `timeout`, which occurs on a busy machine. */
async function ask(args: Record<string, unknown>): Promise<ToolOutcome> {
  for (let tries = 0; ; tries += 1) {
    const outcome = await client.call("generate_audio", { wait_seconds: 1, ...args });
    if (outcome.isError !== true || tries === 30 || !resultTextOf(outcome).startsWith("timeout"))
      return outcome;
  }
}

it("a retyped text returns the running task, and says how to make another", async () => {
  const first = taskOf(await ask({ prompt: TEXT }));
  const again = await ask({ prompt: RETYPED });
  expect(taskOf(again)).toMatchObject({ task_id: first.task_id, replayed: true });
  for (const form of [taskOf(again).message, resultTextOf(again)]) {
    expect(form).toContain("differs only in quotation marks, blanks, case or Unicode form");
    expect(form).toContain("the same call with take 2");
  }
  expect(service.count("create")).toBe(1);
  const second = taskOf(await ask({ prompt: RETYPED, take: 2 }));
  expect(second.task_id).not.toBe(first.task_id);
});

it("a text is a new request with other words, other settings, or after the first has ended", async () => {
  const first = taskOf(await ask({ prompt: TEXT }));
  const other = taskOf(await ask({ prompt: RETYPED, speed: 0.9 }));
  expect(other.task_id).not.toBe(first.task_id);
  for (const task of service.tasks.values()) task.status = "succeeded";
  await client.call("get_task", { task_id: first.task_id, wait_seconds: 20 });
  await client.call("get_task", { task_id: other.task_id, wait_seconds: 20 });
  const anew = taskOf(await ask({ prompt: RETYPED }));
  expect(anew.task_id).not.toBe(first.task_id);
});

it("a retyped text is the request whose answer was lost before the API key was refused", async () => {
  service.processingMs = 0;
  service.intercept = (exchange, response) => {
    if (exchange.kind !== "create") return false;
    if (exchange.ordinal > 1) service.refuse(response, 401, "invalid_api_key");
    else {
      service.accept(exchange);
      response.destroy();
    }
    return true;
  };
  expect(resultTextOf(await ask({ prompt: TEXT, wait_seconds: 20 }))).toMatch(/^invalid_api_key/);
  service.intercept = undefined;
  expect(taskOf(await ask({ prompt: RETYPED, wait_seconds: 20 })).status).toBe("succeeded");
  expect(service.tasks.size).toBe(1);
});

it.each([
  ["", {}],
  [", in take 2", { take: 2 }],
  [", at another speed", { speed: 1.2 }],
] as ReadonlyArray<[string, { take?: number; speed?: number }]>)(
  "a retyped text that a running narration has not begun yet%s is named as its part, and another take makes it",
  async (_, choice) => {
    const text = ["One", "Two", "Three", "Four"].map((heading) => `# ${heading}\n\n${TEXT}`).join("\n\n");
    const retakes = [{ chapter: "Four", take: 1, ...choice }];
    const plan = await client.call("narrate", { text, retakes });
    const { narration_id } = Object(plan.structuredContent);
    await client.call("narrate", { narration_id, retakes, max_credits: 5000, wait_seconds: 0 });
    const prompt = `Four\n\n${RETYPED}`;
    const refused = await client.call("generate_audio", { prompt, ...choice, wait_seconds: 1 });
    expect(refused.isError).toBe(true);
    expect(resultTextOf(refused)).toContain(`Part 4 of narration ${narration_id}`);
    expect(resultTextOf(refused)).toContain(`take ${(choice.take ?? 1) + 1}`);
    for (const task of service.tasks.values()) task.status = "succeeded";
    service.processingMs = 0;
    const second = taskOf(await ask({ prompt, ...choice, take: 3 }));
    expect(second.take).toBe(3);
    await client.call("narrate", { narration_id, wait_seconds: 30 });
    expect(service.count("create")).toBe(5);
  },
);
