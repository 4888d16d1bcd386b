/** Reads what a person sees and hears of the player. */
import type { Frame, Locator } from "playwright-core";

export const playButton = (player: Frame): Locator =>
  player.getByRole("button", { name: "Play", exact: true });

/** Returns the position in whole seconds, as a screen reader announces it. */
export const positionOf = async (player: Frame): Promise<number> =>
  Number(await player.getByRole("slider", { name: "Position" }).getAttribute("aria-valuenow"));

/**
 * Waits until sound is heard.
 *
 * @throws Error that describes what the page plays, if nothing is heard in time
 */
export async function startsSounding(player: Frame): Promise<void> {
  const isLoud = (): boolean => Reflect.get(globalThis, "loudness")() > 0.02;
  try {
    await player.waitForFunction(isLoud, null, { polling: 30 });
  } catch (error) {
    const state: unknown = await player.evaluate(() => Reflect.get(globalThis, "soundState")());
    throw new Error(`nothing is heard: ${JSON.stringify(state)} ${await messageOf(player).textContent()}`, {
      cause: error,
    });
  }
}

/** Returns the number of colours of the waveform, apart from the background. */
export const drawnColours = (player: Frame): Promise<number> =>
  player.locator("#wave canvas").evaluate((canvas) => {
    if (!(canvas instanceof HTMLCanvasElement)) return 0;
    const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
    const colours = new Set<string>();
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 255) colours.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
    }
    return colours.size;
  });

/** Returns the element with the sentence about the player's status. */
export const messageOf = (player: Frame): Locator => player.locator("#say");

/** Waits until the sentence about loading is hidden, so that the content below it has moved up. */
export const isRead = (player: Frame): Promise<void> => messageOf(player).waitFor({ state: "hidden" });
