/** A sandbox with its default speech engine makes real audio. */
import { expect, it } from "vitest";
import { chargeForSeconds } from "../../src/contract/billing.ts";
import { createSpeechEngine } from "../../src/sandbox/speech/speech.ts";
import { startTestSandbox } from "./test-sandbox.ts";

const WAV_HEAD_BYTES = 44;

it("a sandbox with its own voices speaks each task differently, a repeat of one byte for byte the same, and charges each by its length", async () => {
  const { client } = await startTestSandbox({ speech: createSpeechEngine() });
  const input = { prompt: "It was a bright cold day in April. ".repeat(6), output_format: "wav" } as const;
  const takes = [];
  for (const key of ["take-1", "take-2"]) {
    const { id } = await client.created(input, { key });
    const { usage, billing } = await client.finished(id);
    const { bytes } = await client.content(id);
    expect((await client.created(input, { key })).id).toBe(id);
    expect((await client.content(id)).bytes).toEqual(bytes);
    const audioSeconds = usage?.audio_seconds ?? 0;
    expect(audioSeconds).toBeCloseTo((bytes.byteLength - WAV_HEAD_BYTES) / 2 / 24000, 3);
    expect(billing.charged_credits).toBe(chargeForSeconds(audioSeconds));
    takes.push(bytes);
  }
  expect(takes[0]).not.toEqual(takes[1]);
});

it("a sandbox with its own voices fails a prompt of emoji alone, and returns its reservation", async () => {
  const { client, sandbox } = await startTestSandbox({ speech: createSpeechEngine() });
  const task = await client.finished((await client.created({ prompt: "\u{1f600}\u{1f680}" })).id);
  expect(task).toMatchObject({ status: "failed", billing: { charged_credits: 0, refunded_credits: 150 } });
  expect(sandbox.balances()[0]).toMatchObject({ reserved: 0, charged: 0 });
});
