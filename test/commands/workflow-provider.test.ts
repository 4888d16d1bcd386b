/** Concurrent first uses of the workflow. */
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import type { composeWorkflow, Workflow } from "../../src/commands/compose.ts";
import { WorkflowProvider } from "../../src/commands/workflow-provider.ts";
import { UNUSED_REQUESTS } from "../support/unused-requests.ts";

const ENV = {
  AUDIO_BASE_URL: "http://127.0.0.1:9",
  AUDIO_API_KEY: "k",
  AUDIO_OUTPUT_DIR: tmpdir(),
  AUDIO_STATE_DIR: tmpdir(),
};

/** Returns a stand-in for a workflow. The tests check only its identity and that it is closed. */
function workflow(onClose: () => void): Workflow {
  const failIfCalled = (): never => {
    throw new Error("not asked for");
  };
  const requests = { ...UNUSED_REQUESTS };
  return {
    requests,
    narrations: failIfCalled,
    get ledger(): never {
      return failIfCalled();
    },
    close: async () => onClose(),
  };
}

const createProvider = (compose: typeof composeWorkflow): WorkflowProvider =>
  new WorkflowProvider(ENV, false, () => undefined, compose);

it("calls that get the same failed start share one new start", async () => {
  let starts = 0;
  let closed = 0;
  const provider = createProvider(async () => {
    starts += 1;
    const isFirst = starts === 1;
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (isFirst) throw new Error("the store is away");
    return workflow(() => {
      closed += 1;
    });
  });
  // Each caller tries again as soon as it gets the failure.
  const asking = Array.from({ length: 5 }, () => provider.requests().catch(() => provider.requests()));
  const got = await Promise.all(asking);
  expect(new Set(got).size).toBe(1);
  expect(starts).toBe(2);
  await provider.close();
  expect(closed).toBe(1);
});

it("a failed start is reported to every waiting call, and the next call tries again", async () => {
  let starts = 0;
  const provider = createProvider(async () => {
    starts += 1;
    if (starts === 1) throw new Error("the store is away");
    return workflow(() => undefined);
  });
  const waiting = await Promise.allSettled([provider.requests(), provider.requests()]);
  expect(waiting.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await provider.requests();
  expect(starts).toBe(2);
});
