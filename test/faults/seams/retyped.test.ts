/** A text that a model types again is the request that there is, on every path. */
import { describe, expect, it } from "vitest";
import { generate, taskOf } from "../../support/tool-result.ts";
import { pause } from "../defects/read-from-outside.ts";
import {
  anotherOfTasks,
  beginTask,
  callAsTask,
  chapters,
  closeSeamsAfterEach,
  endOfTask,
  narrate,
  openSeams,
  release,
  start,
  takeSlots,
  waitForEnd,
  waitForTasks,
} from "./seam-setup.ts";

closeSeamsAfterEach();

const TEXT = `It's the "first" café of the town.`;
const RETYPED = [
  ["quotation marks", `It’s the “first” café of the town.`],
  ["blanks", `It's  the "first"\u00a0café of the town. `],
  ["Unicode form", TEXT.normalize("NFD")],
] as const;

it.each(RETYPED)(
  "a part of a narration that generate_audio asks for with other %s, as an MCP task, is not paid again while it waits",
  async (_, prompt) => {
    const setup = await openSeams();
    await takeSlots(setup);
    const narration_id = await start(setup.server, TEXT);
    await pause(300);
    const client = await anotherOfTasks(setup);
    const taskId = await beginTask(client, "generate_audio", { prompt, output_format: "pcm" });
    release(setup.service);
    expect(await endOfTask(client, taskId)).toContain('"completed"');
    expect((await waitForEnd(setup.server, narration_id)).status).toBe("finished");
    expect(setup.service.tasks.size).toBe(3);
  },
);

describe("a request that was typed again with other", () => {
  it.each(RETYPED)("%s by a call while another process's MCP task waits is one task", async (_, prompt) => {
    const setup = await openSeams();
    await takeSlots(setup);
    const client = await anotherOfTasks(setup);
    const taskId = await beginTask(client, "generate_audio", { prompt: TEXT });
    await pause(200);
    await setup.server.call("generate_audio", { prompt, wait_seconds: 1 });
    release(setup.service);
    await endOfTask(client, taskId);
    await pause(500);
    expect(setup.service.tasks.size).toBe(3);
  });

  it.each(RETYPED)("%s by a call as a task after its end is free", async (_, prompt) => {
    const setup = await openSeams();
    const made = await generate(setup.server, { prompt: TEXT, wait_seconds: 10 });
    const client = await anotherOfTasks(setup);
    const { taskId, text } = await callAsTask(client, "generate_audio", { prompt });
    const answer = taskId === undefined ? text : await endOfTask(client, taskId);
    expect(answer).toContain(made.task_id);
    expect(answer).toContain("take");
    expect(setup.service.tasks.size).toBe(1);
  });

  it("by two processes at once is one task", async () => {
    const setup = await openSeams({ service: { processingMs: 500 } });
    const other = await setup.another();
    const prompts = [TEXT, ...RETYPED.map(([, prompt]) => prompt)];
    const outcomes = await Promise.all(
      prompts.map((prompt, index) =>
        (index % 2 === 0 ? setup.server : other).call("generate_audio", { prompt, wait_seconds: 10 }),
      ),
    );
    expect(new Set(outcomes.map((outcome) => taskOf(outcome).task_id)).size).toBe(1);
    expect(setup.service.tasks.size).toBe(1);
  });
});

describe("a narration that was typed again with other", () => {
  const text = chapters(TEXT, `And "that" is the café's end.`);
  const retype = (how: string): string => {
    if (how === "quotation marks") return text.replaceAll("'", "’").replaceAll(/"(\w+)"/g, "“$1”");
    return how === "blanks"
      ? text.replaceAll(" of ", "  of  ").replaceAll("\n", "\r\n")
      : text.normalize("NFD");
  };

  it.each(["quotation marks", "blanks", "Unicode form"])(
    "%s in another process while an MCP task makes it pays nothing",
    async (how) => {
      const setup = await openSeams({ service: { processingMs: 300 } });
      const client = await anotherOfTasks(setup);
      const args = { text, output_format: "pcm", max_credits: 5000 };
      const taskId = await beginTask(client, "narrate", args);
      await waitForTasks(setup, 1);
      await narrate(setup.server, { text: retype(how), max_credits: 5000, wait_seconds: 0 });
      await endOfTask(client, taskId);
      await pause(1000);
      expect(setup.service.tasks.size).toBe(2);
    },
  );

  it.each(["a plain call", "an MCP task"])(
    "quotation marks than a waiting generate_audio of %s pays no second time",
    async (how) => {
      const setup = await openSeams();
      await takeSlots(setup);
      const args = { prompt: TEXT, output_format: "pcm" };
      if (how === "a plain call") setup.server.begin("generate_audio", { ...args, wait_seconds: 30 });
      else await beginTask(await anotherOfTasks(setup), "generate_audio", args);
      await pause(400);
      await narrate(setup.server, { text: RETYPED[0][1], max_credits: 5000, wait_seconds: 0 });
      await pause(200);
      release(setup.service);
      await waitForTasks(setup, 3);
      await pause(800);
      expect(setup.service.tasks.size).toBe(3);
    },
  );
});
