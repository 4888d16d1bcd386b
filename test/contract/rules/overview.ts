/** The rules about the service as a whole that no other file checks (docs/contract.md, Endpoints). */
import { expect } from "vitest";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import type { RuleBook } from "../rule-book.ts";
import { expectError, type ServiceClient, SHORT_INPUT } from "../service-client.ts";

export function overviewRules(book: RuleBook, client: ServiceClient): void {
  book.rule("1.1", "creates tasks with a voice, with audio references and with an image", async () => {
    await client.created({ prompt: "Hello.", voice: "sophie_en_zh" });
    await client.created({
      prompt: "Sound like @Audio1.",
      audio_references: ["https://example.com/reference.mp3"],
    });
    await client.created({ prompt: "Hello.", image_url: "https://example.com/picture.jpg" });
  });

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
