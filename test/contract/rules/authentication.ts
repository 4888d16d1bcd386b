/** The rules about authentication (docs/contract.md, Authentication). */
import { expect } from "vitest";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import type { RuleBook } from "../rule-book.ts";
import {
  type Answer,
  expectError,
  type RequestOptions,
  type ServiceClient,
  SHORT_INPUT,
} from "../service-client.ts";

export function authenticationRules(book: RuleBook, client: ServiceClient): void {
  const { target } = client;
  const everyEndpoint = async (options: RequestOptions): Promise<Answer[]> => {
    const { id } = await client.mainTask();
    return [
      await client.create(SHORT_INPUT, { ...options, key: client.mainKey }),
      await client.query(id, options),
      await client.content(id, options),
    ];
  };
  const expectRefused = async (options: RequestOptions): Promise<void> => {
    for (const answer of await everyEndpoint(options)) expectError(answer, 401, "invalid_api_key");
    const { id } = await client.mainTask();
    expect((await client.content(id, { ...options, method: "HEAD" })).status).toBe(401);
  };

  book.rule("5.1", "every endpoint answers an active bearer key", async () => {
    const answers = await everyEndpoint({});
    expect(answers.map((answer) => answer.status)).toEqual([202, 200, 200]);
  });
  book.ruleWith(
    target.secondKey,
    "a second key of the account",
    "5.2",
    "any other active key of the account queries and downloads its tasks",
    async (apiKey) => {
      const { id } = await client.mainTask();
      expect((await client.query(id, { apiKey })).status).toBe(200);
      expect((await client.content(id, { apiKey })).status).toBe(200);
    },
  );
  book.rule("5.3", "a missing key is 401 invalid_api_key on every endpoint", async () => {
    await expectRefused({ apiKey: null });
  });
  book.rule("5.3", "an invalid key is 401 invalid_api_key on every endpoint", async () => {
    await expectRefused({ apiKey: "sk-nobody" });
  });
  book.rule("5.3", "a key under another scheme is 401 invalid_api_key", async () => {
    await expectRefused({ apiKey: null, headers: { authorization: "Basic c2stbm9ib2R5Og==" } });
  });
  book.ruleWith(
    target.revokedKey,
    "a revoked key",
    "5.3",
    "a revoked key is 401 invalid_api_key on every endpoint",
    async (apiKey) => expectRefused({ apiKey }),
  );
  book.rule("5.4", "no URL that the service gives holds the key", async () => {
    const { id } = await client.mainTask();
    for (const answer of [
      await client.query(id),
      await client.create(SHORT_INPUT, { key: client.mainKey }),
    ]) {
      expect(new TextDecoder().decode(answer.bytes)).not.toContain(target.apiKey);
    }
  });
  book.rule("5.5", "a site session is not API authentication", async () => {
    const { id } = await client.mainTask();
    const answer = await client.send("GET", `${GENERATIONS_PATH}/${id}`, {
      apiKey: null,
      headers: { cookie: "session=abc" },
    });
    expectError(answer, 401, "invalid_api_key");
  });
  book.unobservable("5.6", "how keys are issued and revoked is not shown");
}
