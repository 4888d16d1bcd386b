/** Durations are rounded so that the lengths of chapters and their sum fit together. */
import { expect, it } from "vitest";
import { formatDuration } from "../../src/narration/quantity-words.ts";

it.each([
  [99, "99 s"],
  [119, "2 min"],
  [151, "2 min 30 s"],
  [157, "2 min 40 s"],
  [594, "9 min 50 s"],
  [596, "10 min"],
  [3600, "60 min"],
  [12_000, "3 h 20 min"],
])("%d s is written as %s", (seconds, words) => {
  expect(formatDuration(seconds)).toBe(words);
});
