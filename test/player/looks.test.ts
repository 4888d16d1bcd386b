/**
 * The look of the player and of the page of tasks: accessible (axe), on 320 pixels, light and dark; and the pictures
 * in the README.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { CallToolResult } from "@modelcontextprotocol/client";
import axe from "axe-core";
import type { Frame, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../src/sandbox/sandbox.ts";
import { BIN, FAST, NODE } from "../support/bin-under-test.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startBinClient } from "../support/tool-client.ts";
import { type Chat, describeWithBrowser, launch } from "./chat-host.ts";
import { asNarration, joinLong } from "./long-narration.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { isRead, playButton, positionOf, startsSounding } from "./player-view.ts";

const ASSETS = join(import.meta.dirname, "..", "..", "assets");
const MAX_PICTURE_BYTES = 300_000;

const report = z.object({
  violations: z.array(
    z.object({ id: z.string(), impact: z.string(), nodes: z.array(z.object({ html: z.string() })) }),
  ),
});

/** Serious and critical findings among the rules that have a WCAG tag. */
async function findings(place: Frame | Page): Promise<string[]> {
  await place.evaluate(axe.source);
  const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const found = await place.evaluate(
    `axe.run(document, { runOnly: { type: "tag", values: ${JSON.stringify(values)} } })`,
  );
  return report
    .parse(found)
    .violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/**
 * Takes a picture and checks its size, and that the README has one of its name. `UPDATE_PICTURES=1` writes it there. The
 * two are not compared, because no two browsers draw letters alike.
 */
async function picture(name: string, take: () => Promise<Buffer>): Promise<void> {
  const path = join(ASSETS, name);
  const taken = await take();
  expect(taken.byteLength, name).toBeLessThan(MAX_PICTURE_BYTES);
  if (process.env["UPDATE_PICTURES"] === "1") writeFileSync(path, taken);
  expect(existsSync(path), name).toBe(true);
}

/** Returns a result for a picture: with a path in a user's home folder, and with the charge for its length. */
function atHome(result: CallToolResult): CallToolResult {
  const reported = JSON.stringify(result).replaceAll(/\/[^"]*\/out\//g, "/home/you/audio-generation/");
  const seconds = Number(/"duration_seconds":([\d.]+)/.exec(reported)?.[1] ?? 0);
  const charged = reported.replace(/"charged":\d+/, `"charged":${Math.ceil(Math.ceil(seconds) * 1.25)}`);
  return z.custom<CallToolResult>().parse(JSON.parse(charged));
}

const ofPlayer = async ({ page }: Chat): Promise<Buffer> =>
  await page.locator("iframe").screenshot({ animations: "disabled", scale: "device" });

describeWithBrowser("the player", () => {
  const setup = openPlayerSetup();
  let narrationId: string;
  const prompt =
    "The harbour lay quiet before the first ferry. Somebody whistled, far out, where the nets were drying.";

  beforeAll(async () => {
    const { server } = setup;
    narrationId = await asNarration(server, await joinLong(server, "mp3", 300, "harbour-stories.mp3"));
    await server.call("generate_audio", { prompt, voice: "sophie_en_zh", file_name: "harbour" });
    await server.call("generate_audio", { prompt, voice: "sophie_en_zh", take: 2, file_name: "harbour-2" });
  });

  const THEMES = ["light", "dark"] as const;

  it.concurrent.for(THEMES)(
    "is accessible, %s, with a narration, its chapters and its text",
    async (theme, test) => {
      const chat = await setup.chat(test, { context: { theme }, deviceScaleFactor: 2 });
      const { player } = chat;
      await chat.result(atHome(await setup.server.call("narrate", { narration_id: narrationId })));
      await isRead(player);
      await player.getByText("Chapters").click();
      await player.getByRole("button", { name: /Chapter 2/ }).click();
      await playButton(player).click();
      await startsSounding(player);
      expect(await findings(player)).toEqual([]);
      await player.getByRole("button", { name: "Pause" }).click();
      if (theme === "light") await picture("player-light.png", () => ofPlayer(chat));
      await player.getByText("Text", { exact: true }).click();
      expect(await findings(player)).toEqual([]);
    },
  );

  it.concurrent("is accessible, on 320 pixels, dark, with two takes", async (test) => {
    const context = { theme: "dark" } as const;
    const chat = await setup.chat(test, { context, width: 320, deviceScaleFactor: 4 });
    const { player } = chat;
    await chat.result(
      atHome(await setup.server.call("generate_audio", { prompt, voice: "sophie_en_zh", take: 2 })),
    );
    await player.getByRole("button", { name: /Take 1/ }).waitFor();
    await playButton(player).click();
    await expect.poll(() => positionOf(player)).toBeGreaterThan(0);
    // Pause before anything slow, because the take lasts only a few seconds and cannot be paused after its end.
    await player.getByRole("button", { name: "Pause" }).click();
    expect(await findings(player)).toEqual([]);
    const isCut = (): boolean => document.documentElement.scrollWidth > innerWidth;
    expect(await player.evaluate(isCut)).toBe(false);
    await picture("player-takes.png", () => ofPlayer(chat));
  });
});

describeWithBrowser("the page of tasks", () => {
  it("is accessible, loads nothing until Play is pressed, and plays", async () => {
    const [service, testFolders, browser] = await Promise.all([
      startSandbox({ timeScale: 0.01 }),
      createTestFolders(),
      launch(),
    ]);
    try {
      const settings = testFolders.env(service, { ...FAST });
      const client = await startBinClient(settings);
      for (const voice of ["felix_zh", "sophie_en_zh"]) {
        await client.call("generate_audio", { prompt: `Heard on the page of tasks, by ${voice}.`, voice });
      }
      await client.close();
      const file = join(testFolders.root, "tasks.html");
      expect(spawnSync(NODE, [BIN, "tasks", "--html", file], { env: settings }).status).toBe(0);
      const page = await browser.newPage({
        viewport: { width: 720, height: 640 },
        deviceScaleFactor: 2,
      });
      const sounds: string[] = [];
      page.on("request", (request) => sounds.push(request.url()));
      await page.goto(pathToFileURL(file).href);
      expect(await findings(page)).toEqual([]);
      expect(sounds).toHaveLength(1);
      const player = page.locator("audio").first();
      await player.evaluate((audio) => (audio instanceof HTMLAudioElement ? audio.play() : undefined));
      await expect
        .poll(() => player.evaluate((audio) => Reflect.get(audio, "currentTime")))
        .toBeGreaterThan(0.1);
      await page.evaluate((folder) => {
        // Show paths in a user's home folder, not in the test's folder.
        for (const text of document.querySelectorAll("*")) {
          for (const node of text.childNodes) {
            if (node.nodeType === Node.TEXT_NODE) {
              node.textContent = (node.textContent ?? "").replaceAll(folder, "/home/you/audio-generation");
            }
          }
        }
      }, testFolders.outputDir);
      await picture("tasks-page.png", () => page.screenshot({ scale: "device" }));
    } finally {
      await Promise.all([browser.close(), service.stop()]);
      await testFolders.remove();
    }
  });
});
