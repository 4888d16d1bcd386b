/** Which grants pay for a task, and which grants get the rest back, tested through the running sandbox. */
import { describe, expect, it } from "vitest";
import { expectError, SHORT_INPUT } from "../../contract/service-client.ts";
import { ManualSandboxClock } from "../manual-sandbox-clock.ts";
import { accountWith, startTestSandbox } from "../test-sandbox.ts";

const once = { patient: false };

describe("credits", () => {
  it("return to the grants they came from, even to an expired one", async () => {
    const clock = new ManualSandboxClock("2026-06-01T00:00:00Z");
    const { client, sandbox } = await startTestSandbox({
      clock,
      processingSeconds: 600,
      accounts: accountWith(
        { kind: "pack", credits: 200 },
        { kind: "gift", credits: 100, expires_at: "2026-06-01T00:01:00Z" },
      ),
    });
    const { id } = await client.created({ prompt: "[8s]" });
    expect(sandbox.balances()[0]).toMatchObject({ available: 150, reserved: 150 });
    // 100 came from the gift, 50 from the pack. The gift expires while the task runs.
    await clock.advance(600_000);
    const task = await client.finished(id);
    expect(task.billing.charged_credits).toBe(10);
    // The gift paid the charge of 10. Its other 90 credits were returned to it and expired with it. The pack got its 50
    // back.
    expect(sandbox.balances()[0]).toMatchObject({ available: 200, reserved: 0, charged: 10 });
  });

  it("from gifts can be spent once a paid pack unlocks the account, even an empty one", async () => {
    const { client } = await startTestSandbox({
      accounts: accountWith({ kind: "pack", credits: 0 }, { kind: "gift", credits: 150 }),
    });
    await client.created(SHORT_INPUT);
  });

  it("that are reserved cannot be reserved again", async () => {
    const { client } = await startTestSandbox({
      processingSeconds: 3600,
      accounts: accountWith({ kind: "pack", credits: 299 }),
    });
    await client.created({ prompt: "one" });
    expectError(await client.create({ prompt: "two" }, once), 402, "insufficient_credits");
  });

  it("from an ended period unlock nothing until the next is paid", async () => {
    const period = { kind: "subscription", credits: 1000 } as const;
    const ended = { ...period, expires_at: "2026-05-31T00:00:00Z" };
    const accounts = accountWith(ended, { kind: "gift", credits: 1000 });
    const clock = new ManualSandboxClock("2026-06-01T00:00:00Z");
    const before = await startTestSandbox({ clock, accounts });
    expectError(await before.client.create(SHORT_INPUT, once), 403, "purchase_required");
    const renewed = accountWith(ended, { kind: "gift", credits: 1000 }, period);
    const after = await startTestSandbox({ clock, accounts: renewed });
    await after.client.created(SHORT_INPUT);
  });

  it("belong to one account only", async () => {
    const { client, sandbox } = await startTestSandbox({
      accounts: {
        accounts: [
          { id: "a", keys: [{ key: "sk-a" }], grants: [{ kind: "pack", credits: 1000 }] },
          { id: "b", keys: [{ key: "sk-b" }], grants: [{ kind: "pack", credits: 1000 }] },
        ],
      },
    });
    await client.finished((await client.created({ prompt: "[60s]" })).id);
    expect(sandbox.balances()).toEqual([
      { accountId: "a", granted: 1000, available: 925, reserved: 0, charged: 75 },
      { accountId: "b", granted: 1000, available: 1000, reserved: 0, charged: 0 },
    ]);
  });
});
