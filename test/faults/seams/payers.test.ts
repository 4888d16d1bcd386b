/** Who pays: a wish that goes leaves the payment to those that stay, and never lifts a limit. */
import { describe, expect, it } from "vitest";
import { PART_BYTES } from "../../narration/narrator.ts";
import { generate, taskOf } from "../../support/tool-result.ts";
import { pause, waitUntil } from "../defects/read-from-outside.ts";
import {
  anotherOfTasks,
  beginTask,
  cancelTask,
  chapters,
  closeSeamsAfterEach,
  KEYS,
  narrate,
  openSeams,
  release,
  sentPrompts,
  start,
  takeSlots,
  waitForEnd,
  waitForTasks,
} from "./seam-setup.ts";

closeSeamsAfterEach();

/** 120 s of sound cost as much as was reserved. */
const DEAR = { audioSeconds: 120, audioBytes: 30 * PART_BYTES };
const THREE = chapters("Alpha first part.", "Bravo second part.", "Charlie third part.");
const SECOND = { prompt: "H1\n\nBravo second part.", output_format: "pcm" };

it.each(["cancels its MCP task", "is killed", "cancels its call in another process", "ends"])(
  "a second caller for a part that waits that %s leaves the part within the narration's limit and on its bill",
  async (how) => {
    const setup = await openSeams({ service: DEAR });
    await takeSlots(setup, 1);
    const narration_id = await start(setup.server, THREE, 300);
    await waitForTasks(setup, 2);
    const other =
      how === "cancels its MCP task"
        ? await anotherOfTasks(setup)
        : await setup.another({}, { isInProcess: how !== "is killed" });
    if (how === "cancels its MCP task") {
      const taskId = await beginTask(other, "generate_audio", SECOND);
      await pause(300);
      await cancelTask(other, taskId);
    } else {
      const id = other.begin("generate_audio", { ...SECOND, wait_seconds: 30 });
      await pause(500);
      if (how === "is killed") await other.kill();
      else if (how === "ends") void other.outcomeOf(id).catch(() => undefined);
      else other.cancel(id);
      if (how === "ends") await other.end();
    }
    await pause(300);
    expect(setup.service.tasks.size).toBe(2);
    release(setup.service);
    const ended = await waitForEnd(setup.server, narration_id);
    expect(sentPrompts(setup.service).filter((prompt) => prompt.startsWith("H"))).toHaveLength(2);
    expect(ended).toMatchObject({ status: "stopped", credits: { charged: 300, reserved: 0 } });
  },
);

describe("two narrations that wait for one part", () => {
  const A = chapters("Shared words here.", "Only in A.");
  const B = chapters("Shared words here.", "Only in B.");

  it.each(["stopped", "cancelled in another process", "cancelled as an MCP task"])(
    "of which the first is %s: the second makes it and pays",
    async (how) => {
      const setup = await openSeams();
      await takeSlots(setup);
      const first = how === "cancelled as an MCP task" ? await anotherOfTasks(setup) : await setup.another();
      const call = { text: A, output_format: "pcm", max_credits: 5000 };
      const { narration_id: a } = await narrate(setup.server, { text: A });
      let withdraw: () => unknown = () => first.call("narrate", { narration_id: a, stop: true });
      if (how === "cancelled as an MCP task") {
        const taskId = await beginTask(first, "narrate", call);
        withdraw = () => cancelTask(first, taskId);
      } else {
        const id = first.begin("narrate", { ...call, wait_seconds: 60 });
        if (how !== "stopped") withdraw = () => first.cancel(id);
      }
      const look = async () => (await narrate(setup.server, { narration_id: a, wait_seconds: 0 })).status;
      await expect.poll(look).toBe("running");
      const b = await start(setup.server, B);
      await pause(300);
      await withdraw();
      await pause(300);
      release(setup.service);
      expect(await waitForEnd(setup.server, b)).toMatchObject({
        status: "finished",
        credits: { charged: 20, reserved: 0 },
      });
      expect(await waitForEnd(setup.server, a)).toMatchObject({ status: "stopped", credits: { charged: 0 } });
      expect(
        sentPrompts(setup.service)
          .filter((prompt) => prompt.startsWith("H"))
          .sort(),
      ).toEqual(["H0\n\nShared words here.", "H1\n\nOnly in B."]);
    },
  );

  it("of which the first has no room left: the second, which has, pays", async () => {
    const setup = await openSeams({ service: DEAR });
    await takeSlots(setup);
    const text = chapters("Only in A.", "Shared words here.");
    const a = await start(setup.server, text.replace("# H1", "# H0"), 150);
    await pause(300);
    const b = await start(setup.server, chapters("Shared words here.", "Only in B."), 300);
    await pause(300);
    release(setup.service);
    expect(await waitForEnd(setup.server, b)).toMatchObject({
      status: "finished",
      credits: { charged: 300 },
    });
    const ended = await waitForEnd(setup.server, a);
    expect(ended.credits.charged).toBe(150);
    expect(setup.service.tasks.size).toBe(2 + 3);
  });
});

it.each(["stop", "max_credits", "cancel"])(
  "a narration whose waiting part a direct call wants, too pays nothing for it after its %s; the call does",
  async (how) => {
    const setup = await openSeams();
    await takeSlots(setup);
    const { narration_id } = await narrate(setup.server, { text: THREE });
    const id = setup.server.begin("narrate", { narration_id, max_credits: 5000, wait_seconds: 60 });
    await pause(400);
    const other = await setup.another();
    const direct = other.begin("generate_audio", {
      prompt: "H0\n\nAlpha first part.",
      output_format: "pcm",
      wait_seconds: 60,
    });
    await pause(400);
    if (how === "cancel") setup.server.cancel(id);
    else if (how === "stop") await narrate(other, { narration_id, stop: true });
    else await narrate(other, { narration_id, max_credits: 100, wait_seconds: 0 });
    await pause(300);
    release(setup.service);
    expect(taskOf(await other.outcomeOf(direct)).audio?.path).toBeDefined();
    expect((await waitForEnd(other, narration_id)).credits).toMatchObject({ charged: 0, reserved: 0 });
    expect(sentPrompts(setup.service).filter((prompt) => prompt.startsWith("H"))).toHaveLength(1);
  },
);

it("a part that another API key of the account sends at the same moment is on one bill", async () => {
  const setup = await openSeams({ service: { apiKeys: KEYS } });
  const { promise: areBothSent, resolve } = Promise.withResolvers<void>();
  setup.service.intercept = async ({ kind, ordinal }) => {
    if (kind === "create" && ordinal === 2) resolve();
    if (kind === "create" && ordinal === 1) await areBothSent;
    return false;
  };
  const narration_id = await start(setup.server, chapters("Alpha only part."));
  await waitUntil("the first submission", () => setup.service.count("create") === 1);
  const other = await setup.another({ AUDIO_API_KEY: KEYS[1] });
  const prompt = "H0\n\nAlpha only part.";
  const direct = await generate(other, { prompt, output_format: "pcm" });
  expect(setup.service.tasks.size).toBe(1);
  const { credits } = await waitForEnd(setup.server, narration_id);
  expect(credits).toMatchObject({ charged: direct.replayed ? 10 : 0, reserved: 0 });
});
