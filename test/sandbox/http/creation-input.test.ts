/** Bodies of submissions that the contract leaves open, and hostile bodies. */
import { ReadableStream } from "node:stream/web";
import { describe, expect, it } from "vitest";
import { FIELD_NAMES } from "../../../src/contract/request-fields.ts";
import { deriveVariation } from "../../../src/sandbox/tasks/speech-variation.ts";
import { answeredTaskOf, expectError, jsonOf, SHORT_INPUT } from "../../contract/service-client.ts";
import { startTestSandbox } from "../test-sandbox.ts";

describe("input of a creation", () => {
  it("refuses an explicit null for every field, and names the field", async () => {
    const { client } = await startTestSandbox();
    for (const field of FIELD_NAMES) {
      const answer = await client.create({ ...SHORT_INPUT, [field]: null });
      expectError(answer, 400, "invalid_request");
      expect(jsonOf(answer)).toMatchObject({ error: { message: expect.stringContaining(field) } });
    }
  });

  it("holds image URLs to the host rules of references", async () => {
    const { client } = await startTestSandbox();
    for (const image_url of ["https://127.1/a.jpg", "https://[::1]/a.jpg", "https://u:p@example.com/a.jpg"]) {
      expectError(await client.create({ ...SHORT_INPUT, image_url }), 400, "invalid_request");
    }
  });

  it.each([
    ["an own __proto__", '{"prompt":"hi","__proto__":{"voice":"x"}}'],
    ["a constructor field", '{"prompt":"hi","constructor":1}'],
    ["deep nesting", `{"prompt":"hi","audio_references":${"[".repeat(15_000)}${"]".repeat(15_000)}}`],
    ["half of a surrogate pair", '{"prompt":"\\ud83d"}'],
    ["a trailing comma", '{"prompt":"hi",}'],
    ["an empty body", ""],
  ])("refuses %s", async (_, body) => {
    const { client } = await startTestSandbox();
    expectError(await client.create(undefined, { body }), 400, "invalid_request");
  });

  it("refuses bytes that are not UTF-8, and compressed bodies", async () => {
    const { client } = await startTestSandbox();
    const latin1 = new Uint8Array(Buffer.from('{"prompt":"h\u00e9"}', "latin1"));
    expectError(await client.create(undefined, { body: latin1 }), 400, "invalid_request");
    const headers = { "content-encoding": "gzip" };
    expectError(await client.create(SHORT_INPUT, { headers }), 400, "invalid_request");
  });

  it("accepts the content type in any case and with parameters, and refuses similar ones", async () => {
    const { client } = await startTestSandbox();
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json;"]) {
      const headers = { "content-type": type };
      expect((await client.create(SHORT_INPUT, { headers, key: "same" })).status).toBe(202);
    }
    for (const type of ["application/jsonp", "application/problem+json", "text/json", ";", "application/*"]) {
      const headers = { "content-type": type };
      expectError(await client.create(SHORT_INPUT, { headers }), 400, "invalid_request");
    }
    const body = new Uint8Array(Buffer.from(JSON.stringify(SHORT_INPUT)));
    const untyped = await fetch(`${client.target.baseUrl}/api/v1/audio/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.target.apiKey}`, "idempotency-key": "k" },
      body,
    });
    expect(untyped.status).toBe(400);
  });

  it("answers 413 to bodies far over the limit, with and without a stated length, and keeps serving", async () => {
    const { client } = await startTestSandbox();
    const chunk = new Uint8Array(100_000);
    expectError(
      await client.create(undefined, { body: new Uint8Array(5_000_000) }),
      413,
      "request_too_large",
    );
    async function* megabyte() {
      for (let count = 0; count < 10; count += 1) yield chunk;
    }
    const chunked = await fetch(`${client.target.baseUrl}/api/v1/audio/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.target.apiKey}` },
      body: ReadableStream.from(megabyte()),
      duplex: "half",
    });
    expect(chunked.status).toBe(413);
    await client.created(SHORT_INPUT);
  });

  it("keeps line breaks, and passes the defaults of the contract to the speech engine", async () => {
    const { client, speech } = await startTestSandbox();
    const { id } = await client.created({ prompt: "a\n\r\n b " });
    await client.finished(id);
    expect(speech.requests).toEqual([
      {
        prompt: "a\n\r\n b ",
        voice: undefined,
        outputFormat: "mp3",
        sampleRate: 24000,
        speed: 1,
        volume: 1,
        pitch: 0,
        variation: deriveVariation(id),
      },
    ]);
  });

  it("recognises equal input despite its spelling, and different input by one field", async () => {
    const { client } = await startTestSandbox({ enforceLimits: false });
    const key = "spelling";
    const { id } = await client.created(
      { prompt: "hi", audio_references: ["https://a.example/1", "https://b.example/2"] },
      { key },
    );
    const same = [
      '{"audio_references":["https://a.example/1","https://b.example/2"],"prompt":"hi"}',
      '{ "prompt": "\\u0068i", "speed": 1.0, "pitch": -0, "audio_references":["https://a.example/1","https://b.example/2"] }',
    ];
    for (const body of same)
      expect(answeredTaskOf(await client.create(undefined, { key, body })).id).toBe(id);
    const otherInputs = [
      { prompt: "hi" },
      { prompt: "hi ", audio_references: ["https://a.example/1", "https://b.example/2"] },
      { prompt: "hi", audio_references: ["https://b.example/2", "https://a.example/1"] },
    ];
    for (const input of otherInputs) {
      expectError(await client.create(input, { key }), 409, "idempotency_conflict");
    }
  });
});
