/**
 * The request handle of a request that the service has not accepted yet. With it, get_task waits and reports progress,
 * and sends no submission.
 */
import { afterEach, describe, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, generate, taskOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const open: ToolClient[] = [];

async function start(env: Record<string, string> = {}, connect = startToolClient): Promise<ToolClient> {
  const toolClient = await connect(testFolders.env(service, { ...FAST, ...env }));
  open.push(toolClient);
  // The first request of a process is slow, because it loads code. It is sent before the test measures any time.
  await toolClient.call("get_task", { task_id: "task-of-nobody" });
  return toolClient;
}

/** Makes the service answer 429 to the first submissions, which delays them. */
function putOff(submissions: number): void {
  service.refuseFirst(submissions, "create", 429, "rate_limit");
}

// The call waits long enough for the first submission to be refused, even on a busy machine.
const CALL = { prompt: "Put off for a while", wait_seconds: 1.5 };

afterEach(async () => {
  await Promise.all(open.splice(0).map((toolClient) => toolClient.close()));
});

it("the handle of a delayed request reports progress without waiting, and waits for the file with a window", async () => {
  putOff(1000);
  const toolClient = await start();
  const unfinishedTask = await generate(toolClient, CALL);
  expect(unfinishedTask).toMatchObject({ status: "waiting", replayed: false, billing: null });
  expect(unfinishedTask.task_id).toMatch(/^req-[0-9a-f]{32}$/);
  const shownTask = taskOf(await toolClient.call("get_task", { task_id: unfinishedTask.task_id }));
  expect(shownTask).toMatchObject({ status: "waiting", task_id: unfinishedTask.task_id });
  expect(shownTask.message).toMatch(/The server goes on by itself and saves the file/);
  const early = errorOf(await toolClient.call("download_audio", { task_id: unfinishedTask.task_id }));
  expect(early).toMatchObject({ code: "not_ready", task_id: unfinishedTask.task_id });
  service.intercept = undefined;
  const done = taskOf(
    await toolClient.call("get_task", { task_id: unfinishedTask.task_id, wait_seconds: 20 }),
  );
  expect(done).toMatchObject({ status: "succeeded", task_id: expect.stringMatching(/^task-/) });
  const later = taskOf(await toolClient.call("get_task", { task_id: unfinishedTask.task_id }));
  expect(later.audio?.path).toBe(done.audio?.path);
  const again = taskOf(await toolClient.call("download_audio", { task_id: unfinishedTask.task_id }));
  expect(again.audio?.path).toBe(done.audio?.path);
  expect(service.tasks.size).toBe(1);
});

it("the handle of a delayed request is known to another process, which reports that the request is being worked on, and waits", async () => {
  putOff(1000);
  // Both processes start before the first pause begins, because a start can take as long as a pause.
  const [toolClient, other] = await Promise.all([start(), start()]);
  const unfinishedTask = await generate(toolClient, CALL);
  const shownTask = taskOf(await other.call("get_task", { task_id: unfinishedTask.task_id }));
  expect(shownTask.message).toMatch(/Another client window is already working on this request/);
  service.intercept = undefined;
  const done = taskOf(await other.call("get_task", { task_id: unfinishedTask.task_id, wait_seconds: 20 }));
  expect(done.status).toBe("succeeded");
  expect(service.tasks.size).toBe(1);
});

describe("the second answer about a waiting request", () => {
  const runTwo = async (toolClient: ToolClient): Promise<void> => {
    for (const prompt of ["The first that runs", "The second that runs"]) {
      await toolClient.call("generate_audio", { prompt, wait_seconds: 0 });
    }
  };
  const runOneOnTheLastCredits = async (toolClient: ToolClient): Promise<void> => {
    await toolClient.call("generate_audio", { prompt: "The one that runs", wait_seconds: 0 });
    service.intercept = ({ kind }, response) => {
      if (kind === "create") service.refuse(response, 402, "insufficient_credits");
      return kind === "create";
    };
  };

  it.each([
    ["a pause", async () => putOff(1), /about (\d+) s to go/],
    ["no free place", runTwo, /one of the account's two running tasks to end \((\d+) s so far\)/],
    ["no free credits", runOneOnTheLastCredits, /are held by tasks that run \((\d+) s so far\)/],
  ] as const)("reports what has changed: %s", async (_what, obstruct, words) => {
    service.processingMs = 20_000;
    const toolClient = await start({ AUDIO_TIME_SCALE: "0.1" });
    await obstruct(toolClient);
    const first = await generate(toolClient, { ...CALL, wait_seconds: 3 });
    const second = taskOf(await toolClient.call("get_task", { task_id: first.task_id, wait_seconds: 1.5 }));
    expect([first.status, second.status]).toEqual(["waiting", "waiting"]);
    const [before, after] = [first, second].map(({ message }) => Number(words.exec(message)?.[1]));
    expect(before, first.message).toBeGreaterThan(0);
    expect(after, second.message).toBeGreaterThan(0);
    expect(after).not.toBe(before);
  });
});

it("the first success of a process is the only one whose text asks to tell the path; all are short", async () => {
  const toolClient = await start();
  const outcomes = [
    await toolClient.call("generate_audio", { prompt: "The first" }),
    await toolClient.call("generate_audio", { prompt: "The second" }),
  ];
  const texts = outcomes.map(({ content }) => content[0]?.text ?? "");
  expect(texts.map((text) => text.includes("\nNext: Tell the user the path."))).toEqual([true, false]);
  for (const { structuredContent } of outcomes) {
    expect(Buffer.byteLength(JSON.stringify(structuredContent))).toBeLessThanOrEqual(650);
    expect(structuredContent?.["next_step"]).toBe("Tell the user the path.");
  }
  for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(650);
});
