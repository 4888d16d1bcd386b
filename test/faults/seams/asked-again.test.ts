/** Answers of the service are neither believed against evidence nor kept for ever: keys, ids, bills, credits, addresses. */
import { describe, expect, it } from "vitest";
import { generate, resultTextOf, taskOf } from "../../support/tool-result.ts";
import { listSavedNames, pause, waitForExchanges, waitUntil } from "../defects/read-from-outside.ts";
import type { FaultSetup } from "../fault-setup.ts";
import { answerText, refusing } from "../wire.ts";
import {
  anotherOfTasks,
  beginTask,
  callAsTask,
  cancelTask,
  chapters,
  closeSeamsAfterEach,
  endOfTask,
  HELD_MS,
  KEYS,
  narrate,
  openSeams,
  release,
  sentPrompts,
  start,
  waitForEnd,
  waitForTasks,
} from "./seam-setup.ts";

closeSeamsAfterEach();

const LATER = { AUDIO_API_KEY: KEYS[1] };
const THREE = chapters("Alpha one.", "Bravo two.", "Charlie three.");

it.each(["a stop under the new key", "a stop under the old key", "a cancelled MCP task of the new key"])(
  "after a change of the key, what an earlier one has reserved for parts ends after %s, and the parts are saved",
  async (how) => {
    const setup = await openSeams({
      service: { apiKeys: KEYS, processingMs: HELD_MS },
      start: { isInProcess: false },
    });
    const { service } = setup;
    const narration_id = await start(setup.server, THREE);
    await waitForTasks(setup, 2);
    await pause(300);
    if (how.endsWith("old key")) await narrate(setup.server, { narration_id, stop: true, wait_seconds: 0 });
    await setup.server.kill();
    const later = await setup.another(LATER);
    if (how.includes("stop under the new"))
      await narrate(later, { narration_id, stop: true, wait_seconds: 0 });
    if (how.includes("MCP task")) {
      const client = await anotherOfTasks(setup, LATER);
      const { taskId } = await callAsTask(client, "narrate", { narration_id, max_credits: 5000 });
      await pause(300);
      if (taskId !== undefined) await cancelTask(client, taskId);
    }
    release(setup.service);
    const ended = await waitUntil(
      "the parts and their file",
      async () => {
        const now = await narrate(later, { narration_id, wait_seconds: 2 });
        return now.parts.saved === service.tasks.size && now.files.length > 0 && now;
      },
      20_000,
    );
    expect(ended.credits).toMatchObject({ charged: 10 * service.tasks.size, reserved: 0 });
    if (!how.includes("MCP task")) expect(service.tasks.size).toBe(2);
  },
);

describe("a task id that the service gives twice", () => {
  /** Answers every submission with one id, whose audio is that of the first text. */
  const giveOneId = (setup: FaultSetup): void =>
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "create") return false;
      const known = [...service.tasks.values()][0];
      const task = service.accept(exchange);
      if (task === "conflict") return false;
      service.json(response, 202, service.view(known ?? task, true));
      return true;
    });

  it("to two parts of a narration is told, and the second part is not said to be saved", async () => {
    const setup = await openSeams();
    giveOneId(setup);
    const narration_id = await start(setup.server, chapters("Alpha one.", "Bravo two, quite another text."));
    const ended = await waitForEnd(setup.server, narration_id);
    expect(ended.parts.saved).toBe(1);
    const again = await narrate(setup.server, { narration_id, max_credits: 5000, wait_seconds: 10 });
    expect(again.parts.saved).toBe(1);
    expect(JSON.stringify(ended)).toMatch(/another request|two texts/);
  });

  it.each([
    ["two takes", { prompt: "One text.", take: 2 }],
    ["two texts", { prompt: "Another text." }],
    ["two formats", { prompt: "One text.", output_format: "wav" }],
  ])("to %s is told each time, by every tool and process", async (_, other) => {
    const setup = await openSeams();
    giveOneId(setup);
    await setup.server.call("generate_audio", { prompt: "One text.", wait_seconds: 10 });
    const later = await setup.another();
    for (const server of [setup.server, setup.server, later]) {
      const told = await server.call("generate_audio", { ...other, wait_seconds: 10 });
      expect(resultTextOf(told)).toMatch(/another request|two texts/);
    }
    expect(await listSavedNames(setup)).toHaveLength(1);
  });
});

describe("a success without a bill", () => {
  const hideBills = (setup: FaultSetup): void =>
    setup.misbehave((exchange, response, service) => {
      const task = service.tasks.get(exchange.taskId ?? "");
      if (exchange.kind !== "query" || task === undefined) return false;
      const billing = { reserved_credits: 150, charged_credits: null, refunded_credits: null };
      service.json(response, 200, { ...service.view(task), billing });
      return true;
    });

  it.each(["list_tasks", "get_task", "download_audio", "an MCP task"])(
    "is not told as reserved until it ends by %s",
    async (tool) => {
      const setup = await openSeams();
      hideBills(setup);
      let said: string;
      if (tool === "an MCP task") {
        const client = await anotherOfTasks(setup);
        said = await endOfTask(
          client,
          await beginTask(client, "generate_audio", { prompt: "Without a bill." }),
        );
      } else {
        const call = { prompt: "Without a bill.", wait_seconds: 10 };
        const { task_id } = await generate(setup.server, call);
        said = resultTextOf(await setup.server.call(tool, tool === "list_tasks" ? {} : { task_id }));
      }
      expect(said).toContain("Without-a-bill");
      expect(said).not.toMatch(/until it ends|still reserved/);
    },
  );

  it("of every part leaves nothing reserved in a finished narration", async () => {
    const setup = await openSeams();
    hideBills(setup);
    const narration_id = await start(setup.server, THREE);
    const ended = await waitForEnd(setup.server, narration_id);
    expect(ended).toMatchObject({ status: "finished", credits: { reserved: 0 } });
    expect(ended.message).not.toMatch(/will still be charged|reserved/);
  });
});

describe("after a 402 and a top-up", () => {
  /** A long task holds the rest of the credits. */
  async function openPoor(): Promise<{ setup: FaultSetup; topUp: () => void }> {
    const processingMsOf = (prompt: string): number => (prompt === "A long one." ? HELD_MS : 0);
    const setup = await openSeams({ service: { processingMsOf } });
    await setup.server.call("generate_audio", { prompt: "A long one.", wait_seconds: 0 });
    setup.misbehaveAlways("create", refusing(402, "insufficient_credits"));
    const topUp = (): void => setup.misbehave(undefined);
    return { setup, topUp };
  }

  it.each(["in another process", "as an MCP task", "in the same process"])(
    "the same call %s is sent at once, although a task still runs",
    async (how) => {
      const { setup, topUp } = await openPoor();
      const call = { prompt: "Wanted now.", wait_seconds: 1 };
      if (how === "in the same process") {
        const client = await anotherOfTasks(setup);
        await beginTask(client, "generate_audio", { prompt: call.prompt });
      } else await setup.server.call("generate_audio", call);
      await waitForExchanges(setup, "create", 2);
      topUp();
      if (how === "as an MCP task") {
        const client = await anotherOfTasks(setup);
        const { taskId, text } = await callAsTask(client, "generate_audio", { prompt: call.prompt });
        expect(taskId === undefined ? text : await endOfTask(client, taskId)).toContain("Wanted-now");
      } else {
        const server = how === "in another process" ? await setup.another() : setup.server;
        const again = await server.call("generate_audio", { ...call, wait_seconds: 15 });
        expect(taskOf(again).status).toBe("succeeded");
      }
      expect(setup.service.tasks.size).toBe(2);
    },
  );

  it.each(["narration_id alone", "its limit", "nothing, for a minute"])(
    "a narration goes on by %s, although a task still runs",
    async (how) => {
      const { setup, topUp } = await openPoor();
      const narration_id = await start(setup.server, THREE);
      await waitForExchanges(setup, "create", 2);
      await pause(200);
      topUp();
      if (how === "narration_id alone") await narrate(setup.server, { narration_id, wait_seconds: 0 });
      if (how === "its limit")
        await narrate(setup.server, { narration_id, max_credits: 5000, wait_seconds: 0 });
      await waitForTasks(setup, 4);
      const ended = await waitForEnd(setup.server, narration_id);
      expect(ended).toMatchObject({ status: "finished", credits: { charged: 30 } });
    },
  );
});

describe("an address that is not the service's", () => {
  const ANSWERS = [
    ["404", "not_found"],
    ["401", "invalid_api_key"],
    ["403", "purchase_required"],
  ] as const;

  it.each(ANSWERS)(
    "(%s) is not asked for every part of a narration, as a call or as an MCP task",
    async (status, code) => {
      const setup = await openSeams();
      setup.misbehave((_, response, service) => {
        service.refuse(response, Number(status), code);
        return true;
      });
      const text = chapters(...Array.from({ length: 20 }, (_, index) => `Words ${index}.`));
      const narration_id = await start(setup.server, text, 9000);
      const ended = await waitForEnd(setup.server, narration_id);
      expect(ended.status).toBe("stopped");
      expect(ended.problems.length).toBeLessThanOrEqual(3);
      const client = await anotherOfTasks(setup);
      await endOfTask(client, await beginTask(client, "narrate", { narration_id, max_credits: 9000 }));
      await pause(500);
      expect(setup.service.count("create")).toBeLessThanOrEqual(6);
    },
  );

  it.each([404, 402, 407])(
    "that answers %i with a page after some parts stops the rest, and keeps what is paid",
    async (status) => {
      const setup = await openSeams();
      setup.misbehave(({ kind, ordinal }, response) =>
        kind === "create" && ordinal > 2
          ? answerText(response, status, "<html>no such page</html>", { "content-type": "text/html" })
          : false,
      );
      const text = chapters(...Array.from({ length: 12 }, (_, index) => `Words ${index}.`));
      const narration_id = await start(setup.server, text, 9000);
      const ended = await waitUntil("the stop", async () => {
        const now = await narrate(setup.server, { narration_id, wait_seconds: 2 });
        return now.status === "stopped" && now;
      });
      expect(ended).toMatchObject({ parts: { saved: 2 }, credits: { charged: 20 } });
      expect(ended.files).toHaveLength(1);
      // Nobody sends the refused part again, so nothing of it can be saved by itself.
      expect(ended.message).not.toMatch(/will still be charged.*and saved/);
      expect(setup.service.count("create")).toBeLessThanOrEqual(5);
    },
  );
});

/** Lets every task fail, with its whole reservation charged. */
function failCharged(setup: FaultSetup): void {
  setup.misbehave((exchange, response, service) => {
    const task = service.tasks.get(exchange.taskId ?? "");
    if (exchange.kind !== "query" || task === undefined) return false;
    task.status = "failed";
    const billing = { reserved_credits: 150, charged_credits: 150, refunded_credits: 0 };
    service.json(response, 200, { ...service.view(task), billing });
    return true;
  });
}

it.each([
  ["300", 2],
  ["150", 1],
])(
  "a part whose task failed and was charged stays on the bill of a narration with a limit of %s",
  async (limit, tasks) => {
    const setup = await openSeams();
    failCharged(setup);
    const narration_id = await start(setup.server, THREE, Number(limit));
    const ended = await waitForEnd(setup.server, narration_id);
    expect(ended.credits).toMatchObject({ charged: 150 * tasks, reserved: 0 });
    expect(sentPrompts(setup.service)).toHaveLength(tasks);
    await narrate(setup.server, { narration_id, max_credits: Number(limit), wait_seconds: 5 });
    expect(sentPrompts(setup.service)).toHaveLength(tasks);
  },
);

it("a part whose task failed and was charged is on its bill although a call for the same text has returned before its own task failed", async () => {
  const setup = await openSeams();
  failCharged(setup);
  const call = { prompt: "Wanted twice.", output_format: "pcm" };
  await setup.server.call("generate_audio", { ...call, wait_seconds: 0 });
  await waitUntil("the failure", async () =>
    JSON.stringify(await setup.server.call("list_tasks", { status: "failed" })).includes(call.prompt),
  );
  const narration_id = await start(setup.server, call.prompt, 150);
  const ended = await waitForEnd(setup.server, narration_id);
  expect(sentPrompts(setup.service)).toEqual([call.prompt, call.prompt]);
  expect(ended.credits).toMatchObject({ charged: 150, reserved: 0 });
});
