/** The order of a submission's checks: each request breaks two rules, and the earlier rule answers. */
import { describe, expect, it } from "vitest";
import { expectError, SHORT_INPUT } from "../../contract/service-client.ts";
import { ManualSandboxClock } from "../manual-sandbox-clock.ts";
import { accountWith, startTestSandbox } from "../test-sandbox.ts";

const OVERSIZED = "x".repeat(33_000);
const once = { patient: false };
const pack = (credits: number) => ({ kind: "pack", credits }) as const;

describe("order of a creation's checks", () => {
  it("401 comes before 503, before 413, and before an unknown route", async () => {
    const { client, setFaults } = await startTestSandbox();
    await setFaults({ unavailable: "api_unavailable" });
    const apiKey = "sk-nobody";
    expectError(await client.create(SHORT_INPUT, { apiKey, body: OVERSIZED }), 401, "invalid_api_key");
    expectError(await client.send("GET", "/nowhere", { apiKey }), 401, "invalid_api_key");
    expectError(await client.send("POST", "/", { apiKey, body: OVERSIZED }), 401, "invalid_api_key");
  });

  it("503 comes before 413", async () => {
    const { client, setFaults } = await startTestSandbox();
    await setFaults({ unavailable: "temporarily_unavailable" });
    expectError(await client.create(undefined, { body: OVERSIZED }), 503, "temporarily_unavailable");
  });

  it("413 comes before every 400: no key, a bad key, a bad content type, no JSON", async () => {
    const { client } = await startTestSandbox();
    for (const options of [
      { key: null },
      { key: "a/b" },
      { headers: { "content-type": "text/plain" } },
      { headers: { "content-type": ";;" } },
      {},
    ]) {
      expectError(await client.create(undefined, { ...options, body: OVERSIZED }), 413, "request_too_large");
    }
  });

  it("400 comes before rate_limit, and does not count toward it", async () => {
    const { client } = await startTestSandbox({ timeScale: 1, clock: new ManualSandboxClock() });
    for (let count = 0; count < 20; count += 1) {
      expectError(await client.create({}, once), 400, "invalid_request");
    }
    for (let count = 0; count < 6; count += 1) {
      await client.created(SHORT_INPUT, { key: "one" });
    }
    expectError(await client.create({}, once), 400, "invalid_request");
    expectError(await client.create(SHORT_INPUT, { ...once, key: "one" }), 429, "rate_limit");
  });

  it("rate_limit comes before a replay and before idempotency_conflict", async () => {
    const { client } = await startTestSandbox({ timeScale: 1, clock: new ManualSandboxClock() });
    for (let count = 0; count < 6; count += 1) await client.created(SHORT_INPUT, { key: "one" });
    expectError(await client.create({ prompt: "other" }, { ...once, key: "one" }), 429, "rate_limit");
  });

  it("a replay needs neither access, nor credits, nor a slot; a conflict comes before 403", async () => {
    const clock = new ManualSandboxClock("2026-06-01T00:00:00Z");
    const { client, setFaults } = await startTestSandbox({
      clock,
      processingSeconds: 3600,
      accounts: accountWith({ ...pack(300), expires_at: "2026-06-01T00:05:00Z" }),
    });
    const first = await client.created(SHORT_INPUT, { key: "one" });
    await client.created(SHORT_INPUT, { key: "two" });
    await setFaults({ capacity_full: true });
    await clock.advance(300_000);
    expectError(await client.create(SHORT_INPUT), 403, "purchase_required");
    expect((await client.created(SHORT_INPUT, { key: "one" })).id).toBe(first.id);
    expectError(await client.create({ prompt: "other" }, { key: "one" }), 409, "idempotency_conflict");
  });

  it("403 comes before 402", async () => {
    const { client } = await startTestSandbox({ accounts: accountWith({ ...pack(10), state: "refunded" }) });
    expectError(await client.create(SHORT_INPUT), 403, "purchase_required");
  });

  it("402 comes before concurrency_limit", async () => {
    const { client } = await startTestSandbox({ processingSeconds: 3600, accounts: accountWith(pack(300)) });
    await client.created({ prompt: "one" });
    await client.created({ prompt: "two" });
    expectError(await client.create({ prompt: "three" }, once), 402, "insufficient_credits");
  });
});
