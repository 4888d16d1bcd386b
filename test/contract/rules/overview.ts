/** The rules about the service as a whole, from a create to the download (docs/contract.md, Endpoints). */
import { expect } from "vitest";
import { RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import type { RuleBook } from "../rule-book.ts";
import { expectError, type ServiceClient, SHORT_INPUT } from "../service-client.ts";

export function overviewRules(book: RuleBook, client: ServiceClient): void {
  const { target } = client;

  book.rule("1.1", "creates a task from a text prompt alone", async () => {
    expect((await client.mainTask()).object).toBe("audio.generation");
  });

  book.rule("1.1", "creates tasks with a voice, with audio references and with an image", async () => {
    await client.created({ prompt: "Hello.", voice: "sophie_en_zh" });
    await client.created({
      prompt: "Sound like @Audio1.",
      audio_references: ["https://example.com/reference.mp3"],
    });
    await client.created({ prompt: "Hello.", image_url: "https://example.com/picture.jpg" });
  });

  book.rule(
    "1.2",
    "runs asynchronously: accepted unfinished, polled to its end, then downloaded",
    async () => {
      const accepted = await client.created({ prompt: "One more." });
      expect(["queued", "processing"]).toContain(accepted.status);
      expect((await client.finished(accepted.id)).status).toBe("succeeded");
      const download = await client.content(accepted.id);
      expect(download.status).toBe(200);
      expect(download.bytes.byteLength).toBeGreaterThan(0);
    },
  );

  book.ruleWith(
    target.giftOnlyKey,
    "a key of an account with gifts alone",
    "1.3",
    "gifted credits alone do not unlock access",
    async (apiKey) => expectError(await client.create(SHORT_INPUT, { apiKey }), 403, "purchase_required"),
  );

  book.rule(
    "1.4",
    "reserves credits at creation, charges by duration and returns the remainder",
    async () => {
      const { billing } = await client.mainTask();
      expect(billing.reserved_credits).toBe(RESERVED_CREDITS);
      expect((billing.charged_credits ?? 0) + (billing.refunded_credits ?? 0)).toBe(RESERVED_CREDITS);
    },
  );

  book.rule("1.5", "refuses a creation without an Idempotency-Key", async () => {
    expectError(await client.create(SHORT_INPUT, { key: null }), 400, "invalid_request");
  });

  book.ruleWith(
    target.secondKey,
    "a second key of the account",
    "1.6",
    "another active key of the account reads its tasks",
    async (apiKey) => {
      const { id } = await client.mainTask();
      expect((await client.query(id, { apiKey })).status).toBe(200);
    },
  );

  book.rule("1.7", "offers no cancellation", async () => {
    const { id } = await client.mainTask();
    expect((await client.send("DELETE", `${GENERATIONS_PATH}/${id}`)).status).toBeGreaterThanOrEqual(400);
    expect((await client.query(id)).status).toBe(200);
  });

  book.rule("1.7", "takes no client-defined callback", async () => {
    const input = { ...SHORT_INPUT, callback_url: "https://example.com/done" };
    expectError(await client.create(input), 400, "invalid_request");
  });
}
