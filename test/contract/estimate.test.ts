/** Estimated speaking times: of every code point of the basic multilingual plane, and of texts that mix scripts. */
import { describe, expect, it } from "vitest";
import { estimateSeconds, measureSpokenSize } from "../../src/contract/estimate.ts";

function expectedMs(character: string): number {
  if (/\p{Nd}/u.test(character)) return 220;
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(character)) return 140;
  if (/[\p{Script=Han}\p{Script=Hangul}]/u.test(character)) return 230;
  return /[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u.test(character) ? 150 : 66;
}

const CHARACTERS = Array.from({ length: 0x10000 }, (_, codePoint) => String.fromCodePoint(codePoint));

describe("the speaking time of a text", () => {
  it("is the sum over its code points", () => {
    const wrong = CHARACTERS.filter((character) => {
      const { speechMs, codePoints } = measureSpokenSize(character);
      return speechMs !== expectedMs(character) || codePoints !== 1;
    });
    expect(wrong).toEqual([]);
  });

  it("is the sum of its parts, wherever the alphabet changes", () => {
    // Surrogates are left out, because two of them would form a pair.
    const characters = CHARACTERS.filter((character) => !/\p{Cs}/u.test(character));
    const step = 7919;
    const mixed = Array.from({ length: 20_000 }, (_, index) => {
      const isLatin = index % 3 !== 0;
      return characters[(index * step) % (isLatin ? 0x180 : characters.length)] ?? "";
    });
    const sum = mixed.reduce((total, character) => total + expectedMs(character), 0);
    expect(measureSpokenSize(mixed.join(""))).toEqual({ speechMs: sum, codePoints: mixed.length });
  });

  it("counts a character outside the basic plane once", () => {
    expect(measureSpokenSize("a😀b𠀀c")).toEqual({ speechMs: 66 * 4 + 230, codePoints: 5 });
    expect(measureSpokenSize("")).toEqual({ speechMs: 0, codePoints: 0 });
    expect(estimateSeconds("Ten 10.")).toBe((5 * 66 + 2 * 220) / 1000);
  });
});
