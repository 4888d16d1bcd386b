/** Every task has its own variation of tempo and pitch, which never changes. */
import { expect, it } from "vitest";
import { deriveVariation } from "../../../src/sandbox/tasks/task-processor.ts";
import { startTestSandbox } from "../test-sandbox.ts";

const IDS = Array.from({ length: 200 }, (_, number) => `aud_${number.toString(16).padStart(24, "0")}`);

it("distinguishes tasks by small changes of tempo and pitch", () => {
  const variations = IDS.map(deriveVariation);
  expect(new Set(variations.map(({ tempo }) => tempo)).size).toBe(IDS.length);
  expect(new Set(variations.map(({ semitones }) => semitones)).size).toBe(IDS.length);
  for (const { tempo, semitones } of variations) {
    expect(Math.abs(tempo - 1)).toBeLessThanOrEqual(0.03);
    expect(Math.abs(semitones)).toBeLessThanOrEqual(0.3);
  }
  expect(Math.max(...variations.map(({ tempo }) => tempo))).toBeGreaterThan(1.02);
  expect(Math.min(...variations.map(({ tempo }) => tempo))).toBeLessThan(0.98);
});

it("is requested from the speech engine", async () => {
  const { client, speech } = await startTestSandbox();
  const { id } = await client.finished((await client.created({ prompt: "Spoken in a way of its own" })).id);
  expect(speech.requests.map(({ variation }) => variation)).toEqual([deriveVariation(id)]);
});
