/**
 * Tests three defects: a failed task that was charged, a refusal after a send without an answer, and a row with damaged
 * cells.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openLedgerController } from "../../processes/server-processes.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, openFaultSetup } from "../fault-setup.ts";
import { sayAndHangUp } from "../wire.ts";

closeAfterEach();

it("a task that failed and was charged nevertheless is not retried automatically, and its cost is reported", async () => {
  const setup = await openFaultSetup();
  setup.misbehave((exchange, response, service) => {
    if (exchange.kind !== "query") return false;
    const task = service.tasks.get(exchange.taskId ?? "");
    if (task === undefined) return false;
    task.status = "failed";
    const billing = { reserved_credits: 150, charged_credits: 150, refunded_credits: 0 };
    service.json(response, 200, { ...service.view(task), billing });
    return true;
  });
  const outcome = await setup.server.call("generate_audio", { prompt: "Charged for nothing" });
  expect(errorOf(outcome).code).toBe("task_failed");
  expect(resultTextOf(outcome)).toContain("charged 150 credits");
  expect(resultTextOf(outcome)).not.toMatch(/cost nothing|Cost 0/);
  expect(setup.service.tasks.size).toBe(1);
  const shown = await setup.server.call("get_task", { task_id: errorOf(outcome).task_id });
  expect(resultTextOf(shown)).not.toMatch(/Cost 0/);
});

describe("a bill that breaks the contract", () => {
  const billed = (status: "failed" | "succeeded", billing: unknown) => async () => {
    const setup = await openFaultSetup({ env: { AUDIO_CREDIT_BUDGET: "1000" } });
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "query") return false;
      const task = service.tasks.get(exchange.taskId ?? "");
      if (task === undefined) return false;
      task.status = status;
      service.json(response, 200, { ...service.view(task), billing });
      return true;
    });
    const outcome = await setup.server.call("generate_audio", { prompt: "Billed oddly" });
    expect(setup.service.tasks.size).toBe(1);
    const ledgerController = await openLedgerController(setup.testFolders, setup.service);
    const listed = resultTextOf(await setup.server.call("list_tasks", {}));
    return { outcome, listed, counted: ledgerController.spentInWindowCredits() };
  };

  it("is told as not stated, and counts as reserved, if its charge is beyond all sense", async () => {
    const bill = { reserved_credits: 150, charged_credits: 1e308, refunded_credits: 0 };
    const { outcome, counted } = await billed("succeeded", bill)();
    expect(resultTextOf(outcome)).toContain("The service did not state the cost.");
    expect(counted).toBe(150);
  });

  it.each([
    ["states a fraction", { reserved_credits: 150, charged_credits: 150.5, refunded_credits: 0 }, 150.5],
    ["states its charge as text", { reserved_credits: 150, charged_credits: "150" }, 150],
    ["is not a bill at all", "150 credits", 150],
  ])(
    "of a failure neither counts as free nor leads to an automatic repeat if it %s",
    async (_what, bill, credits) => {
      const { outcome, listed, counted } = await billed("failed", bill)();
      expect(listed).toMatch(/failed,.*It may have been charged all the same/s);
      expect(errorOf(outcome).code).toBe("task_failed");
      expect(resultTextOf(outcome)).not.toMatch(/cost nothing|Cost 0/);
      expect(counted).toBe(credits);
    },
  );
});

it.each([
  [400, "invalid_request"],
  [402, "insufficient_credits"],
  [413, "request_too_large"],
])(
  "a refusal of the repetition of a send without an answer does not say with %s that nothing was charged, and the next step finds the task",
  async (status, code) => {
    const setup = await openFaultSetup();
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      if (exchange.ordinal > 1) service.refuse(response, status, code);
      else {
        service.accept(exchange);
        sayAndHangUp(response, "", true);
      }
      return true;
    });
    const call = { prompt: "Taken, and refused after that" };
    const outcome = await setup.server.call("generate_audio", call);
    expect(errorOf(outcome).code).toBe(code);
    expect(resultTextOf(outcome)).toMatch(/may have been accepted.*does not pay twice.*Do not change/s);
    expect(resultTextOf(outcome)).not.toMatch(/[Nn]othing was (sent|charged)/);
    setup.misbehave(undefined);
    const handle = /req-[0-9a-f]{32}/.exec(resultTextOf(outcome))?.[0];
    const found = taskOf(await setup.server.call("download_audio", { task_id: handle }));
    if (found.audio === null) expect((await generate(setup.server, call)).audio).not.toBeNull();
    expect(setup.service.tasks.size).toBe(1);
  },
);

describe("one damaged cell of the ledger", () => {
  const damage = (stateDir: string, sql: string): void => {
    const db = new DatabaseSync(join(stateDir, "ledger.sqlite"), { timeout: 5000 });
    db.exec(sql);
    db.close();
  };

  it("does not prevent paid audio from being saved if it is why the request waits", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 500 } });
    const call = { prompt: "Its note is off", wait_seconds: 0 };
    await generate(setup.server, call);
    damage(setup.testFolders.stateDir, "UPDATE agm_request SET note = 'odd', error = 'odd'");
    const task = await generate(setup.server, { ...call, wait_seconds: 20 });
    expect(task.audio).not.toBeNull();
    expect(setup.service.count("create")).toBe(1);
  });

  it("of a narration hides no other narration", async () => {
    const setup = await openFaultSetup();
    for (const text of ["A sound narration.", "A damaged narration."])
      await setup.server.call("narrate", { text });
    damage(
      setup.testFolders.stateDir,
      `UPDATE agm_narration SET status = 'odd', max_credits = 'odd'
        WHERE created_at_ms = (SELECT max(created_at_ms) FROM agm_narration)`,
    );
    const list = resultTextOf(await setup.server.call("list_tasks", { limit: 1 }));
    expect(list).toContain("A sound narration.");
    expect(list).not.toContain("A damaged narration.");
  });

  it("neither hides other requests nor prevents new ones", async () => {
    const setup = await openFaultSetup();
    await setup.server.call("generate_audio", { prompt: "Damaged" });
    damage(setup.testFolders.stateDir, "UPDATE agm_attempt SET status = 'odd', charged_credits = 'many'");
    const sound = await generate(setup.server, { prompt: "Sound" });
    expect(sound.status).toBe("succeeded");
    const listed = await setup.server.call("list_tasks", {});
    expect(listed.isError).not.toBe(true);
    expect(JSON.stringify(listed.structuredContent)).toContain("Sound");
  });
});
