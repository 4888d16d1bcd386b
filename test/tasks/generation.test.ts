/** A call as a task, through the built bin: from the handle to the file, in this process and in others. */
import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CountingService } from "../support/counting-service.ts";
import { resultOf, TaskClient } from "../support/task-client.ts";
import { createWorkplace, FAST, taskOutput, type Workplace } from "../support/workplace.ts";

let service: CountingService;
let workplace: Workplace;
const open: TaskClient[] = [];

function start(more: Record<string, string> = {}): TaskClient {
  const client = new TaskClient(workplace.env(service, { ...FAST, ...more }));
  open.push(client);
  return client;
}

beforeEach(async () => {
  service = await CountingService.start({ processingMs: 100 });
  workplace = await createWorkplace();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
  await service.stop();
  await workplace.remove();
});

const CALL = { prompt: "As a task" };

describe("a call as a task", () => {
  it("is answered with a handle, and polled to the same result as a plain call has", async () => {
    const client = start();
    const created = await client.call("generate_audio", CALL);
    expect(created).toMatchObject({
      resultType: "task",
      status: "working",
      ttlMs: null,
      pollIntervalMs: 1000,
    });
    const handle = String(Reflect.get(created, "taskId"));
    const done = await client.end(handle);
    expect(done).toMatchObject({ status: "completed", taskId: handle });
    const task = taskOutput.parse(resultOf(done).structuredContent);
    expect(task).toMatchObject({ status: "succeeded", replayed: false });
    expect(existsSync(task.audio?.path ?? "")).toBe(true);
    expect(service.count("create")).toBe(1);
    // Found again, it is no task any more.
    const again = await client.call("generate_audio", CALL);
    expect(again).toMatchObject({ structuredContent: { replayed: true } });
    expect(await client.look(handle)).toEqual(done);
  });
});
