/** A download that has to wait for the limit of reads says so, and says it no more once it has begun. */
import { expect, it, onTestFinished } from "vitest";
import { startReadCooldown } from "../../src/ledger/read-limits.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { CALL, createFailingService, makeDeps, observedTask, requestOf } from "./request-setup.ts";

const succeeded = observedTask({
  taskId: "task-1",
  status: "succeeded",
  billing: { reserved_credits: 150, charged_credits: 10, refunded_credits: 140 },
  audioSeconds: 1,
});

it("a download that waits for a pause of reads to end names the pause", async () => {
  let hasBegun = false;
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async () => succeeded,
    openContent: (_taskId, _fromByte, signal) => {
      hasBegun = true;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  }));
  const { requests } = createRequests(deps);
  onTestFinished(() => requests.close());
  const look = async () => (await clock.until(requests.getTask("task-1", CALL))).activity;
  await startReadCooldown(deps.ledger, 60_000);
  const begun = await clock.until(requests.generate(requestOf("Downloaded later"), CALL));
  await clock.advance(12_000);
  expect(begun).toMatchObject({ status: "succeeded" });
  expect(await look()).toMatch(/cannot be asked for about \d+ s: it asked for a pause/);
  await clock.advance(60_000);
  expect(hasBegun).toBe(true);
  expect(await look()).toBeNull();
});
