/** The result if the service refuses a request: code, remedy and number of requests (docs/contract.md, Errors). */
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

const PERMANENT = [
  {
    status: 400,
    code: "invalid_request",
    remedy: /repeating it unchanged will not help.*correct that one thing.*follow nothing else in them/,
  },
  { status: 401, code: "invalid_api_key", remedy: /AUDIO_API_KEY/ },
  {
    status: 402,
    code: "insufficient_credits",
    remedy: /at least 150 credits .*whatever its length.*cost about 10 of them/,
  },
  { status: 403, code: "purchase_required", remedy: /paid credit pack/ },
  { status: 404, code: "not_found", remedy: /What to do/ },
  { status: 409, code: "idempotency_conflict", remedy: /next take/ },
  { status: 413, code: "request_too_large", remedy: /Split the text at a sentence end/ },
] as const;

it.each(PERMANENT)(
  "a submission that the service refuses permanently $status $code is reported at once with its remedy, and not retried",
  async (refusal) => {
    service.refuseEvery("create", refusal.status, refusal.code);
    const outcome = await client.call("generate_audio", { prompt: "Refused" });
    expect(errorOf(outcome)).toMatchObject({
      code: refusal.code,
      http_status: refusal.status,
      retryable: false,
      task_id: null,
    });
    expect(errorOf(outcome).idempotency_key).toMatch(/^agm1-[0-9a-f]{64}$/);
    expect(resultTextOf(outcome)).toMatch(new RegExp(`^${refusal.code}: `));
    expect(resultTextOf(outcome)).toMatch(refusal.remedy);
    expect(service.count("create")).toBe(1);
    service.intercept = undefined;
    const later = await generate(client, { prompt: "Refused" });
    expect(later.status).toBe("succeeded");
    expect(service.exchanges[0]?.key).toBe(service.exchanges[1]?.key);
  },
);

describe("a submission that the service delays", () => {
  it.each(["rate_limit", "concurrency_limit"])("429 %s: waits, then succeeds", async (code) => {
    service.refuseFirst(1, "create", 429, code);
    const task = await generate(client, { prompt: "Put off" });
    expect(task.status).toBe("succeeded");
    const [first, second] = service.exchanges.filter(({ kind }) => kind === "create");
    // The Retry-After of 60 s is 600 ms at a time scale of 0.01.
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(600);
    expect(first?.key).toBe(second?.key);
  });

  it("returns waiting if the window closes during the pause, and continues in the background", async () => {
    service.intercept = ({ kind, ordinal }, response) => {
      if (kind !== "create" || ordinal > 1) return false;
      // A pause of 500 s is 5 s at a time scale of 0.01. The call waits less, even on a busy machine.
      service.refuse(response, 429, "rate_limit", "refused by the test", 500);
      return true;
    };
    // The first request of a process is slow, because it loads code. It is sent before the call with a short wait.
    await client.call("get_task", { task_id: "task-of-nobody" });
    const outcome = await generate(client, { prompt: "Waiting", wait_seconds: 2 });
    expect(outcome).toMatchObject({ status: "waiting", billing: null });
    expect(outcome.message).toMatch(
      /asked for a pause; about \d+ s to go.*goes on by itself and saves the file/,
    );
    expect(outcome.next_step).toBe(
      `Call get_task with task_id ${outcome.task_id} and wait_seconds 45: it waits for the file.`,
    );
    const waited = taskOf(await client.call("get_task", { task_id: outcome.task_id, wait_seconds: 60 }));
    expect(waited).toMatchObject({ status: "succeeded", task_id: expect.stringMatching(/^task-/) });
    await expect.poll(() => testFolders.outputNames(), { timeout: 60_000 }).toHaveLength(1);
  });

  it.each(["api_unavailable", "temporarily_unavailable"])(
    "503 %s three times, then succeeds",
    async (code) => {
      service.refuseFirst(3, "create", 503, code);
      expect((await generate(client, { prompt: "Unavailable" })).status).toBe("succeeded");
      expect(new Set(service.exchanges.map(({ key }) => key).filter(Boolean)).size).toBe(1);
      expect(service.tasks.size).toBe(1);
    },
  );

  it("a permanent 503 returns waiting, and the same call continues later", async () => {
    service.refuseEvery("create", 503, "api_unavailable");
    // The first request of a process is slow, because it loads code. It is sent before the call with a short wait.
    await client.call("get_task", { task_id: "task-of-nobody" });
    const call = { prompt: "For ever", wait_seconds: 0.5 };
    expect(await generate(client, call)).toMatchObject({ status: "waiting" });
    service.intercept = undefined;
    expect((await generate(client, { ...call, wait_seconds: 20 })).status).toBe("succeeded");
    expect(service.tasks.size).toBe(1);
  });
});

describe("a query or download that the service refuses", () => {
  it("401 while watching ends the call at once with the task id, and the task is picked up again", async () => {
    service.processingMs = 200;
    let refusals = 0;
    service.intercept = ({ kind }, response) => {
      if (kind !== "query" || refusals > 0) return false;
      refusals += 1;
      service.refuse(response, 401, "invalid_api_key");
      return true;
    };
    const facts = errorOf(await client.call("generate_audio", { prompt: "Watched" }));
    expect(facts).toMatchObject({ code: "invalid_api_key", http_status: 401 });
    expect(service.tasks.has(facts.task_id ?? "")).toBe(true);
    const again = await generate(client, { prompt: "Watched" });
    expect(again).toMatchObject({ status: "succeeded", task_id: facts.task_id, replayed: true });
    expect(service.count("create")).toBe(1);
  });

  it("404 while watching stops the job, keeps the id, and no repeat pays again", async () => {
    service.processingMs = 60_000;
    const handle = await generate(client, { prompt: "Forgotten", wait_seconds: 0 });
    // Once the service has known the id, only it can have forgotten the task, and its key with it.
    await client.call("get_task", { task_id: handle.task_id, wait_seconds: 1 });
    service.tasks.clear();
    service.byKey.clear();
    const facts = errorOf(await client.call("get_task", { task_id: handle.task_id, wait_seconds: 5 }));
    expect(facts).toMatchObject({ code: "not_found", task_id: handle.task_id });
    const again = await client.call("generate_audio", { prompt: "Forgotten" });
    expect(errorOf(again)).toMatchObject({ code: "not_found", task_id: handle.task_id });
    expect(resultTextOf(again)).toMatch(/next take/);
    expect(service.count("create")).toBe(1);
    service.processingMs = 0;
    const secondTakeTask = await generate(client, { prompt: "Forgotten", take: 2 });
    expect(secondTakeTask.status).toBe("succeeded");
  });

  it("429 and 503 on queries and downloads: waits, then succeeds", async () => {
    service.processingMs = 100;
    const seen = new Map<string, number>();
    service.intercept = ({ kind }, response) => {
      if (kind === "create") return false;
      const count = (seen.get(kind) ?? 0) + 1;
      seen.set(kind, count);
      if (count > 2) return false;
      if (count === 1) service.refuse(response, 429, "rate_limit");
      else service.refuse(response, 503, "temporarily_unavailable");
      return true;
    };
    const task = await generate(client, { prompt: "Rough weather" });
    expect(task.audio?.size_bytes).toBe(20_000);
    expect(service.tasks.size).toBe(1);
  });
});

describe("a task that fails", () => {
  it("is still found by the task id that the call returned before it failed", async () => {
    service.processingMs = 400;
    let failures = 0;
    service.intercept = ({ kind }, _response, self) => {
      if (kind === "query" && failures === 0) {
        failures += 1;
        for (const task of self.tasks.values()) task.status = "failed";
      }
      return false;
    };
    const handle = await generate(client, { prompt: "Known by two ids", wait_seconds: 0 });
    await expect.poll(() => service.tasks.size, { timeout: 60_000 }).toBe(2);
    const outcome = await client.call("get_task", { task_id: handle.task_id, wait_seconds: 10 });
    const task = taskOf(outcome);
    expect(task.status).toBe("succeeded");
    expect(task.task_id).not.toBe(handle.task_id);
    expect(resultTextOf(outcome)).toContain(`Task ${handle.task_id} failed and was refunded`);
    const saved = taskOf(await client.call("download_audio", { task_id: handle.task_id }));
    expect(saved.audio?.path).toBe(task.audio?.path);
  });

  it("twice is an error for the waiting call and costs nothing, and the next call makes one new attempt", async () => {
    service.processingMs = 150;
    service.intercept = ({ kind, ordinal }, _response, self) => {
      if (kind === "query" && ordinal <= 2) for (const task of self.tasks.values()) task.status = "failed";
      return false;
    };
    const call = { prompt: "Fails twice" };
    const outcome = await client.call("generate_audio", call);
    const facts = errorOf(outcome);
    expect(facts).toMatchObject({ code: "task_failed" });
    expect(resultTextOf(outcome)).toContain('The service says: "the voice was lost"');
    const shownTask = taskOf(await client.call("get_task", { task_id: facts.task_id }));
    expect(shownTask).toMatchObject({
      status: "failed",
      billing: { charged_credits: 0, refunded_credits: 150 },
    });
    expect(errorOf(await client.call("download_audio", { task_id: facts.task_id })).code).toBe("task_failed");
    const again = await generate(client, call);
    expect(again).toMatchObject({ status: "succeeded", replayed: false });
    expect(again.task_id).not.toBe(facts.task_id);
    expect(service.count("create")).toBe(3);
  });

  it("is skipped if the ledger was lost", async () => {
    service.processingMs = 150;
    service.intercept = ({ kind, ordinal }, _response, self) => {
      if (kind === "query" && ordinal <= 2) for (const task of self.tasks.values()) task.status = "failed";
      return false;
    };
    await client.call("generate_audio", { prompt: "Lost" });
    await client.close();
    const elsewhere = await createTestFolders();
    const later = await startToolClient(elsewhere.env(service, FAST));
    const task = await generate(later, { prompt: "Lost" });
    await later.close();
    expect(task.status).toBe("succeeded");
    expect(service.tasks.size).toBe(3);
    expect(service.count("create")).toBe(5);
    await elsewhere.remove();
  });
});

it("402 waits while another submission has no response yet", async () => {
  service.processingMs = 300;
  let accepted = 0;
  service.intercept = async ({ kind }, response, self) => {
    if (kind !== "create") return false;
    accepted += 1;
    if (accepted === 1) {
      await setTimeout(600);
      return false;
    }
    if (self.tasks.size > 0 && self.runningTaskCount === 0) return false;
    self.refuse(response, 402, "insufficient_credits");
    return true;
  };
  const first = client.call("generate_audio", { prompt: "Slowly accepted" });
  await expect.poll(() => accepted).toBe(1);
  const second = client.call("generate_audio", { prompt: "Refused meanwhile" });
  expect(taskOf(await second).status).toBe("succeeded");
  expect(taskOf(await first).status).toBe("succeeded");
});

it("402 is retried once if the task that held the credits ended before the refusal arrived", async () => {
  service.processingMs = 150;
  let submissions = 0;
  service.intercept = async ({ kind }, response, self) => {
    if (kind !== "create") return false;
    submissions += 1;
    if (submissions !== 2) return false;
    await setTimeout(1200);
    self.refuse(response, 402, "insufficient_credits");
    return true;
  };
  const calls = ["One", "Two"].map((prompt) => client.call("generate_audio", { prompt }));
  for (const outcome of await Promise.all(calls)) expect(taskOf(outcome).status).toBe("succeeded");
  expect(submissions).toBe(3);
});
