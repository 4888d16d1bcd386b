/** A narration pays for a text that is typed or pronounced otherwise elsewhere only if somebody has agreed to that pair. */
import { expect, it } from "vitest";
import { resultTextOf } from "../../support/tool-result.ts";
import {
  chapters,
  closeSeamsAfterEach,
  HELD_MS,
  narrate,
  openSeams,
  release,
  start,
  waitForEnd,
  waitForTasks,
} from "./seam-setup.ts";

closeSeamsAfterEach();

const typed = (quote: string, ...words: readonly string[]): string =>
  chapters(...words.map((word) => `It${quote}s the ${word} sentence of Nguyen.`));

it("other pronunciations are told while the parts are being made, and cost nothing before that", async () => {
  const setup = await openSeams({ service: { processingMs: HELD_MS } });
  const text = typed("'", "first", "second");
  await start(setup.server, text);
  await waitForTasks(setup, 2);
  const other = await narrate(setup.server, { text, pronounce: ["Nguyen=Win"], max_credits: 2000 });
  expect(other.status).toBe("planned");
  expect(other.message).toContain("spoken with other pronunciations, and would be made again");
  expect(setup.service.tasks.size).toBe(2);
  release(setup.service);
});

it("a look does not go on with a narration whose parts somebody else has had made meanwhile", async () => {
  const setup = await openSeams();
  const words = ["first", "second", "third", "fourth"];
  const ended = await setup.another({}, { isInProcess: false });
  setup.service.processingMs = HELD_MS;
  const first = await start(ended, typed("'", ...words));
  await waitForTasks(setup, 1);
  await ended.kill();
  release(setup.service);
  const again = { text: typed("’", ...words), max_credits: 2000, wait_seconds: 0 };
  const second = await narrate(setup.server, again);
  expect(second.status).toBe("planned");
  await narrate(setup.server, again);
  expect((await waitForEnd(setup.server, second.narration_id)).status).toBe("finished");
  const made = setup.service.tasks.size;
  expect((await narrate(setup.server, { narration_id: first, wait_seconds: 1 })).status).toBe("stopped");
  const planned = await narrate(setup.server, { narration_id: first, max_credits: 2000, wait_seconds: 1 });
  expect(planned.message).toContain("differ only in quotation marks");
  expect(setup.service.tasks.size).toBe(made);
});

it("a text whose first task has failed is the same text typed otherwise, once that is made", async () => {
  const setup = await openSeams({ service: { processingMs: 300 } });
  const call = { prompt: "It's the only sentence.", wait_seconds: 10 };
  setup.service.intercept = () => {
    for (const task of setup.service.tasks.values()) task.status = "failed";
    return false;
  };
  await setup.server.call("generate_audio", call);
  setup.service.intercept = undefined;
  await setup.server.call("generate_audio", { ...call, prompt: "It’s the only sentence." });
  const made = setup.service.tasks.size;
  const again = await setup.server.call("generate_audio", call);
  expect(resultTextOf(again)).toContain("Nothing new was charged");
  expect(setup.service.tasks.size).toBe(made);
});

it("each retake that repeats a paid part is told, also after another one was agreed to", async () => {
  const setup = await openSeams();
  const take = (word: string) => ({ quote: `the ${word} sentence`, take: 2 });
  const first = await start(setup.server, typed("'", "first", "second"));
  await waitForEnd(setup.server, first);
  await narrate(setup.server, {
    narration_id: first,
    retakes: [take("first"), take("second")],
    max_credits: 2000,
    wait_seconds: 20,
  });
  const text = typed("’", "first", "second");
  await narrate(setup.server, { text, max_credits: 2000 });
  const second = (await narrate(setup.server, { text, max_credits: 2000, wait_seconds: 20 })).narration_id;
  const made = setup.service.tasks.size;
  const retake = async (word: string) =>
    await narrate(setup.server, {
      narration_id: second,
      retakes: [take(word)],
      max_credits: 2000,
      wait_seconds: 20,
    });
  expect((await retake("first")).status).toBe("planned");
  expect((await retake("first")).status).toBe("finished");
  expect(setup.service.tasks.size).toBe(made + 1);
  expect((await retake("second")).status).toBe("planned");
  expect(setup.service.tasks.size).toBe(made + 1);
});
