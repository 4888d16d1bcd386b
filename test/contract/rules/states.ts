/** The rules about states, transitions and billing (docs/contract.md, States and Billing). */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { AudioTask } from "../../../src/contract/audio-task.ts";
import { chargeForSeconds } from "../../../src/contract/billing.ts";
import type { RuleBook } from "../rule-book.ts";
import { answeredTaskOf, expectError, type ServiceClient, SHORT_INPUT } from "../service-client.ts";

const ORDER: Readonly<Record<AudioTask["status"], number>> = {
  queued: 0,
  processing: 1,
  succeeded: 2,
  failed: 2,
};

export function stateRules(book: RuleBook, client: ServiceClient): void {
  const { target } = client;

  book.rule("3 transitions", "a new task is queued with 150 credits reserved", async () => {
    const task = await client.created({ prompt: "A new one." });
    expect(task.status).toBe("queued");
    expect(task.billing.reserved_credits).toBe(150);
  });
  book.rule("3 transitions", "states only go forward, and a terminal one stays", async () => {
    let task = await client.created({ prompt: "Step by step." });
    while (ORDER[task.status] < ORDER.succeeded) {
      await sleep(target.pollIntervalMs);
      const next = answeredTaskOf(await client.query(task.id));
      expect(ORDER[next.status]).toBeGreaterThanOrEqual(ORDER[task.status]);
      task = next;
    }
    expect(answeredTaskOf(await client.query(task.id))).toEqual(task);
  });
  book.ruleWith(
    target.setFaults,
    "fault controls",
    "3 transitions",
    "a failed task says why and returns the full reservation",
    async (setFaults) => {
      await setFaults({ fail_next_tasks: 1 });
      const task = await client.finished((await client.created({ prompt: "This one fails." })).id);
      expect(task.status).toBe("failed");
      expect(task.error?.code).toBeTruthy();
      expect(task.billing.refunded_credits).toBe(150);
    },
  );

  book.unobservable("3.2", "recovery lasts up to 60 minutes, which no request can bring about");
  book.rule("3.3", "content is 409 not_ready while the audio is not ready", async (context) => {
    const { id } = await client.created({ prompt: "Not yet." });
    const answer = await client.content(id);
    if (answer.status === 200) context.skip("the audio was ready at once");
    expectError(answer, 409, "not_ready");
  });

  book.rule(
    "3 billing 1",
    "the charge is 75 credits a minute by started seconds, from 10 to 150",
    async () => {
      const { billing, usage } = await client.mainTask();
      const exact = Math.min(150, Math.max(10, 1.25 * Math.ceil(usage?.audio_seconds ?? 0)));
      expect(Math.abs((billing.charged_credits ?? 0) - exact)).toBeLessThan(1);
    },
  );
  book.rule("3 billing 2", "8, 30, 60 and 120 seconds cost 10, 38, 75 and 150 credits", () => {
    expect([8, 30, 60, 120].map(chargeForSeconds)).toEqual([10, 38, 75, 150]);
  });
  book.ruleWith(
    target.poorKey,
    "a key of an unlocked account with fewer than 150 credits",
    "3 billing 3",
    "creation with fewer than 150 credits is 402 insufficient_credits",
    async (apiKey) => expectError(await client.create(SHORT_INPUT, { apiKey }), 402, "insufficient_credits"),
  );
  book.ruleWith(
    target.refundedKey,
    "a key of an account whose only purchase was refunded",
    "3 billing 4",
    "a refunded or disputed purchase no longer unlocks",
    async (apiKey) => expectError(await client.create(SHORT_INPUT, { apiKey }), 403, "purchase_required"),
  );
  book.ruleWith(
    target.partlyRefundedKey,
    "a key of an account with a refunded purchase and a paid one",
    "3 billing 4",
    "other paid purchases still unlock",
    async (apiKey) => expect((await client.create(SHORT_INPUT, { apiKey })).status).toBe(202),
  );
  book.ruleWith(
    target.giftOnlyKey,
    "a key of an account with gifts alone",
    "3 billing 5",
    "creation without a paid pack or subscription is 403 purchase_required",
    async (apiKey) => expectError(await client.create(SHORT_INPUT, { apiKey }), 403, "purchase_required"),
  );
}
