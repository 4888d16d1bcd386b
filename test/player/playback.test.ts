/**
 * The player in a real browser, under the official bridge, with the built bin and real speech: every format, under
 * both content policies.
 */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_POLICY, describeWithBrowser, NO_MEDIA } from "./chat-host.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { drawnColours, playButton, positionOf, startsSounding } from "./player-view.ts";

const FORMATS = ["mp3", "wav", "ogg_opus", "pcm"] as const;
const POLICIES = [
  ["the specification's policy, dark", DEFAULT_POLICY, "dark"],
  ["a policy without media, light", NO_MEDIA, "light"],
] as const;

const PROMPT =
  "The harbour at dawn, before the first ferry. Gulls, ropes, and a kettle somewhere below. Nobody speaks. ".repeat(
    3,
  );

describeWithBrowser("the player", () => {
  const setup = openPlayerSetup();
  const made = new Map<string, CallToolResult>();

  beforeAll(async () => {
    const results = FORMATS.map(async (output_format) => {
      made.set(output_format, await setup.server.call("generate_audio", { prompt: PROMPT, output_format }));
    });
    await Promise.all(results);
  });

  describe.each(POLICIES)("under %s", (_name, policy, theme) => {
    it.concurrent.for(FORMATS)(
      "plays %s, draws, seeks, and is silent after teardown",
      async (format, test) => {
        const chat = await setup.chat(test, { policy, context: { theme } });
        const { player } = chat;
        const result = made.get(format);
        if (result === undefined) throw new Error("nothing was made");
        await chat.result(result);
        await playButton(player).click();
        await startsSounding(player);
        expect(await positionOf(player)).toBeLessThan(3);
        // The player offers no speed for decoded samples, because another speed would change their pitch.
        expect(await player.getByLabel("Speed").isVisible()).toBe(policy === DEFAULT_POLICY);
        const slider = player.getByRole("slider", { name: "Position" });
        const width = (await slider.boundingBox())?.width ?? 0;
        await slider.click({ position: { x: width * 0.5, y: 20 } });
        await startsSounding(player);
        const seconds = Number(await slider.getAttribute("aria-valuemax"));
        expect(await positionOf(player)).toBeGreaterThanOrEqual(Math.floor(seconds / 2) - 1);
        // The played part has another colour than the rest.
        expect(await drawnColours(player)).toBeGreaterThan(1);
        await slider.press(" ");
        await playButton(player).waitFor();
        await slider.press("Home");
        await slider.press("ArrowRight");
        expect(await positionOf(player)).toBe(5);

        await playButton(player).click();
        await player.getByRole("button", { name: "Pause" }).waitFor();
        await chat.teardown();
        const isSilent = (): boolean =>
          [...document.querySelectorAll("audio")].every((audio) => audio.paused);
        expect(await player.evaluate(isSilent)).toBe(true);
        expect(chat.faults).toEqual([]);
      },
    );
  });
});
