/** Suggestions of voices for a name that is not a voice, and estimates of credits. */
import { expect, it } from "vitest";
import { estimateCredits } from "../../src/contract/estimate.ts";
import { findNearestVoices } from "../../src/contract/nearest-names.ts";

it.each([
  ["sofia", ["sophie_en_zh"]],
  ["Sophie", ["sophie_en_zh"]],
  ["sophie_en", ["sophie_en_zh"]],
  ["monkey king", ["monkey_king_zh"]],
  ["Magnus-en", ["magnus_en_zh"]],
  ["kyan", ["kian_en_zh"]],
  ["quintin", ["quentin_en_zh"]],
  ["narrator", []],
  ["calm female", []],
  ["bob", []],
  ["", []],
  ["x".repeat(10_000), []],
])("the nearest voice to %j is %j", (text, voices) => {
  expect(findNearestVoices(text)).toEqual(voices);
});

it("the estimate is about 80 credits for 1,000 English characters, 10 at least and 150 at most", () => {
  const text = "The harbour lay still, and nobody had come down yet. ".repeat(40);
  expect(estimateCredits(text.slice(0, 1000))).toBeGreaterThanOrEqual(75);
  expect(estimateCredits(text.slice(0, 1000))).toBeLessThanOrEqual(90);
  expect(estimateCredits("Hi")).toBe(10);
  expect(estimateCredits(text)).toBe(150);
  expect(estimateCredits(text.slice(0, 1000), 2)).toBeLessThan(50);
  expect(estimateCredits("字".repeat(300))).toBeGreaterThan(80);
});
