/**
 * Commands to seek, play and pause that come before the previous command has finished. The last command wins, and the
 * button shows what is heard.
 */
import type { Frame } from "playwright-core";
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY, describeWithBrowser, NO_MEDIA } from "./chat-host.ts";
import { saved, serving, tone } from "./made-up-sound.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { isRead, messageOf, playButton, startsSounding } from "./player-view.ts";

const POLICIES = [
  ["audio elements", DEFAULT_POLICY],
  ["decoded samples", NO_MEDIA],
] as const;

/** The length of a sound of over 2 MiB, which is played in segments. The first segment ends after 1 MiB. */
const SECONDS = 60;
const SEAM_SECONDS = 2 ** 20 / 48_000;

/** Presses all keys before any of their effects can end. */
const pressAtOnce = (player: Frame, ...keys: string[]): Promise<void> =>
  player.evaluate((all) => {
    for (const key of all) document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }, keys);

const jumpTo = (player: Frame, seconds: number): Promise<void> =>
  player.locator("#wave").evaluate((slider, share) => {
    const { left, width } = slider.getBoundingClientRect();
    slider.dispatchEvent(new PointerEvent("pointerup", { clientX: left + share * width }));
  }, seconds / SECONDS);

/** Waits until nothing is heard, and checks 300 ms later that still nothing is heard. */
async function fallsSilent(player: Frame): Promise<void> {
  const isSilent = (): boolean =>
    [...document.querySelectorAll("audio")].every((audio) => audio.paused) &&
    Reflect.get(globalThis, "loudness")() === 0;
  await player.waitForFunction(isSilent, null, { polling: 30, timeout: 5000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await player.evaluate(isSilent)).toBe(true);
}

/**
 * Seeks to a position just before the second segment, and waits until sound is heard. Presses a key `waitMs` later, and
 * waits 200 ms. If fewer audio elements play than expected, waits some seconds more, because a busy machine loads a
 * segment slowly. Returns how many elements play, and by how many seconds the key moved the position.
 */
const pressAtSeam = (player: Frame, waitMs: number, key: string, expectedElements: number) =>
  player.locator("#wave").evaluate(
    async (slider, round) => {
      const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
      const { left, width } = slider.getBoundingClientRect();
      slider.dispatchEvent(new PointerEvent("pointerup", { clientX: left + round.share * width }));
      await pause(50);
      while (Reflect.get(globalThis, "loudness")() < 0.02) await pause(4);
      await pause(round.waitMs);
      const before = Number(slider.ariaValueNow);
      document.dispatchEvent(new KeyboardEvent("keydown", { key: round.key, bubbles: true }));
      const movedSeconds = Number(slider.ariaValueNow) - before;
      const playing = (): number =>
        [...document.querySelectorAll("audio")].filter((audio) => !audio.paused).length;
      await pause(200);
      for (let waits = 0; playing() < round.expectedElements && waits < 500; waits += 1) await pause(10);
      return { waitMs: round.waitMs, movedSeconds, elements: playing() };
    },
    { waitMs, key, expectedElements, share: (SEAM_SECONDS - 0.2) / SECONDS },
  );

describeWithBrowser("the player", () => {
  const setup = openPlayerSetup();

  describe.each(POLICIES)("with %s", (_name, policy) => {
    it.concurrent("plays after jumps that overtake each other", async (test) => {
      const sound = tone(40);
      const { player, result, faults } = await setup.chat(test, { policy, answer: serving(sound) });
      await result(saved(sound.length, 40));
      await playButton(player).click();
      await startsSounding(player);
      await pressAtOnce(player, "ArrowRight", "ArrowLeft", "ArrowLeft");
      await player.getByRole("button", { name: "Pause" }).waitFor();
      await new Promise((resolve) => setTimeout(resolve, 300));
      await startsSounding(player);

      await pressAtOnce(player, " ");
      await fallsSilent(player);
      await pressAtOnce(player, " ", " ");
      await playButton(player).waitFor();
      await fallsSilent(player);
      await pressAtOnce(player, " ", "ArrowRight", " ", " ");
      await startsSounding(player);
      await player.getByRole("button", { name: "Pause" }).waitFor();
      expect(faults).toEqual([]);
    });

    it.concurrent("is silent after a pause, and at one position after a jump, during the change of segments", async (test) => {
      const sound = tone(SECONDS);
      const { player, result, faults } = await setup.chat(test, { policy, answer: serving(sound) });
      await result(saved(sound.length, SECONDS));
      await isRead(player);
      await playButton(player).click();
      for (let waitMs = 0; waitMs <= 200; waitMs += 40) {
        const sounding = policy === NO_MEDIA ? 0 : 1;
        const jumped = await pressAtSeam(player, waitMs, "ArrowLeft", sounding);
        expect(jumped).toEqual({ waitMs, elements: sounding, movedSeconds: expect.toBeOneOf([-5, -4]) });

        await pressAtSeam(player, waitMs, " ", 0);
        await playButton(player).waitFor();
        await fallsSilent(player);
        await playButton(player).click();
      }
      expect(faults).toEqual([]);
    });
  });

  it("loses no press on Play that a person begins while the sound is read", async (test) => {
    const sound = tone(SECONDS);
    const serve = serving(sound);
    const whole = Promise.withResolvers<void>();
    const { page, player, result } = await setup.chat(test, {
      answer: async (method, params) => {
        // The player is shown after the first piece.
        if (/offset=[1-9]/.test(`${params["uri"]}`)) await whole.promise;
        return await serve(method, params);
      },
    });
    await result(saved(sound.length, SECONDS));
    const button = playButton(player);
    await button.waitFor();
    // The chat has made room for the whole page.
    await player.waitForFunction(() => innerHeight >= document.body.scrollHeight);
    const { x, y, width, height } = (await button.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    expect(await messageOf(player).textContent()).toBe("Reading the sound…");
    whole.resolve();
    await isRead(player);
    await page.mouse.up();
    await startsSounding(player);
  });

  it("leaves no gap between two segments of decoded samples", async (test) => {
    const sound = tone(SECONDS);
    const { player, result } = await setup.chat(test, { policy: NO_MEDIA, answer: serving(sound) });
    await result(saved(sound.length, SECONDS));
    await isRead(player);
    // Start 15 s before the second segment, because a busy machine needs seconds to decode it.
    await jumpTo(player, SEAM_SECONDS - 15);
    await playButton(player).click();
    await startsSounding(player);
    const quietest = await player.evaluate(async () => {
      const place = document.querySelector("#wave");
      let [least, lookedAt, from] = [1, performance.now(), 0];
      while (Number(place?.ariaValueNow) < 23) {
        await new Promise((resolve) => setTimeout(resolve, 4));
        const now = performance.now();
        // If this check runs late, the machine may also be too busy to play, so ignore the next 200 ms.
        if (now - lookedAt > 50) from = now + 200;
        if (now >= from) least = Math.min(least, Reflect.get(globalThis, "loudness")());
        lookedAt = now;
      }
      return least;
    });
    expect(quietest).toBeGreaterThan(0.02);
  });
});
