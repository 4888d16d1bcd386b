/**
 * The player with running work: a pending task, takes side by side, a narration part by part; with the built bin.
 */
import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { describeWithBrowser } from "./chat-host.ts";
import { asNarration, joinLong } from "./long-narration.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { isRead, messageOf, playButton, positionOf, startsSounding } from "./player-view.ts";

const saved = z.object({ task_id: z.string(), audio: z.object({ path: z.string(), size_bytes: z.int() }) });

describeWithBrowser("the player", () => {
  const setup = openPlayerSetup({ AUDIO_TIME_SCALE: "0.05" });

  it.concurrent("shows the request, waits for its audio, and plays it once it is available", async (test) => {
    // The speech is long enough for a busy machine to hear it before it ends. A retry of this test needs another text,
    // because the audio of this one is saved by then.
    const prompt = `${"Soon to be heard. ".repeat(20)}${randomUUID()}`;
    const { player, input, result, hostRequests } = await setup.chat(test);
    await input({ prompt });
    await player.getByRole("heading", { name: /^Soon to be heard\. / }).waitFor();
    const pending = await setup.server.call("generate_audio", { prompt, wait_seconds: 0 });
    expect(pending.structuredContent).not.toHaveProperty("audio");
    await result(pending);
    await playButton(player).click();
    await startsSounding(player);
    expect(hostRequests.some(({ params }) => params["name"] === "get_task")).toBe(true);
    await player.getByRole("heading", { name: /^Soon-to-be-heard.*\.mp3$/ }).waitFor();
  });

  it.concurrent("alternates two takes at the same position, and asks the assistant for a third", async (test) => {
    const prompt =
      "Two takes of these words, which go on for long enough to be compared, and then a little longer. ".repeat(
        4,
      );
    const first = await setup.server.call("generate_audio", { prompt });
    await setup.server.call("generate_audio", { prompt, take: 2 });
    const { player, result, hostRequests } = await setup.chat(test);
    await result(first);
    const takes = player.getByRole("group", { name: "Takes" });
    await takes.getByRole("button", { name: /Take 2/ }).waitFor();
    await playButton(player).click();
    await startsSounding(player);
    await player.getByRole("slider").press("ArrowRight");
    await takes.getByRole("button", { name: /Take 2/ }).click();
    await startsSounding(player);
    expect(await positionOf(player)).toBeGreaterThanOrEqual(5);
    expect(await takes.getByRole("button", { pressed: true }).textContent()).toContain("Take 2");
    await player.getByText(/take 2$/).waitFor();
    await player.getByRole("button", { name: "Another take" }).click();
    await messageOf(player).getByText("Asked in the chat.").waitFor();
    const message = hostRequests.find(({ method }) => method === "ui/message");
    expect(JSON.stringify(message?.params)).toContain("with take 3");
  });

  it.concurrent("offers the whole file for saving", async (test) => {
    const createResult = await setup.server.call("generate_audio", { prompt: "To be saved." });
    const { audio } = saved.parse(createResult.structuredContent);
    const { player, result, hostRequests } = await setup.chat(test);
    await result(createResult);
    await player.getByRole("button", { name: "Save as" }).click();
    await test.expect.poll(() => hostRequests.some(({ method }) => method === "ui/download-file")).toBe(true);
    const download = z.object({
      contents: z.tuple([
        z.object({ type: z.literal("resource"), resource: z.object({ uri: z.string(), blob: z.base64() }) }),
      ]),
    });
    const [{ resource }] = download.parse(
      hostRequests.find(({ method }) => method === "ui/download-file")?.params,
    ).contents;
    expect(Buffer.from(resource.blob, "base64").byteLength).toBe(audio.size_bytes);
    expect(decodeURIComponent(resource.uri)).toBe(`file:///${basename(audio.path)}`);
  });

  it.concurrent("shows the parts of a narration, and stops it", async (test) => {
    const paragraph =
      "It rained in the harbour, and nobody minded, for the ferry was late in any case. ".repeat(24);
    // The limits make 40 parts last 20 s, so even a busy machine presses the button in time.
    const chapter = (_: unknown, index: number) => `# Part ${index + 1}\n\n${paragraph}`;
    const text = `${randomUUID()}\n\n${Array.from({ length: 40 }, chapter).join("\n\n")}`;
    const begun = await setup.server.call("narrate", { text, max_credits: 15_000, wait_seconds: 0 });
    expect(begun.structuredContent).toMatchObject({ status: "running" });
    const { player, result } = await setup.chat(test);
    await result(begun);
    await player.getByRole("list", { name: "Parts" }).getByText("running").first().waitFor();
    expect(await player.locator("#count").textContent()).toMatch(/^\d+ of \d+ parts$/);
    await player.getByRole("button", { name: "Stop" }).click();
    await messageOf(player)
      .getByText(/^Stopped, as asked for: /)
      .waitFor();
    expect(await player.locator("#making").isVisible()).toBe(false);
  });

  it.concurrent("jumps to a sentence and a chapter of a narration, and plays across a segment boundary without a gap", async (test) => {
    const joined = await joinLong(setup.server, "mp3", 860, "story.mp3");
    const narrationId = await asNarration(setup.server, joined);
    const { player, result, faults } = await setup.chat(test);
    await result(await setup.server.call("narrate", { narration_id: narrationId }));
    await isRead(player);
    await player.getByText("Chapters").click();
    await player.getByRole("button", { name: /Chapter 3/ }).click();
    await test.expect.poll(() => positionOf(player)).toBe(Math.floor(joined.chapters[2]?.startSeconds ?? 0));
    await player.getByText("Text", { exact: true }).click();
    // A segment is 512 KiB of this file, which are 65.5 s.
    const before = joined.parts.findLastIndex(({ startSeconds }) => startSeconds < 64);
    await player.getByRole("button", { name: new RegExp(` ${before + 1}\\. `) }).click();
    await test.expect.poll(() => player.locator("#cue").textContent()).toContain(`${before + 1}. `);
    await player.getByLabel("Speed").selectOption("2");
    await player.getByRole("button", { name: "among nets & ropes." }).first().waitFor();
    await playButton(player).click();
    await startsSounding(player);
    const gapMs = await player.evaluate(async () => {
      const place = document.querySelector("#wave");
      let [longest, silent, last, looked] = [0, 0, -1, performance.now()];
      const until = performance.now() + 40_000;
      while (performance.now() < until && Number(place?.ariaValueNow) < 69) {
        const sounding = [...document.querySelectorAll("audio")].filter((audio) => !audio.paused);
        const sum = sounding.reduce((total, { currentTime }) => total + currentTime, 0);
        const now = performance.now();
        // A check adds at most 50 ms of silence. If the check is late, sound may have been heard since the previous
        // one.
        silent = sum === last ? silent + Math.min(now - looked, 50) : 0;
        longest = Math.max(longest, silent);
        [last, looked] = [sum, now];
        await new Promise((resolve) => setTimeout(resolve, 4));
      }
      return longest;
    });
    expect(await positionOf(player)).toBeGreaterThan(66);
    // The gap is about 50 ms on an idle machine.
    expect(gapMs).toBeLessThan(400);
    expect(faults).toEqual([]);
  });
});
