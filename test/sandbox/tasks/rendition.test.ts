/** Owns the claim that every task is read in a way of its own, which it keeps. */
import { expect, it } from "vitest";
import { renditionOf } from "../../../src/sandbox/tasks/rendition.ts";
import { startBox, temporaryFolder } from "../box.ts";
import { TinySpeech } from "../tiny-speech.ts";

const IDS = Array.from({ length: 200 }, (_, number) => `aud_${number.toString(16).padStart(24, "0")}`);

it("tells tasks apart, by a pace and a pitch near the plain ones", () => {
  const renditions = IDS.map(renditionOf);
  expect(new Set(renditions.map(({ pace }) => pace)).size).toBe(IDS.length);
  expect(new Set(renditions.map(({ semitones }) => semitones)).size).toBe(IDS.length);
  for (const { pace, semitones } of renditions) {
    expect(Math.abs(pace - 1)).toBeLessThanOrEqual(0.03);
    expect(Math.abs(semitones)).toBeLessThanOrEqual(0.3);
  }
  expect(Math.max(...renditions.map(({ pace }) => pace))).toBeGreaterThan(1.02);
  expect(Math.min(...renditions.map(({ pace }) => pace))).toBeLessThan(0.98);
});

it("is one task's for ever, also after a restart in the midst of its being spoken", async () => {
  const stateDir = await temporaryFolder();
  const first = await startBox({ stateDir });
  const { id } = await first.client.created({ prompt: "[hangs]" });
  await expect.poll(() => first.speech.requests.length).toBe(1);
  await first.sandbox.stop();

  const speech = new TinySpeech();
  const second = await startBox({ stateDir, speech });
  await expect.poll(() => speech.requests.length).toBe(1);
  expect([first.speech.requests[0]?.rendition, speech.requests[0]?.rendition]).toEqual([
    renditionOf(id),
    renditionOf(id),
  ]);
  await second.sandbox.stop();
});
