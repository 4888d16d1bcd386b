/** Calls as tasks say what plain calls say, and a request is not compared with itself. */
import { describe, expect, it } from "vitest";
import { generate, resultTextOf } from "../../support/tool-result.ts";
import type { FaultSetup } from "../fault-setup.ts";
import {
  anotherOfTasks,
  callAsTask,
  chapters,
  closeSeamsAfterEach,
  endOfTask,
  openSeams,
} from "./seam-setup.ts";

closeSeamsAfterEach();

/** Makes a call, and returns all that it has said at its end. */
async function say(
  setup: FaultSetup,
  how: string,
  tool: string,
  args: Record<string, unknown>,
): Promise<string> {
  if (how === "plain") return resultTextOf(await setup.server.call(tool, { ...args, wait_seconds: 20 }));
  const client = await anotherOfTasks(setup);
  const { taskId, text } = await callAsTask(client, tool, args);
  return taskId === undefined ? text : await endOfTask(client, taskId);
}

describe.each(["plain", "task"])("a %s call", (how) => {
  it("says whose the name is that it wanted", async () => {
    const setup = await openSeams();
    const { task_id } = await generate(setup.server, { prompt: "First.", file_name: "x", wait_seconds: 10 });
    const said = await say(setup, how, "generate_audio", { prompt: "Second.", file_name: "x" });
    expect(said).toContain("x-2.mp3");
    expect(said).toContain(task_id);
  });

  it("says that a take is identical to another one", async () => {
    const setup = await openSeams();
    const same = Buffer.alloc(20_000, "x");
    same.set([0xff, 0xfb, 0x90, 0x00]);
    setup.misbehave(({ kind }, response) => {
      if (kind !== "content") return false;
      response.writeHead(200, { "content-type": "audio/mpeg", "content-length": same.length }).end(same);
      return true;
    });
    await setup.server.call("generate_audio", { prompt: "One text.", wait_seconds: 10 });
    expect(await say(setup, how, "generate_audio", { prompt: "One text.", take: 2 })).toContain(
      "identical to take 1",
    );
  });

  it("says which part a narration's file lacks", async () => {
    const setup = await openSeams();
    setup.misbehave(({ kind, taskId }, _, service) => {
      const task = service.tasks.get(taskId ?? "");
      if (kind === "query" && task?.body.includes("Bravo") === true) task.status = "failed";
      return false;
    });
    const text = chapters("Alpha one.", "Bravo two.", "Charlie three.");
    const said = await say(setup, how, "narrate", { text, output_format: "pcm", max_credits: 5000 });
    expect(said).toContain("without part 2 of 3");
  });
});

it.each([
  ["generate_audio", { prompt: `It's "one" text.` }],
  ["narrate", { text: `It's "one" text.`, output_format: "pcm", max_credits: 5000 }],
])(
  "the same call twice at once of %s, by two processes, is one task, and neither is told of a retyped text",
  async (tool, args) => {
    const setup = await openSeams({ service: { processingMs: 300 } });
    const client = await anotherOfTasks(setup);
    const [plain, task] = await Promise.all([
      setup.server.call(tool, { ...args, wait_seconds: 20 }).then(resultTextOf),
      callAsTask(client, tool, args).then(({ taskId, text }) =>
        taskId === undefined ? text : endOfTask(client, taskId),
      ),
    ]);
    for (const said of [plain, task]) {
      expect(said).toContain("Saved");
      expect(said).not.toMatch(/quotation marks|differ/);
    }
    expect(setup.service.tasks.size).toBe(1);
  },
);
