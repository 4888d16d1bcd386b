/** Calls as tasks say what plain calls say, and a request is not compared with itself. */
import { expect, it } from "vitest";
import { resultTextOf } from "../../support/tool-result.ts";
import { anotherOfTasks, callAsTask, closeSeamsAfterEach, endOfTask, openSeams } from "./seam-setup.ts";

closeSeamsAfterEach();

it.each(["plain", "task"])("a %s call says that a take is identical to another one", async (how) => {
  const setup = await openSeams();
  const same = Buffer.alloc(20_000, "x");
  same.set([0xff, 0xfb, 0x90, 0x00]);
  setup.misbehaveAlways("content", (response) =>
    response.writeHead(200, { "content-type": "audio/mpeg", "content-length": same.length }).end(same),
  );
  await setup.server.call("generate_audio", { prompt: "One text.", wait_seconds: 10 });
  const again = { prompt: "One text.", take: 2 };
  let said: string;
  if (how === "plain") said = resultTextOf(await setup.server.call("generate_audio", again));
  else {
    const client = await anotherOfTasks(setup);
    const { taskId, text } = await callAsTask(client, "generate_audio", again);
    said = taskId === undefined ? text : await endOfTask(client, taskId);
  }
  expect(said).toContain("identical to take 1");
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
