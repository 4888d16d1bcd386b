/** The ledger's sums are true: no reservation without a task, nothing counted twice, nothing lost. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generate, resultTextOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";
import { acceptSubmission, refusing, sayAndHangUp } from "../wire.ts";
import {
  codeOf,
  ledgerFile,
  listSavedNames,
  pause,
  readOnlyTaskRow,
  readTaskRows,
  waitForExchanges,
  waitForSavedFiles,
  waitUntil,
} from "./read-from-outside.ts";

closeAfterEach();

const NEWER_KEY = "sk-newer-0123456789abcdef";
const OLDER_KEY = "sk-older-0123456789abcdef";

/** A task reserves 150 credits while it runs, and costs 10 when it has ended. 165 credits suffice for 10 and 150. */
const BUDGET_FOR_ONE_TASK = { AUDIO_CREDIT_BUDGET: "150" };
const BUDGET_FOR_ONE_MORE_TASK = { AUDIO_CREDIT_BUDGET: "165" };

async function expectWithinBudget(server: RawServer, prompt: string): Promise<void> {
  expect((await generate(server, { prompt, wait_seconds: 5 })).status).toBe("succeeded");
}

async function expectOverBudget(server: RawServer, prompt: string): Promise<void> {
  expect(codeOf(await server.call("generate_audio", { prompt, wait_seconds: 5 }))).toBe("budget_exceeded");
}

// A process that only follows the record must not write its stale copy after the service has refused the request.
it.each([
  [402, "insufficient_credits"],
  [403, "purchase_required"],
  [400, "invalid_request"],
])(
  "a request of two windows that the service refused to both with %i keeps its reason and reserves no credits",
  async (status, code) => {
    const setup = await openFaultSetup({ env: BUDGET_FOR_ONE_TASK });
    setup.misbehave(async (exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      await pause(400);
      service.refuse(response, status, code);
      return true;
    });
    const other = await setup.another();
    const call = { prompt: "Nobody pays for this", wait_seconds: 5 };
    const both = await Promise.all([
      setup.server.call("generate_audio", call),
      other.call("generate_audio", call),
    ]);
    expect(both.map(codeOf)).toEqual([code, code]);
    const [row] = await readTaskRows(other);
    expect(row).toMatchObject({ status: "waiting", next_step: expect.stringContaining(`Refused (${code})`) });
    expect(row).not.toHaveProperty("credits");
    setup.misbehave(undefined);
    await expectWithinBudget(other, "There is room for this");
  },
);

// A gateway may answer 503 although the submission succeeded behind it.
it("a submission that got a 503 and may have arrived nevertheless stays in the ledger when its call is cancelled: sent, and its 150 credits counted", async () => {
  const setup = await openFaultSetup({ env: BUDGET_FOR_ONE_TASK });
  setup.misbehaveNext("create", (response, exchange, service) => {
    acceptSubmission(service, exchange);
    service.json(
      response,
      503,
      { error: { code: "api_unavailable", message: "later" } },
      { "retry-after": "600" },
    );
  });
  const id = setup.server.begin("generate_audio", { prompt: "Behind a gateway", wait_seconds: 20 });
  await waitForExchanges(setup, "create");
  await pause(100);
  setup.server.cancel(id);
  await pause(50);
  expect((await readOnlyTaskRow(setup.server)).status).toBe("unresolved");
  const another = await setup.server.call("generate_audio", { prompt: "A second one", wait_seconds: 1 });
  expect(codeOf(another)).toBe("budget_exceeded");
  expect(setup.service.tasks.size).toBe(1);
  // The same request finds the existing task.
  await expectWithinBudget(setup.server, "Behind a gateway");
  expect(setup.service.tasks.size).toBe(1);
});

// If a call's own task fails, the call repeats it once, at no cost. A third attempt would take the user's time and
// slots.
it.each(["never answered the first time", "answered 503 the first time"])(
  "a call whose tasks fail as soon as they are made (%s) makes two, and ends as task_failed",
  async (ending) => {
    const setup = await openFaultSetup();
    const seenKeys = new Set<string>();
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      const task = acceptSubmission(service, exchange);
      task.status = "failed";
      const isFirst = !seenKeys.has(exchange.key ?? "");
      seenKeys.add(exchange.key ?? "");
      if (!isFirst) service.json(response, 202, service.view(task));
      else if (ending === "answered 503 the first time") service.refuse(response, 503, "api_unavailable");
      else sayAndHangUp(response, "");
      return true;
    });
    const outcome = await setup.server.call("generate_audio", { prompt: "Never to be", wait_seconds: 20 });
    expect(codeOf(outcome)).toBe("task_failed");
    expect(setup.service.tasks.size).toBe(2);
  },
);

// If the answer to a submission contains a failed task, the job assumes that an earlier send created the task. It
// then starts the next attempt.
it("a call whose tasks fail as soon as they are made stops after several new tasks that have already failed in the response to the create", async () => {
  const setup = await openFaultSetup();
  setup.misbehave((exchange, response, service) => {
    if (exchange.kind !== "create") return false;
    const task = acceptSubmission(service, exchange);
    task.status = "failed";
    service.json(response, 202, service.view(task));
    return true;
  });
  const outcome = await setup.server.call("generate_audio", { prompt: "Never to be", wait_seconds: 20 });
  expect(codeOf(outcome)).toBe("task_failed");
  expect(setup.service.tasks.size).toBeLessThanOrEqual(8);
});

// A gateway may refuse what the service has accepted. Only the contract's body proves that the service refused it.
it.each([400, 401, 402, 409, 413])(
  "a refusal without the service's words such as a %i keeps its reservation within the budget",
  async (status) => {
    const setup = await openFaultSetup({ env: BUDGET_FOR_ONE_TASK });
    setup.misbehaveNext("create", (response, exchange, service) => {
      acceptSubmission(service, exchange);
      response.writeHead(status, { "content-type": "text/html" }).end("<html>no</html>");
    });
    const call = { prompt: "Made behind a gateway", wait_seconds: 5 };
    const refused = await setup.server.call("generate_audio", call);
    expect(resultTextOf(refused)).toMatch(/may have been accepted, with 150 credits reserved/);
    expect(resultTextOf(refused)).not.toMatch(/nothing was charged/i);
    expect(resultTextOf(await setup.server.call("list_tasks", {}))).toMatch(/up to 150 more are held/);
    await expectOverBudget(setup.server, "Another one");
    await expectWithinBudget(setup.server, call.prompt);
    expect(setup.service.tasks.size).toBe(1);
  },
);

// Credits that other requests have reserved come back. Only then does a 402 wait.
describe("a 402", () => {
  const refuseSubmissions = (setup: FaultSetup): void =>
    setup.misbehaveAlways("create", refusing(402, "insufficient_credits"));

  it("is reported although a clock that was ahead has recorded an end in the future", async () => {
    const setup = await openFaultSetup();
    await setup.server.call("generate_audio", { prompt: "Was paid", wait_seconds: 10 });
    ledgerFile(setup).exec(`UPDATE agm_attempt SET finished_at_ms = ${Date.now() + 3_600_000}`);
    refuseSubmissions(setup);
    const call = { prompt: "No credits left", wait_seconds: 10 };
    expect(codeOf(await setup.server.call("generate_audio", call))).toBe("insufficient_credits");
    expect(setup.service.count("create")).toBeLessThan(4);
  });

  it("is recorded although the ledger cannot be read at that moment", async () => {
    const setup = await openFaultSetup();
    await setup.server.call("generate_audio", { prompt: "Makes the ledger", wait_seconds: 10 });
    const db = ledgerFile(setup);
    // Otherwise, SQLite lets the views read the renamed table.
    db.exec("PRAGMA legacy_alter_table = ON");
    const restored = Promise.withResolvers<void>();
    setup.misbehave(async ({ kind }, response, service) => {
      if (kind !== "create") return false;
      db.exec("ALTER TABLE agm_attempt RENAME TO agm_attempt_away");
      service.refuse(response, 402, "insufficient_credits");
      await pause(2500);
      db.exec("ALTER TABLE agm_attempt_away RENAME TO agm_attempt");
      restored.resolve();
      return true;
    });
    await setup.server.call("generate_audio", { prompt: "Refused in a bad moment", wait_seconds: 8 });
    await restored.promise;
    await waitUntil("the refusal", async () => (await readTaskRows(setup.server))[0]?.status === "waiting");
  });
});

// Two keys of one account have one bill: a task counts once, whichever keys have asked for it.
describe("two keys of one account", () => {
  it.each(["generate_audio", "get_task", "download_audio"])("count it once after %s, too", async (tool) => {
    const setup = await openFaultSetup({
      service: { apiKeys: [OLDER_KEY, NEWER_KEY] },
      env: BUDGET_FOR_ONE_MORE_TASK,
    });
    setup.misbehaveAlways("content", refusing(503, "api_unavailable"));
    const call = { prompt: "Paid once", wait_seconds: 0 };
    const first = await generate(setup.server, call);
    await waitForExchanges(setup, "content");
    await setup.server.end();
    setup.misbehave(undefined);
    const later = await setup.another({ AUDIO_API_KEY: NEWER_KEY });
    const args = tool === "generate_audio" ? call : { task_id: first.task_id };
    await later.call(tool, args);
    await waitForSavedFiles(setup);
    await expectWithinBudget(later, "The next one");
    await expectOverBudget(later, "And no more than that");
  });

  it.each(["is gone", "is not in its format"])(
    "pay once for a text that the newer key requests with other pronunciations, if the older key's file %s",
    async (fate) => {
      const setup = await openFaultSetup({ service: { apiKeys: [OLDER_KEY, NEWER_KEY] } });
      if (fate === "is not in its format") {
        setup.misbehaveAlways(
          "content",
          (response) =>
            void response.writeHead(200, { "content-type": "audio/mpeg" }).end("not audio at all"),
        );
      }
      const call = { prompt: "Mr. Nguyen writes.", wait_seconds: 5 };
      await setup.server.call("generate_audio", call);
      await setup.server.end();
      setup.misbehave(undefined);
      if (fate === "is gone") await rm(setup.testFolders.outputDir, { recursive: true });
      // Rules of the settings pay nothing by themselves. A call's own rules make another text.
      const rules = join(setup.testFolders.stateDir, "pronunciations.json");
      await writeFile(rules, JSON.stringify({ Nguyen: "Win" }));
      const later = await setup.another({ AUDIO_API_KEY: NEWER_KEY, AUDIO_PRONUNCIATIONS: rules });
      const task = await generate(later, call);
      expect(task).toMatchObject({ status: "succeeded", replayed: true });
      expect([...setup.service.tasks.keys()]).toEqual([task.task_id]);
    },
  );

  it("make a text with the newer key's pronunciations if the older key's task has failed", async () => {
    const setup = await openFaultSetup({
      service: { apiKeys: [OLDER_KEY, NEWER_KEY], processingMs: 60_000 },
    });
    const call = { prompt: "Mr. Nguyen writes.", wait_seconds: 0 };
    await setup.server.call("generate_audio", call);
    await setup.server.end();
    for (const task of setup.service.tasks.values()) task.status = "failed";
    setup.service.processingMs = 0;
    const later = await setup.another({ AUDIO_API_KEY: NEWER_KEY });
    const args = { ...call, pronounce: ["Nguyen=Win"], wait_seconds: 10 };
    expect((await generate(later, args)).status).toBe("succeeded");
    expect([...setup.service.tasks.values()].map(({ body }) => body.includes("Mr. Win"))).toEqual([
      false,
      true,
    ]);
  });
});

// A file name belongs to the call that is sent, not to an earlier one that was cancelled.
it.each(["another name", "no name"])(
  "the file name of a call that was cancelled before it was sent is not used when the text is requested under %s",
  async (which) => {
    const setup = await openFaultSetup();
    setup.misbehaveNext("create", refusing(429, "rate_limit", "later", 400));
    const id = setup.server.begin("generate_audio", {
      prompt: "Named anew",
      file_name: "first",
      wait_seconds: 20,
    });
    await waitForExchanges(setup, "create");
    await pause(20);
    setup.server.cancel(id);
    await pause(20);
    const name = which === "no name" ? {} : { file_name: "second" };
    const task = await generate(setup.server, { prompt: "Named anew", ...name, wait_seconds: 5 });
    const names = await listSavedNames(setup);
    expect(names).toHaveLength(1);
    expect(names[0]).not.toContain("first");
    if (which !== "no name") expect(names).toEqual(["second.mp3"]);
    expect(task.audio?.path).toContain(names[0] ?? "?");
    expect(setup.service.tasks.size).toBe(1);
  },
);
