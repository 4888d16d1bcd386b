/** Downloads: cases that the contract leaves open, the limit of reads, and clients that hang up. */
import { describe, expect, it } from "vitest";
import { expectError, jsonOf, SHORT_INPUT } from "../../contract/service-client.ts";
import { startTestSandbox, type TestSandbox } from "../test-sandbox.ts";

async function finishedTask({ client }: TestSandbox): Promise<string> {
  return (await client.finished((await client.created(SHORT_INPUT)).id)).id;
}

describe("content", () => {
  it("with an empty suffix is 416, and with an unknown unit the whole", async () => {
    const testSandbox = await startTestSandbox();
    const id = await finishedTask(testSandbox);
    const nothing = await testSandbox.client.content(id, { headers: { range: "bytes=-0" } });
    expect([nothing.status, nothing.headers.get("content-range")]).toEqual([416, "bytes */1000"]);
    expect(jsonOf(nothing)).toMatchObject({ error: { code: "range_not_satisfiable" } });
    const whole = await testSandbox.client.content(id, { headers: { range: "items=0-5" } });
    expect([whole.status, whole.bytes.byteLength]).toEqual([200, 1000]);
  });

  it("answers HEAD with what GET would answer, ranges included, without the body", async () => {
    const testSandbox = await startTestSandbox();
    const id = await finishedTask(testSandbox);
    for (const headers of [{}, { range: "bytes=0-9" }, { range: "bytes=5000-" }]) {
      const get = await testSandbox.client.content(id, { headers });
      const head = await testSandbox.client.content(id, { headers, method: "HEAD" });
      expect(head.status).toBe(get.status);
      expect(head.bytes.byteLength).toBe(0);
      for (const name of ["content-length", "content-range", "content-type", "cache-control"]) {
        expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
      }
    }
    const missing = await testSandbox.client.content("aud_none", { method: "HEAD" });
    expect([missing.status, missing.bytes.byteLength]).toEqual([404, 0]);
  });

  it("ignores a range under If-Range, because it sends no validator that could match", async () => {
    const testSandbox = await startTestSandbox();
    const id = await finishedTask(testSandbox);
    const headers = { range: "bytes=0-9", "if-range": '"etag"' };
    expect((await testSandbox.client.content(id, { headers })).status).toBe(200);
  });

  it("is 404 for another account before it is 409 or 416", async () => {
    const testSandbox = await startTestSandbox({
      processingSeconds: 3600,
      accounts: {
        accounts: [
          { id: "a", keys: [{ key: "sk-a" }], grants: [{ kind: "pack", credits: 1000 }] },
          { id: "b", keys: [{ key: "sk-b" }] },
        ],
      },
    });
    const { id } = await testSandbox.client.created(SHORT_INPUT);
    const headers = { range: "bytes=9-5" };
    expectError(await testSandbox.client.content(id, { apiKey: "sk-b", headers }), 404, "not_found");
    expectError(await testSandbox.client.content(id, { headers }), 409, "not_ready");
  });

  it("counts HEAD, GET, queries and misses toward the sixty", async () => {
    const testSandbox = await startTestSandbox({ timeScale: 1 });
    const id = "aud_none";
    for (let count = 0; count < 15; count += 1) {
      await testSandbox.client.content(id, { method: "HEAD", patient: false });
      await testSandbox.client.content(id, { patient: false });
      await testSandbox.client.query(id, { patient: false });
      await testSandbox.client.query("x".repeat(400), { patient: false });
    }
    expectError(await testSandbox.client.query(id, { patient: false }), 429, "rate_limit");
    const head = await testSandbox.client.content(id, { method: "HEAD", patient: false });
    expect([head.status, head.headers.get("retry-after")]).toEqual([429, "60"]);
  });

  it("survives clients that hang up", async () => {
    const testSandbox = await startTestSandbox({ enforceLimits: false });
    const id = await finishedTask(testSandbox);
    const url = `${testSandbox.sandbox.baseUrl}/api/v1/audio/generations/${id}/content`;
    const headers = { authorization: `Bearer ${testSandbox.sandbox.apiKey}` };
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const hangUp = new AbortController();
        const reading = fetch(url, { headers, signal: hangUp.signal });
        setTimeout(() => hangUp.abort(), index % 5);
        await reading.then((response) => response.arrayBuffer()).catch(() => undefined);
      }),
    );
    expect((await testSandbox.client.content(id)).bytes.byteLength).toBe(1000);
  });
});
