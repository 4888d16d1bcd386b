/** The error for a 402 states an estimated cost. It follows from the table of speaking times, or from earlier tasks. */
import { expect, it } from "vitest";
import { estimateCredits, estimateSeconds } from "../../src/contract/estimate.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf } from "../support/tool-result.ts";

const TEXT = "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(8);

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

/** Generates `count` takes of the text, each 1.5 times as long as the table estimates. */
async function speak(count: number): Promise<void> {
  service.audioSeconds = estimateSeconds(TEXT) * 1.5;
  for (let number = 1; number <= count; number += 1) {
    await client.call("generate_audio", { prompt: TEXT, take: number });
  }
}

async function statedCost(): Promise<number> {
  service.refuseEvery("create", 402, "insufficient_credits");
  const refused = await client.call("generate_audio", { prompt: TEXT, file_name: "next", take: 99 });
  expect(errorOf(refused).code).toBe("insufficient_credits");
  const [, credits] = /this text would then cost about (\d+) of them/.exec(resultTextOf(refused)) ?? [];
  return Number(credits);
}

it("an estimate uses the table while there are few tasks", async () => {
  await speak(4);
  expect(await statedCost()).toBe(estimateCredits(TEXT));
});

it("an estimate uses the length of earlier tasks once there are enough", async () => {
  await speak(5);
  expect(await statedCost()).toBe(estimateCredits(TEXT, 1 / 1.5));
  expect(await statedCost()).toBeGreaterThan(estimateCredits(TEXT));
});
