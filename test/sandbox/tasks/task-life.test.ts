/** The states of a task: what each shows, how long it lasts, and how it ends. */
import { describe, expect, it, vi } from "vitest";
import { answeredTaskOf, SHORT_INPUT } from "../../contract/service-client.ts";
import { ManualSandboxClock } from "../manual-sandbox-clock.ts";
import { startTestSandbox } from "../test-sandbox.ts";

const OPEN_BILL = { reserved_credits: 150, charged_credits: null, refunded_credits: null };

describe("a task", () => {
  it("is queued, then processing, then succeeded, with nulls until the end", async () => {
    const clock = new ManualSandboxClock();
    const { client, sandbox } = await startTestSandbox({ clock, processingSeconds: 8 });
    const open = {
      object: "audio.generation",
      model: "audio-1.0",
      billing: OPEN_BILL,
      output: null,
      usage: null,
      error: null,
    };
    const { id } = await client.created({ prompt: "[8.2s]", output_format: "wav", sample_rate: 8000 });
    const queryTask = async () => answeredTaskOf(await client.query(id));
    await clock.advance(1999);
    expect(await queryTask()).toEqual({ ...open, id, status: "queued" });
    await clock.advance(1);
    expect(await queryTask()).toEqual({ ...open, id, status: "processing" });
    await clock.advance(5999);
    expect(await queryTask()).toEqual({ ...open, id, status: "processing" });
    await clock.advance(1);
    await vi.waitFor(async () => expect((await queryTask()).status).toBe("succeeded"));
    expect(await queryTask()).toEqual({
      ...open,
      id,
      status: "succeeded",
      billing: { reserved_credits: 150, charged_credits: 12, refunded_credits: 138 },
      output: {
        url: `${sandbox.baseUrl}/api/v1/audio/generations/${id}/content`,
        format: "wav",
        sample_rate: 8000,
        duration: 8.2,
      },
      usage: { audio_seconds: 8.2 },
    });
  });

  it.each([
    [0.01, 10],
    [8, 10],
    [9, 12],
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

  it("that failed is replayed as failed, and its content is 409", async () => {
    const { client, speech } = await startTestSandbox();
    const key = "failing";
    const { id } = await client.finished((await client.created({ prompt: "[broken]" }, { key })).id);
    expect(await client.created({ prompt: "[broken]" }, { key })).toMatchObject({ id, status: "failed" });
    expect((await client.content(id)).status).toBe(409);
    expect(speech.requests).toHaveLength(1);
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

  it("fails on demand, exactly as many tasks as requested", async () => {
    const { client, setFaults } = await startTestSandbox();
    expect(await setFaults({ fail_next_tasks: 2 })).toBe(204);
    const ends: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ends.push((await client.finished((await client.created(SHORT_INPUT)).id)).status);
    }
    expect(ends).toEqual(["failed", "failed", "succeeded"]);
  });
});
