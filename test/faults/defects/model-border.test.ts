/** Clients that behave in unusual ways, and what their users and models see. */
import { describe, expect, it } from "vitest";
import { VOICE_IDS } from "../../../src/contract/voices.ts";
import { buildText, PART_BYTES } from "../../narration/narrator.ts";
import { generate, resultTextOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";

closeAfterEach();

const spoken = { audioBytes: PART_BYTES, audioSeconds: 4 };

/** Starts a server whose client gives this name in the handshake. */
async function initializedBy(
  setup: FaultSetup,
  name: string,
  capabilities: unknown = {},
): Promise<RawServer> {
  const server = await setup.another({}, { isInitialized: false });
  const clientInfo = { name, version: "1.0.0" };
  await server.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
  server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return server;
}

describe("a client that declares that it can ask its user", () => {
  const forms = { elicitation: { form: {} } };
  const plan = { text: buildText("One", "Two"), output_format: "pcm" };

  it("and never does, gets the plan at the end of the call's wait", async () => {
    const setup = await openFaultSetup({ service: spoken });
    const server = await initializedBy(setup, "never-answers", forms);
    const outcome = await server.call("narrate", { ...plan, wait_seconds: 5 });
    expect(outcome.structuredContent).toMatchObject({ status: "planned" });
    expect(resultTextOf(outcome)).toMatch(
      /a ceiling .*: about \d+ are charged; each part holds 150 until it ends/,
    );
    expect(server.lines.join("\n")).toContain("elicitation/create");
    expect(setup.service.exchanges).toEqual([]);
  });

  it("is not asked by a call that does not wait", async () => {
    const setup = await openFaultSetup({ service: spoken });
    const server = await initializedBy(setup, "never-answers", forms);
    const outcome = await server.call("narrate", { ...plan, wait_seconds: 0 });
    expect(outcome.structuredContent).toMatchObject({ status: "planned" });
    expect(server.lines.join("\n")).not.toContain("elicitation/create");
  });
});

describe("a line that nests 200,000 deep", () => {
  const deep = (open: string, close: string): string => open.repeat(200_000) + close.repeat(200_000);
  it.each([
    ["in an answer", `{"jsonrpc":"2.0","id":77,"result":${deep('{"a":[', "]}").replace("[]", "[0]")}}`],
    ["in a fault", `{"jsonrpc":"2.0","id":77,"error":${deep("[", "]")}}`],
    ["in a notification", `{"jsonrpc":"2.0","method":"notifications/x","params":{"a":${deep("[", "]")}}}`],
    [
      "in arguments",
      `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"list_voices","arguments":{"query":${deep("[", "]")}}}}`,
    ],
  ])("%s is refused like other invalid lines, and the server continues", async (_where, line) => {
    const { server } = await openFaultSetup();
    server.send(line);
    expect((await server.call("list_voices", {})).structuredContent).toMatchObject({
      count: VOICE_IDS.length,
    });
    const refusal = server.answers.get(77)?.error?.message;
    if (line.includes("tools/call"))
      expect(refusal).toMatch(/nests lists and objects at more than 100 levels/);
    await expect.poll(() => server.stderr).toMatch(/nests lists and objects at more than 100 levels/);
  });

  it("in a string does not count as nesting", async () => {
    const { server } = await openFaultSetup();
    const outcome = await server.call("list_tasks", { query: `"\\${"[{".repeat(50)}\\"` });
    expect(outcome.isError).not.toBe(true);
  });
});

describe("audio that a call requests", () => {
  const createdTask = async (server: RawServer) => {
    const { task_id } = await generate(server, { prompt: "Bytes in a result" });
    return await server.call("download_audio", { task_id, deliver: "both" });
  };

  it.each(["@cline/core", "strands-agents-ts-sdk", "mcp-use", "MCPClient", "mcp-use (via a bridge 1.0)"])(
    "is omitted, with the reason, for %s, which would put it into the context",
    async (name) => {
      const setup = await openFaultSetup({ service: { audioBytes: 600 } });
      const outcome = await createdTask(await initializedBy(setup, name));
      expect(outcome.content.map(({ type }) => type)).not.toContain("audio");
      expect(resultTextOf(outcome)).toMatch(/^Saved .*\/out\/.*because this client would put its bytes/s);
      expect(outcome.structuredContent).toMatchObject({ message: expect.stringContaining("this client") });
    },
  );

  it.each([
    [256 * 1024, true],
    [256 * 1024 + 1, false],
  ])("of %d bytes is sent to other clients: %s", async (audioBytes, isThere) => {
    const setup = await openFaultSetup({ service: { audioBytes } });
    const outcome = await createdTask(await initializedBy(setup, "another"));
    expect(outcome.content.some(({ type }) => type === "audio")).toBe(isThere);
    if (!isThere)
      expect(resultTextOf(outcome)).toMatch(/it has 262145 bytes, and at most 262144 go into one/);
    expect(outcome.isError).not.toBe(true);
  });
});
