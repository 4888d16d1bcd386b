/**
 * The answers to requests that are not in the contract: unknown paths and methods, odd ids and keys, fault controls.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import { expectError, jsonOf, SHORT_INPUT } from "../../contract/service-client.ts";
import { startTestSandbox } from "../test-sandbox.ts";

/** Sends raw bytes and returns the whole response. */
async function rawExchange(baseUrl: string, request: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(baseUrl).port) });
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    answer += text;
  });
  socket.write(request);
  await once(socket, "close");
  return answer;
}

describe("answers", () => {
  it.each([
    ["GET", "/"],
    ["GET", "/api/v1/audio"],
    ["GET", GENERATIONS_PATH],
    ["GET", `${GENERATIONS_PATH}/`],
    ["POST", `${GENERATIONS_PATH}/`],
    ["PUT", `${GENERATIONS_PATH}/aud_1`],
    ["DELETE", `${GENERATIONS_PATH}/aud_1`],
    ["POST", `${GENERATIONS_PATH}/aud_1/content`],
    ["OPTIONS", GENERATIONS_PATH],
    ["PROPFIND", GENERATIONS_PATH],
    ["GET", "/sandbox/faults"],
    ["GET", `${GENERATIONS_PATH}/aud_1/content/x`],
    ["GET", `${GENERATIONS_PATH}/${"x".repeat(3000)}`],
    ["GET", `${GENERATIONS_PATH}/..%2f..%2fetc`],
    ["GET", `${GENERATIONS_PATH}/aud_1%00`],
  ])("%s %s is 404 not_found, and 401 without a key", async (method, path) => {
    const { client } = await startTestSandbox();
    expectError(await client.send(method, path), 404, "not_found");
    expectError(await client.send(method, path, { apiKey: null }), 401, "invalid_api_key");
  });

  it("treats an id that is too long like any other: unavailable, counted, not found", async () => {
    const id = "x".repeat(3000);
    const { client, setFaults } = await startTestSandbox({ timeScale: 1 });
    const read = (path = "") => client.send("GET", `${GENERATIONS_PATH}/${id}${path}`, { patient: false });
    await setFaults({ unavailable: "temporarily_unavailable" });
    expectError(await read(), 503, "temporarily_unavailable");
    await setFaults({ unavailable: null });
    for (let count = 0; count < 30; count += 1) {
      expectError(await read(), 404, "not_found");
      expectError(await read("/content"), 404, "not_found");
    }
    expectError(await read(), 429, "rate_limit");
  });

  it("refuses an Idempotency-Key that is sent twice", async () => {
    const { sandbox } = await startTestSandbox();
    const body = JSON.stringify(SHORT_INPUT);
    const answer = await rawExchange(
      sandbox.baseUrl,
      `POST ${GENERATIONS_PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${sandbox.apiKey}\r\n` +
        "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Type: application/json\r\n" +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("accepts the bearer scheme in any case, and a key in no other place", async () => {
    const { client, sandbox } = await startTestSandbox();
    const at = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await client.send("GET", path, { apiKey: null, headers })).status;
    const path = `${GENERATIONS_PATH}/aud_1`;
    const key = sandbox.apiKey;
    expect(await at(path, { authorization: `bearer ${key}` })).toBe(404);
    for (const authorization of [
      key,
      `Bearer${key}`,
      `Token ${key}`,
      "Bearer",
      `Bearer ${key} x`,
      `Bearer ${key}x`,
    ]) {
      expect(await at(path, { authorization })).toBe(401);
    }
    expect(await at(`${path}?api_key=${key}&access_token=${key}`, {})).toBe(401);
    expect(await at(path, { "x-api-key": key })).toBe(401);
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

describe("a client that hangs up during a body", () => {
  it("is not a fault of the sandbox", async () => {
    const faults: unknown[] = [];
    const { client, sandbox } = await startTestSandbox({ onInternalError: (error) => faults.push(error) });
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(sandbox.baseUrl).port) });
    socket.write(
      `POST ${GENERATIONS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sandbox.apiKey}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"prompt"',
    );
    // The answer to this later request proves that the sandbox has read the head of the first request, and is waiting
    // for the first request's body.
    await client.query("aud_1");
    socket.destroy();
    await once(socket, "close");
    await client.query("aud_1");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(faults).toEqual([]);
  });
});

describe("fault controls", () => {
  it("need no key, change only the named faults, and refuse unknown ones", async () => {
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

  it("stay reachable while the service is unavailable, and refuse web pages", async () => {
    const { client, setFaults } = await startTestSandbox();
    await setFaults({ unavailable: "temporarily_unavailable" });
    expect(await setFaults({ unavailable: null }, { origin: "https://evil.example" })).toBe(400);
    expect((await client.query("aud_1")).status).toBe(503);
    expect(await setFaults({ unavailable: null })).toBe(204);
    expect(jsonOf(await client.query("aud_1"))).toMatchObject({ error: { code: "not_found" } });
  });

  it("answer 429 with the contract's header while capacity is full", async () => {
    const { client, setFaults } = await startTestSandbox();
    await setFaults({ capacity_full: true });
    const answer = await client.create(SHORT_INPUT, { patient: false });
    expectError(answer, 429, "concurrency_limit");
    expect(answer.headers.get("retry-after")).toBe("60");
  });
});
