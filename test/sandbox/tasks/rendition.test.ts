/** Every task is read in its own way, and always in the same one. */
import { expect, it } from "vitest";
import { deriveRendition } from "../../../src/sandbox/tasks/rendition.ts";
import { startBox } from "../box.ts";

const IDS = Array.from({ length: 200 }, (_, number) => `aud_${number.toString(16).padStart(24, "0")}`);

it("a rendition distinguishes tasks by small changes of pace and pitch", () => {
  const renditions = IDS.map(deriveRendition);
  expect(new Set(renditions.map(({ pace }) => pace)).size).toBe(IDS.length);
  expect(new Set(renditions.map(({ semitones }) => semitones)).size).toBe(IDS.length);
  for (const { pace, semitones } of renditions) {
    expect(Math.abs(pace - 1)).toBeLessThanOrEqual(0.03);
    expect(Math.abs(semitones)).toBeLessThanOrEqual(0.3);
  }
  expect(Math.max(...renditions.map(({ pace }) => pace))).toBeGreaterThan(1.02);
  expect(Math.min(...renditions.map(({ pace }) => pace))).toBeLessThan(0.98);
});

it("a rendition is requested from the speech engine", async () => {
  const { client, speech } = await startBox();
  const { id } = await client.finished((await client.created({ prompt: "Spoken in a way of its own" })).id);
  expect(speech.requests.map(({ rendition }) => rendition)).toEqual([deriveRendition(id)]);
});
