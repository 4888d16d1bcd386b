/** The line breaks of captions. */
import { describe, expect, it } from "vitest";
import { splitIntoCueTexts } from "../../src/audio/captions/cue-text.ts";

describe("a caption", () => {
  it("has at most sixteen characters a line in Chinese", () => {
    const lines = splitIntoCueTexts(
      "他们沿着河走了很久，直到天完全黑下来，才看见远处那座老磨坊的一点灯光，于是加快了脚步。",
    ).flat();
    expect(lines.join("")).toHaveLength(43);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(16);
  });

  it("has at most twenty-one in Japanese, which has kana", () => {
    const lines = splitIntoCueTexts(
      "彼らは川に沿ってずいぶん長いあいだ歩きつづけ、すっかり暗くなってから遠くに灯りを見た。",
    ).flat();
    expect(Math.max(...lines.map((line) => [...line].length))).toBeGreaterThan(16);
  });

  it.each(["Mr.", "Dra.", "Prof."])("does not end a line with %s", (title) => {
    for (let words = 1; words < 20; words += 1) {
      const text = `${"and so ".repeat(words)}it was that ${title} Weatherby went home through the rain alone.`;
      for (const line of splitIntoCueTexts(text).flat()) expect(line.endsWith(title)).toBe(false);
    }
  });

  it("may end a line with a word that only resembles a title", () => {
    const texts = Array.from(
      { length: 40 },
      (_, more) => `${"x".repeat(more + 1)} to the fast. Weatherby went home in the rain.`,
    );
    expect(
      texts.flatMap((text) => splitIntoCueTexts(text).flat()).some((line) => line.endsWith("fast.")),
    ).toBe(true);
  });
});
