/** An hour of narration in the chat: it starts at once, plays after jumps, and takes little memory. */
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { expect, it } from "vitest";
import { DEFAULT_POLICY, describeWithBrowser, NO_MEDIA } from "./chat-host.ts";
import { asNarration, joinLong } from "./long-narration.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { playButton, startsSounding } from "./player-view.ts";

const HOUR_SECONDS = 3600;

/** The duration of an mp3 file of just under 6 MiB. */
const MINUTES_SECONDS = 760;

/** Returns the private memory of a process, in bytes. */
function privateBytes(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kilobytes = [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].map(([, count]) => Number(count));
  return kilobytes.reduce((sum, count) => sum + count, 0) * 1024;
}

const isMoving = (): boolean =>
  [...document.querySelectorAll("audio")].some((audio) => audio.currentTime > 0.02);

/** Returns the private memory of each process that draws pages, including the chat's own. */
async function drawers(browser: Browser): Promise<number[]> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => privateBytes(id));
}

describeWithBrowser("an hour of narration", () => {
  const setup = openPlayerSetup();

  it("begins to play, plays after jumps, and stays under 150 MB", async (test) => {
    const { browser, server } = setup;
    const joined = await joinLong(server, "mp3", HOUR_SECONDS);
    const narrationId = await asNarration(server, joined);
    const result = await server.call("narrate", { narration_id: narrationId });
    const begin = async () => {
      const chat = await setup.chat(test);
      await chat.result(result);
      const play = playButton(chat.player);
      await play.waitFor();
      const pressedAt = performance.now();
      await play.click();
      await chat.player.waitForFunction(isMoving);
      return { chat, begunMs: performance.now() - pressedAt };
    };
    const { chat, begunMs } = await begin();
    // The start takes under a second on an idle machine. It is only reported, because other tests run at the same time.
    process.stdout.write(`an hour of narration began to play ${Math.round(begunMs)} ms after Play\n`);
    const { player } = chat;
    const slider = player.getByRole("slider", { name: "Position" });
    await slider.focus();
    for (const moment of [0.9, 0.5, 0.25]) {
      const box = await slider.boundingBox();
      await slider.click({ position: { x: (box?.width ?? 0) * moment, y: 20 } });
      await player.waitForFunction(() =>
        [...document.querySelectorAll("audio")].some((audio) => !audio.paused),
      );
    }
    // An hour is about 56 pieces. The player reads only those that it needs.
    expect(
      chat.hostRequests.filter(({ params }) => String(params["uri"]).includes("?offset")).length,
    ).toBeLessThan(40);
    expect(Math.max(...(await drawers(browser)))).toBeLessThan(150e6);
    expect(chat.faults).toEqual([]);
  }, 300_000);

  it("needs as little for a file of some minutes, even if samples are decoded", async (test) => {
    const { browser, server } = setup;
    const joined = await joinLong(server, "mp3", MINUTES_SECONDS, "minutes.mp3");
    const narrationId = await asNarration(server, joined);
    const result = await server.call("narrate", { narration_id: narrationId });
    for (const policy of [DEFAULT_POLICY, NO_MEDIA]) {
      const chat = await setup.chat(test, { policy });
      await chat.result(result);
      await playButton(chat.player).click();
      await startsSounding(chat.player);
      expect(Math.max(...(await drawers(browser)))).toBeLessThan(150e6);
      await chat.close();
    }
  }, 300_000);
});
