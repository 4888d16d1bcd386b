/** The states of a task: what each shows, how long it lasts, and how it ends. */
import { describe, expect, it, vi } from "vitest";
import { answeredTaskOf } from "../../contract/service-client.ts";
import { ManualSandboxClock } from "../manual-sandbox-clock.ts";
import { startTestSandbox } from "../test-sandbox.ts";

describe("a task", () => {
  it.each([
    [8, 10],
    [30, 38],
    [60, 75],
    [120, 150],
    [500, 150],
  ])("of %d seconds costs %d credits", async (seconds, credits) => {
    const { client, sandbox } = await startTestSandbox();
    const task = await client.finished((await client.created({ prompt: `[${seconds}s]` })).id);
    expect(task.billing).toEqual({
      reserved_credits: 150,
      charged_credits: credits,
      refunded_credits: 150 - credits,
    });
    expect(sandbox.balances()[0]).toMatchObject({ reserved: 0, charged: credits });
  });

  it.each([
    ["nothing in the prompt can be spoken", "[unspeakable]", "unreliable_duration"],
    ["the duration is not a number", "[NaNs]", "unreliable_duration"],
    ["the duration is nothing", "[0s]", "unreliable_duration"],
    ["the engine breaks", "[broken]", "generation_failed"],
  ])("fails and returns the whole reservation when %s", async (_, prompt, code) => {
    const { client, sandbox } = await startTestSandbox();
    const before = sandbox.balances();
    const task = await client.finished((await client.created({ prompt })).id);
    expect(task).toMatchObject({
      status: "failed",
      billing: { reserved_credits: 150, charged_credits: 0, refunded_credits: 150 },
      output: null,
      usage: null,
      error: { code },
    });
    // The message is the service's own and quotes none of the engine's errors.
    expect(task.error?.message).not.toMatch(/secret|engine/);
    expect(sandbox.balances()).toEqual(before);
  });

  it("fails when recovery has lasted sixty minutes", async () => {
    const clock = new ManualSandboxClock();
    const { client } = await startTestSandbox({ clock, processingSeconds: 0 });
    const { id } = await client.created({ prompt: "[hangs]" });
    await clock.advance(59 * 60_000);
    expect(answeredTaskOf(await client.query(id)).status).toBe("processing");
    await clock.advance(60_000);
    await vi.waitFor(async () => expect(answeredTaskOf(await client.query(id)).status).toBe("failed"));
    const task = answeredTaskOf(await client.query(id));
    expect(task).toMatchObject({ billing: { refunded_credits: 150 }, error: { code: "recovery_expired" } });
  });
});
