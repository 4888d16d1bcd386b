/**
 * Requests as clients in other languages write them: `null` counts as an absent value, and a message that is not a
 * request still gets an answer.
 */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { countVoices } from "../support/count-voices.ts";
import { NOT_LINUX, skipBecause } from "../support/skip-because.ts";
import { closeAfterEach, openFaultSetup, shareFaultSetup } from "./fault-setup.ts";
import type { RawServer } from "./raw-server.ts";

closeAfterEach();

const HANDSHAKE = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "x", version: "1" },
};

/** The metadata that each request of the protocol version 2026-07-28 has. */
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const nameless = z.object({ id: z.null(), error: z.object({ code: z.number(), message: z.string() }) });

/** Returns the errors of the answers that name no request, the oldest first. */
const namelessOf = ({ lines }: RawServer) =>
  lines.flatMap((line) => {
    const read = nameless.safeParse(JSON.parse(line));
    return read.success ? [read.data.error] : [];
  });

async function answerOf(server: RawServer, method: string, params: unknown) {
  const id = server.nextId();
  server.send({ jsonrpc: "2.0", id, method, params });
  return await server.answerTo(id, 5000);
}

describe("null in place of an absent member is read as absent", () => {
  const shared = shareFaultSetup();
  it.each<[string, string, unknown]>([
    ["_meta of a call", "tools/call", { name: "list_voices", arguments: {}, _meta: null }],
    ["progressToken", "tools/call", { name: "list_voices", arguments: {}, _meta: { progressToken: null } }],
    ["arguments of a call", "tools/call", { name: "list_voices", arguments: null }],
    ["an argument", "tools/call", { name: "list_voices", arguments: { language: null } }],
    ["params", "tools/list", null],
    ["_meta", "tools/list", { _meta: null }],
    ["cursor", "tools/list", { cursor: null }],
    ["an argument of a prompt", "prompts/get", { name: "read_aloud", arguments: { voice: null } }],
    ["params of a ping", "ping", null],
  ])("%s (%s)", async (_what, method, params) => {
    expect(await answerOf(shared().server, method, params)).toMatchObject({ result: {} });
  });

  it.each([
    ["_meta", { ...HANDSHAKE, _meta: null }],
    ["a capability", { ...HANDSHAKE, capabilities: { roots: null, sampling: null, experimental: null } }],
    ["a title", { ...HANDSHAKE, clientInfo: { name: "x", version: "1", title: null } }],
  ])("in a handshake: %s", async (_what, params) => {
    const setup = await openFaultSetup({ start: { isInitialized: false } });
    expect(await answerOf(setup.server, "initialize", params)).toMatchObject({ result: {} });
    setup.server.send({ jsonrpc: "2.0", method: "notifications/initialized", params: null });
    expect(await answerOf(setup.server, "tools/list", {})).toMatchObject({ result: {} });
  });

  it("a byte order mark before the first line is ignored", async () => {
    const { server } = await openFaultSetup({ start: { isInitialized: false } });
    const id = server.nextId();
    const line = JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params: HANDSHAKE });
    server.send(`\uFEFF${line}`);
    expect(await server.answerTo(id, 5000)).toMatchObject({ result: {} });
  });

  it("in the era of 2026-07-28", async () => {
    const { server } = await openFaultSetup({ start: { isInitialized: false } });
    const _meta = { ...ENVELOPE, progressToken: null, "io.modelcontextprotocol/logLevel": null };
    expect(await answerOf(server, "server/discover", { _meta })).toMatchObject({ result: {} });
    expect(await answerOf(server, "tools/list", { cursor: null, _meta })).toMatchObject({ result: {} });
    const call = { name: "list_voices", arguments: null, _meta };
    expect(await answerOf(server, "tools/call", call)).toMatchObject({ result: {} });
    // In this protocol version, every request needs its metadata, so `null` is an error here.
    for (const params of [null, { _meta: null }]) {
      expect(await answerOf(server, "tools/list", params)).toMatchObject({ error: { code: -32602 } });
    }
  });

  it("but a required value is reported as missing, in one sentence", async () => {
    const { error } = await answerOf(shared().server, "initialize", { ...HANDSHAKE, clientInfo: null });
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/clientInfo is required/) });
  });
});

describe("a message that is not a request", () => {
  const shared = shareFaultSetup();
  it.each<[string, Record<string, unknown>, RegExp]>([
    ["params of the wrong kind", { method: "tools/list", params: "all" }, /params must be an object/],
    ["a wrong _meta", { method: "tools/list", params: { _meta: 5 } }, /params\._meta must be an object/],
    [
      "a token of the wrong kind",
      { method: "tools/list", params: { _meta: { progressToken: {} } } },
      /progressToken must be a string or an integer/,
    ],
    ["no method", { params: {} }, /method must be a string/],
    ["another version", { jsonrpc: "1.0", method: "ping" }, /jsonrpc must be "2\.0"/],
    ["a stranger beside them", { method: "ping", extra: 1 }, /"extra"/],
  ])("is answered under its id: %s", async (_what, members, words) => {
    const { server } = shared();
    const id = server.nextId();
    server.send({ jsonrpc: "2.0", id, ...members });
    const { error } = await server.answerTo(id, 5000);
    expect(error).toMatchObject({ code: -32600, message: expect.stringMatching(words) });
  });

  it.each<[string, string, number, RegExp]>([
    ["a batch", '[{"jsonrpc":"2.0","id":8,"method":"ping"}]', -32600, /batches are not spoken/i],
    ["an empty batch", "[]", -32600, /batches are not spoken/i],
    ["no JSON", "Content-Length: 52", -32700, /not JSON/],
    ["a number", "5", -32600, /object/],
    ["no id that could be used", '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, /id must be/],
    ["nothing at all", "{}", -32600, /jsonrpc must be/],
  ])("is answered without an id: %s", async (_what, line, code, words) => {
    const { server } = shared();
    const before = namelessOf(server).length;
    server.send(line);
    await expect.poll(() => namelessOf(server).length, { timeout: 60_000 }).toBe(before + 1);
    expect(namelessOf(server).at(-1)).toMatchObject({ code, message: expect.stringMatching(words) });
  });

  it.each([
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":"all"}',
    '{"jsonrpc":"2.0","id":5,"result":7}',
    '{"jsonrpc":"2.0","id":5,"error":null}',
    " \t",
  ])("and needs no response is not answered: %s", async (line) => {
    const { server } = shared();
    const before = server.lines.length;
    server.send(line);
    await server.call("list_voices", { language: "pt" });
    expect(server.lines).toHaveLength(before + 1);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["text as arguments", { name: "list_voices", arguments: "x" }, "params.arguments must be an object"],
    ["a list as arguments", { name: "list_voices", arguments: [] }, "params.arguments must be an object"],
    ["a number as the name", { name: 5 }, "params.name must be a string"],
    ["no name", {}, "params.name is required"],
  ])("by its method's rules is reported in one plain sentence: %s", async (_what, params, words) => {
    const { error } = await answerOf(shared().server, "tools/call", params);
    expect(error).toMatchObject({ code: -32602, message: `Invalid tools/call request: ${words}.` });
  });
});

it("many lines that are not a request cause a few warnings, and the next request is answered", async () => {
  const setup = await openFaultSetup();
  const server = await setup.another({ AUDIO_LOG_LEVEL: "warn" });
  server.write("no JSON\n".repeat(20_000));
  expect((await server.call("list_voices", { language: "pt" })).structuredContent).toMatchObject({
    count: countVoices("pt"),
  });
  const warnings = server.stderr.trim().split("\n");
  expect(warnings).toHaveLength(5);
  for (const warning of warnings) expect(warning).toMatch(/^\S+Z audio-generation-mcp warn: .{20,250}$/);
  expect(warnings.at(-1)).toMatch(/debug/);
});

it(
  "many lines that are not a request do not fill the memory while nobody reads the answers",
  skipBecause(NOT_LINUX),
  async () => {
    const setup = await openFaultSetup();
    const server = await setup.another({ AUDIO_LOG_LEVEL: "warn" }, { isRead: false, isInitialized: false });
    const lines = "no JSON\n".repeat(300_000);
    await new Promise((resolve) => server.child.stdin.write(lines, resolve));
    await expect.poll(() => server.child.stdin.writableLength, { timeout: 60_000 }).toBe(0);
    const status = await readFile(`/proc/${server.child.pid}/status`, "utf8");
    // A server that kept the answers to all lines would need 40 MB more, and one that also copied them even more.
    expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(240_000);
  },
);
