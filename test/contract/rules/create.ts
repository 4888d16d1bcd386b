/** The rules about the headers, body size and idempotency of a create (docs/contract.md, Create and Idempotency). */
import { expect } from "vitest";
import { MAX_REQUEST_BODY_BYTES } from "../../../src/contract/service-limits.ts";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import type { RuleBook } from "../rule-book.ts";
import { answeredTaskOf, expectError, newKey, type ServiceClient, SHORT_INPUT } from "../service-client.ts";

const padded = (input: unknown, sizeBytes: number): string => JSON.stringify(input).padEnd(sizeBytes, " ");

export function createRules(book: RuleBook, client: ServiceClient): void {
  const { target } = client;

  book.rule("4.1 Idempotency-Key", "accepts 128 characters of the whole alphabet", async () => {
    const key = `${newKey()}.AZaz09._:-`.padEnd(128, "x");
    await client.created({ prompt: "Longest key." }, { key });
  });
  for (const [what, key] of [
    ["an empty key", ""],
    ["129 characters", "k".repeat(129)],
    ["characters outside the pattern", "key/with/slashes"],
    ["white space inside", "two words"],
  ] as const) {
    book.rule("4.1 Idempotency-Key", `refuses ${what}`, async () => {
      expectError(await client.create(SHORT_INPUT, { key }), 400, "invalid_request");
    });
  }
  book.rule("4.1 Content-Type", "refuses a body that is not said to be application/json", async () => {
    const headers = { "content-type": "text/plain" };
    expectError(await client.create(SHORT_INPUT, { headers }), 400, "invalid_request");
  });
  book.rule("4.1 Body", "accepts 32 KiB", async () => {
    await client.mainTask();
    const body = padded(SHORT_INPUT, MAX_REQUEST_BODY_BYTES);
    expect((await client.create(undefined, { body, key: client.mainKey })).status).toBe(202);
  });
  book.rule("4.1 Body", "more than 32 KiB is 413 request_too_large", async () => {
    const body = padded(SHORT_INPUT, MAX_REQUEST_BODY_BYTES + 1);
    expectError(await client.create(undefined, { body }), 413, "request_too_large");
  });
  book.rule("4.1 Success", "a creation and its replay are both 202 with the task", async () => {
    const key = newKey();
    const first = await client.create({ prompt: "Twice." }, { key });
    const second = await client.create({ prompt: "Twice." }, { key });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(answeredTaskOf(second).id).toBe(answeredTaskOf(first).id);
  });

  book.ruleWith(
    target.otherAccountKey,
    "a key of another account",
    "4.1.1",
    "the key is unique per account: another account's same key makes its own task",
    async (apiKey) => {
      const { id } = await client.mainTask();
      const answer = await client.create(SHORT_INPUT, { key: client.mainKey, apiKey });
      expect(answer.status).toBe(202);
      expect(answeredTaskOf(answer).id).not.toBe(id);
    },
  );
  book.ruleWith(
    target.secondKey,
    "a second key of the account",
    "4.1.1",
    "the key is the account's: its other API key replays the same task",
    async (apiKey) => {
      const { id } = await client.mainTask();
      expect(answeredTaskOf(await client.create(SHORT_INPUT, { key: client.mainKey, apiKey })).id).toBe(id);
    },
  );
  book.rule("4.1.2", "same key with identical normalized input returns the original task", async () => {
    const { id } = await client.mainTask();
    const spelledOut = {
      multilingual: false,
      pitch: 0,
      volume: 1,
      speed: 1,
      sample_rate: 24000,
      output_format: "mp3",
      audio_references: [],
      ...SHORT_INPUT,
      model: "audio-1.0",
    };
    expect((await client.created(SHORT_INPUT, { key: client.mainKey })).id).toBe(id);
    expect((await client.created(spelledOut, { key: client.mainKey })).id).toBe(id);
  });
  book.rule("4.1.3", "same key with different input is 409 idempotency_conflict", async () => {
    await client.mainTask();
    for (const input of [{ prompt: "Something else." }, { ...SHORT_INPUT, speed: 1.5 }]) {
      expectError(await client.create(input, { key: client.mainKey }), 409, "idempotency_conflict");
    }
  });
  book.rule("4.1.4", "a missing key is 400 invalid_request", async () => {
    expectError(await client.create(SHORT_INPUT, { key: null }), 400, "invalid_request");
  });
  book.rule("4.1.5", "after a lost answer the same key and body find the one task", async () => {
    const key = newKey();
    const lost = fetch(`${target.baseUrl}${GENERATIONS_PATH}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${target.apiKey}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify({ prompt: "Lost." }),
      signal: AbortSignal.timeout(10),
    });
    await lost.then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
    const retried = await client.created({ prompt: "Lost." }, { key });
    expect((await client.created({ prompt: "Lost." }, { key })).id).toBe(retried.id);
  });
}
