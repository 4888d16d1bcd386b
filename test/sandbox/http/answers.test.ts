import { describe, expect, it } from "vitest";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import { expectError, jsonOf, SHORT_INPUT } from "../../contract/service-client.ts";
import { startTestSandbox } from "../test-sandbox.ts";

describe("answers", () => {
  it.each([
    ["GET", "/"],
    ["GET", GENERATIONS_PATH],
    ["GET", `${GENERATIONS_PATH}/`],
    ["DELETE", `${GENERATIONS_PATH}/aud_1`],
    ["PROPFIND", GENERATIONS_PATH],
    ["GET", "/sandbox/faults"],
    ["GET", `${GENERATIONS_PATH}/${"x".repeat(3000)}`],
    ["GET", `${GENERATIONS_PATH}/..%2f..%2fetc`],
    ["GET", `${GENERATIONS_PATH}/aud_1%00`],
  ])("%s %s is 404 not_found, and 401 without a key", async (method, path) => {
    const { client } = await startTestSandbox();
    expectError(await client.send(method, path), 404, "not_found");
    expectError(await client.send(method, path, { apiKey: null }), 401, "invalid_api_key");
  });

  it("hides an internal error from the client, and shows it to the operator", async () => {
    const faults: unknown[] = [];
    const { client, speech } = await startTestSandbox({ onInternalError: (error) => faults.push(error) });
    const task = await client.finished((await client.created({ prompt: "[broken]" })).id);
    expect(speech.requests).toHaveLength(1);
    expect(JSON.stringify(task)).not.toContain("/secret/path");
    expect(String(faults[0])).toContain("/secret/path");
  });
});

it("fault controls need no key, change only the named faults, and refuse unknown ones", async () => {
  const { client, setFaults } = await startTestSandbox();
  expect(await setFaults({ unavailable: "api_unavailable" })).toBe(204);
  expect(await setFaults({ capacity_full: true })).toBe(204);
  expectError(await client.query("aud_1"), 503, "api_unavailable");
  expect(await setFaults({ unavailable: null, capacity_full: false })).toBe(204);
  await client.created(SHORT_INPUT);
  for (const body of ["", "{", "[]", "null", { fail_next_tasks: -1 }, { fail_next_tasks: 1.5 }]) {
    expect(await setFaults(body)).toBe(400);
  }
  expect(await setFaults({ unavailable: "gone" })).toBe(400);
  expect(await setFaults({ capacity_full: "yes" })).toBe(400);
  expect(await setFaults({ capacity_full: true, more: 1 })).toBe(400);
  expect((await client.create({ prompt: "unchanged by a refused body" })).status).toBe(202);
});

it("fault controls stay reachable while the service is unavailable, and refuse web pages", async () => {
  const { client, setFaults } = await startTestSandbox();
  await setFaults({ unavailable: "temporarily_unavailable" });
  expect(await setFaults({ unavailable: null }, { origin: "https://evil.example" })).toBe(400);
  expect((await client.query("aud_1")).status).toBe(503);
  expect(await setFaults({ unavailable: null })).toBe(204);
  expect(jsonOf(await client.query("aud_1"))).toMatchObject({ error: { code: "not_found" } });
});
