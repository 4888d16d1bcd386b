/** The player's reading of the captions that this server writes. */
import { expect, it } from "vitest";
import { parseCues } from "../../src/player/captions.ts";

it("puts the speaker of a voice tag before the words, and shows no markup", () => {
  const file = "WEBVTT\n\n1\n00:00.000 --> 00:01.500\n<v Ann &amp; Ben>Tea &lt;or&gt; coffee?\nTea.";
  expect(parseCues(file)).toEqual([
    { startSeconds: 0, endSeconds: 1.5, text: "Ann & Ben: Tea <or> coffee? Tea." },
  ]);
});
