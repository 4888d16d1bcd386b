/**
 * Requests that clients make on their own, in both eras: lists of resources and prompts, and completions. They have no
 * side effects. Their answers have cache hints.
 */
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { RawServer } from "../faults/raw-server.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { FakeService } from "../support/fake-service.ts";

const MODERN = "2026-07-28";

const service = openServiceEach();
const testFolders = openFoldersEach();

async function start(
  env: Record<string, string> = {},
  options: { isInitialized?: boolean; isConfigured?: boolean } = {},
): Promise<RawServer> {
  const { isInitialized = true, isConfigured = true } = options;
  const all = testFolders.env(isConfigured ? service : null, { ...FAST, ...env });
  const server = await RawServer.start(all, { isInitialized, isInProcess: true });
  onTestFinished(async () => void (await server.end()));
  return server;
}

const envelope = (name = "raw") => ({
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name, version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
});

const resourceList = z.object({
  resources: z.array(z.object({ uri: z.string(), name: z.string(), size: z.int(), title: z.string() })),
});
const listed = async (server: RawServer) =>
  resourceList.parse((await server.request("resources/list")).result).resources;

const completed = z.object({ completion: z.object({ values: z.array(z.string()) }) });

async function complete(server: RawServer, name: string, value: string): Promise<string[]> {
  const ref = { type: "ref/prompt", name: "retake" };
  const { result } = await server.request("completion/complete", { ref, argument: { name, value } });
  return completed.parse(result).completion.values;
}

describe("resources/list", () => {
  it("lists and reads the files of narrations, but not those of parts", async () => {
    const speaking = await FakeService.start({ audioBytes: 4 * 24_000 * 2, audioSeconds: 4 });
    const server = await RawServer.start(testFolders.env(speaking, FAST), { isInProcess: true });
    onTestFinished(async () => {
      await server.end();
      await speaking.stop();
    });
    const call = {
      text: "A narration of one line.",
      file_name: "told",
      output_format: "pcm",
      max_credits: 300,
    };
    expect(JSON.stringify(await server.call("narrate", call))).toContain("told.pcm");
    const resources = await listed(server);
    expect(resources).toMatchObject([{ name: "told.pcm", title: "A narration of one line." }]);
    const read = await server.request("resources/read", { uri: resources[0]?.uri });
    expect(read).toHaveProperty("result.contents");
  });

  it("lists the newest existing files with the addresses of the links", async () => {
    const server = await start({ AUDIO_RESOURCE_LINKS: "always" });
    const createResult = await server.call("generate_audio", { prompt: "Listed", file_name: "listed" });
    await server.call("generate_audio", { prompt: "Gone", file_name: "gone" });
    await rm(join(testFolders.outputDir, "gone.mp3"));
    const resources = await listed(server);
    const link = createResult.content.find(({ type }) => type === "resource_link");
    expect(resources).toEqual([{ uri: link?.uri, name: "listed.mp3", size: 20_000, title: "Listed" }]);
    const again = await start();
    expect(await listed(again)).toEqual(resources);
    const read = await again.request("resources/read", { uri: resources[0]?.uri });
    expect(read.error).toBeUndefined();
    expect(existsSync(fileURLToPath(resources[0]?.uri ?? ""))).toBe(true);
  });

  it("after a start creates no folder, resumes nothing and does not ask the service", async () => {
    const server = await start();
    expect(await listed(server)).toEqual([]);
    expect(existsSync(testFolders.outputDir)).toBe(false);
    expect(existsSync(join(testFolders.stateDir, "ledger.sqlite"))).toBe(false);
    service.processingMs = 60_000;
    await server.call("generate_audio", { prompt: "Left running", wait_seconds: 0 });
    await server.end();
    const exchangeCountBefore = service.exchanges.length;
    const successor = await start();
    expect(await listed(successor)).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(service.exchanges.length).toBe(exchangeCountBefore);
  });

  it("is empty without settings, with an unused PostgreSQL, and with a damaged ledger", async () => {
    expect(await listed(await start({}, { isConfigured: false }))).toEqual([]);
    expect(await listed(await start({ AUDIO_STORE_URL: "postgres://127.0.0.1:1" }))).toEqual([]);
    const server = await start();
    await server.call("list_tasks", {});
    await server.end();
    await writeFile(
      join(testFolders.stateDir, "ledger.sqlite"),
      "no database at all, but long enough to be read",
    );
    expect(await listed(await start())).toEqual([]);
  });
});

it("an unknown resource is an error with its address, as the protocol requires", async () => {
  const server = await start();
  const { error } = await server.request("resources/read", { uri: "audio://tasks/nobody/content" });
  // In both eras, the SDK sends the code -32602 for an unknown resource.
  expect(error).toMatchObject({
    code: -32602,
    message: expect.stringContaining("not_found"),
    data: { uri: "audio://tasks/nobody/content" },
  });
});

it("completion knows voices, languages and task ids", async () => {
  const server = await start();
  expect(await complete(server, "task_id", "")).toEqual([]);
  const createResult = await server.call("generate_audio", { prompt: "To be completed" });
  expect(await complete(server, "voice", "so")).toEqual(["sophie_en_zh"]);
  expect(await complete(server, "language", "p")).toEqual(["pt"]);
  expect(await complete(server, "task_id", "task-")).toEqual([createResult.structuredContent?.["task_id"]]);
  expect(await complete(server, "something", "x")).toEqual([]);
  const ref = { type: "ref/resource", uri: "audio://tasks/{task_id}/content" };
  const { result } = await server.request("completion/complete", {
    ref,
    argument: { name: "task_id", value: "" },
  });
  expect(completed.parse(result).completion.values).toHaveLength(1);
});

it("prompts are listed and refer to the text above; an unknown one is an error that names the known ones", async () => {
  const server = await start({}, { isConfigured: false });
  const { result } = await server.request("prompts/list");
  expect(result).toMatchObject({
    prompts: [{ name: "read_aloud" }, { name: "retake" }, { name: "audition_voices" }],
  });
  const params = { name: "read_aloud", arguments: { voice: "felix_zh" } };
  expect((await server.request("prompts/get", params)).result).toMatchObject({
    messages: [{ role: "user", content: { type: "text", text: expect.stringContaining("voice felix_zh") } }],
  });
  const { error } = await server.request("prompts/get", { name: "sing" });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("read_aloud, retake") });
});

it("cache hints make fixed lists public for an hour, and answers that name a folder private", async () => {
  const server = await start({}, { isInitialized: false });
  const _meta = envelope();
  const hour = 3_600_000;
  for (const method of ["tools/list", "prompts/list", "resources/templates/list"]) {
    const { result } = await server.request(method, { _meta });
    expect(result, method).toMatchObject({ ttlMs: hour, cacheScope: "public" });
  }
  const { result: discovery } = await server.request("server/discover", { _meta });
  expect(discovery).toMatchObject({ ttlMs: hour, cacheScope: "private" });
  const { result: files } = await server.request("resources/list", { _meta });
  expect(files).toMatchObject({ ttlMs: 0, cacheScope: "private" });
});

describe("resource links", () => {
  const typesOf = async (server: RawServer, meta?: Record<string, unknown>): Promise<string[]> => {
    const id = server.begin("generate_audio", { prompt: "Linked or not" }, meta);
    return (await server.outcomeOf(id)).content.map(({ type }) => type);
  };

  it("go only to clients that are known to show them", async () => {
    const auto = { AUDIO_RESOURCE_LINKS: "auto" };
    expect(await typesOf(await start(auto))).toEqual(["text"]);
    const modern = await start(auto, { isInitialized: false });
    expect(await typesOf(modern, envelope("@langchain/mcp-adapters"))).toEqual(["text"]);
    expect(await typesOf(modern, envelope("gemini-cli-mcp-client-audio"))).toEqual(["text", "resource_link"]);
    const legacy = await start(auto, { isInitialized: false });
    await legacy.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "Visual Studio Code", version: "1.107.0" },
    });
    expect(await typesOf(legacy)).toEqual(["text", "resource_link"]);
  });

  it("go to all clients or to none if the setting says so", async () => {
    expect(await typesOf(await start({ AUDIO_RESOURCE_LINKS: "always" }))).toEqual(["text", "resource_link"]);
    const modern = await start({ AUDIO_RESOURCE_LINKS: "never" }, { isInitialized: false });
    expect(await typesOf(modern, envelope("claude-ai"))).toEqual(["text"]);
  });
});
