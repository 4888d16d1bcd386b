/** What a text would about cost, as a person is told it after a 402: by the table, and by what earlier tasks came to. */
import { expect, it } from "vitest";
import { estimateCredits, estimateSeconds } from "../../src/contract/estimate.ts";
import type { CountingService } from "../support/counting-service.ts";
import { stageEach } from "../support/stage.ts";
import { type Driver, errorOf, textOf } from "../support/workplace.ts";

const TEXT = "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(8);

let service: CountingService;
let driver: Driver;

stageEach((stage) => {
  ({ service, driver } = stage);
  return () => driver;
});

/** Has some texts spoken, each half as long again as the table says. */
async function speak(count: number): Promise<void> {
  service.audioSeconds = estimateSeconds(TEXT) * 1.5;
  for (let number = 1; number <= count; number += 1) {
    await driver.call("generate_audio", { prompt: TEXT, take: number });
  }
}

async function toldCost(): Promise<number> {
  service.intercept = (exchange, response) => {
    if (exchange.kind !== "create") return false;
    service.refuse(response, 402, "insufficient_credits");
    return true;
  };
  const refused = await driver.call("generate_audio", { prompt: TEXT, file_name: "next", take: 99 });
  expect(errorOf(refused).code).toBe("insufficient_credits");
  const [, credits] = /this text would then cost about (\d+) of them/.exec(textOf(refused)) ?? [];
  return Number(credits);
}

it("follows the table while little is known", async () => {
  await speak(4);
  expect(await toldCost()).toBe(estimateCredits(TEXT));
});

it("follows what earlier texts came to, once there are some", async () => {
  await speak(5);
  expect(await toldCost()).toBe(estimateCredits(TEXT, 1 / 1.5));
  expect(await toldCost()).toBeGreaterThan(estimateCredits(TEXT));
});
