/** The wait that a next step names. */
import { expect, it } from "vitest";
import { chooseNextWait } from "../../src/tools/tool.ts";

it.each([
  ["a look of 1 s says nothing about what the client bears", 1, 45, 45],
  ["neither does no wait", 0, 45, 45],
  ["a shorter wait than usual may be what the client bears", 20, 45, 20],
  ["a longer wait is not repeated", 300, 45, 45],
  ["a client that has given up a call waits for less from then on", 2, 25, 25],
  ["a setting of 0 is no advice to poll", undefined, 0, 45],
])("%s", (_, waitSeconds, defaultWaitSeconds, named) => {
  expect(chooseNextWait(waitSeconds, { defaultWaitSeconds })).toBe(named);
});
