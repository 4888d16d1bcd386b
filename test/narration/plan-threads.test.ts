/** Texts that are planned in threads wait for each other, because each thread may take a gibibyte. */
import { expect, it } from "vitest";
import { planWithoutBlocking } from "../../src/narration/planning/thread/plan-without-blocking.ts";

it("more texts than threads are all planned, and a refused one releases its thread", async () => {
  const options = { settings: {}, voices: {}, pauseSeconds: 0.6, fileLayout: "one" } as const;
  const long = (name: string): string =>
    `${name} begins. ${"The river ran past the old mill. ".repeat(3500)}`;
  const texts = ["One", "Two", "Three", "Four"].map(long);
  const refused = planWithoutBlocking({ text: `${long("Five")}\uFFFD`, format: "plain" }, options);
  const plans = texts.map((text) => planWithoutBlocking({ text, format: "plain" }, options));
  await expect(refused).rejects.toThrow("U+FFFD");
  expect((await Promise.all(plans)).map(({ parts }) => parts[0]?.text.slice(0, 5))).toEqual([
    "One b",
    "Two b",
    "Three",
    "Four ",
  ]);
});
