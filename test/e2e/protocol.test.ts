/**
 * The protocol in both eras, and that stdout contains nothing else. Also tests that `dist` runs without the project's
 * other files, what an older Node answers, and the command line.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { SKILLS_EXTENSION } from "../../src/server/extensions.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { RawServer, type StartOptions } from "../faults/raw-server.ts";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { countVoices } from "../support/count-voices.ts";
import { findOldNode } from "../support/old-node.ts";
import { type EndedCommand, runCommand } from "../support/run-command.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { MAX_TOOL_LIST_BYTES } from "../support/tool-list-ceilings.ts";
import { withoutPlayer } from "../support/without-player.ts";

const listed = z.object({
  tools: z.array(z.looseObject({ _meta: z.record(z.string(), z.unknown()).optional() })),
});

const MODERN = "2026-07-28";
const envelope = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const hello = (protocolVersion = "2025-11-25") => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
});

async function start(env: Record<string, string> = {}, options: StartOptions = {}): Promise<RawServer> {
  const testFolders = await createTestFolders();
  const server = await RawServer.start(testFolders.env(null, env), { isInitialized: false, ...options });
  onTestFinished(async () => {
    await server.end();
    await testFolders.remove();
  });
  return server;
}

describe("the handshake", () => {
  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])("answers %s", async (version) => {
    const client = await start();
    const { result } = await client.request("initialize", hello(version));
    expect(result).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "audio-generation-mcp" },
      capabilities: { tools: {}, resources: {} },
    });
    expect(result?.["instructions"]).toMatch(
      /^NOT SET UP YET: the user must set AUDIO_BASE_URL, AUDIO_API_KEY/,
    );
    client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const tools = await client.request("tools/list", {});
    expect(tools.result?.["tools"]).toHaveLength(TOOLS.length);
    const shown = withoutPlayer(listed.parse(tools.result).tools);
    expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(MAX_TOOL_LIST_BYTES);
  });

  it("shows where the server comes from", async () => {
    const client = await start();
    const { result } = await client.request("initialize", hello());
    expect(result?.["serverInfo"]).toMatchObject({
      title: "Audio generation",
      description: expect.stringContaining("narration"),
      websiteUrl: expect.stringMatching(/^https:\/\/[^#]+$/),
      icons: [{ src: expect.stringMatching(/^https:.*\/assets\/icon\.png$/), mimeType: "image/png" }],
    });
  });

  it.each([
    ["of 2025", {}],
    ["of 2026-07-28", { _meta: envelope }],
  ])("serves the skill of the plugins to clients %s", async (_era, meta) => {
    const client = await start();
    const isLegacy = !("_meta" in meta);
    const { result } = isLegacy
      ? await client.request("initialize", hello())
      : await client.request("server/discover", meta);
    expect(result).toMatchObject({ capabilities: { extensions: { [SKILLS_EXTENSION]: {} } } });
    if (isLegacy) client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const uri = "skill://narration/SKILL.md";
    const text = readFileSync(join(import.meta.dirname, "..", "..", "skills/narration/SKILL.md"), "utf8");
    const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
    const size = Buffer.byteLength(text);
    const listed = await client.request("skills/list", meta);
    const entry = { uri, frontmatter: { name: "narration" }, resources: [{ uri, digest, size }] };
    expect(listed.result).toMatchObject({ skills: [entry] });
    const got = await client.request("skills/get", { ...meta, uri });
    expect(got.result).toMatchObject({ skill: entry });
    const read = await client.request("resources/read", { ...meta, uri });
    expect(read.result).toMatchObject({ contents: [{ uri, mimeType: "text/markdown", text }] });
    for (const method of ["skills/get", "resources/read"]) {
      const refused = await client.request(method, { ...meta, uri: "skill://other/SKILL.md" });
      expect(refused.error?.message).toContain(`there is ${uri}`);
    }
  });

  it("answers server/discover and lists tools in the era of 2026-07-28", async () => {
    const client = await start();
    const { result } = await client.request("server/discover", { _meta: envelope });
    expect(result?.["supportedVersions"]).toContain(MODERN);
    expect(result).toHaveProperty("resultType");
    const tools = await client.request("tools/list", { _meta: envelope });
    expect(tools.result?.["tools"]).toHaveLength(TOOLS.length);
    expect(tools.result).toMatchObject({ resultType: "complete", cacheScope: expect.any(String) });
    const voices = await client.request("tools/call", {
      name: "list_voices",
      arguments: { language: "pt" },
      _meta: envelope,
    });
    expect(voices.result?.["structuredContent"]).toMatchObject({ count: countVoices("pt") });
  });
});

it("stdout contains only the protocol, for every call and every ending", async () => {
  const client = await start({ AUDIO_LOG_LEVEL: "debug", AUDIO_BASE_URL: "nonsense" });
  await client.request("initialize", hello());
  client.send("this is not JSON");
  client.send({ jsonrpc: "2.0", method: "notifications/unheard-of" });
  const names = ["generate_audio", "get_task", "download_audio", "list_voices", "list_tasks"];
  await Promise.all(names.map((name) => client.call(name, { task_id: "x", prompt: "x" })));
  expect(await client.end()).toMatchObject({ code: 0 });
  for (const line of client.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
});

it("dist runs after being copied alone into an empty folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agm-dist-"));
  await cp(join(BIN, ".."), folder, { recursive: true });
  const client = await start({}, { bin: join(folder, "main.js") });
  const { result } = await client.request("initialize", hello());
  expect(result).toMatchObject({ serverInfo: { name: "audio-generation-mcp" } });
  const run = spawnSync(NODE, [join(folder, "main.js"), "sandbox"], { encoding: "utf8" });
  expect(run.status).toBe(1);
  expect(run.stderr).toMatch(
    /^audio-generation-mcp: the sandbox needs packages .*fastify.*npx -y audio-generation-mcp-sandbox/,
  );
  expect(run.stderr.trim().split("\n")).toHaveLength(1);
  const entry = JSON.stringify(pathToFileURL(join(folder, "sandbox.js")).href);
  const read = `import(${entry}).catch((error) => console.log(error.code, error.message))`;
  const imported = spawnSync(NODE, ["--input-type=module", "-e", read], { encoding: "utf8" });
  expect(imported.stdout).toBe(`undefined ${run.stderr.slice("audio-generation-mcp: ".length)}`);
  await client.end();
  await rm(folder, { recursive: true });
});

it("dist has an entry for programs that exports the whole sandbox", () => {
  const script = `
      const sandbox = await import(${JSON.stringify(pathToFileURL(join(BIN, "..", "sandbox.js")).href)});
      const { SandboxUsageError, startSandbox } = sandbox;
      const refused = await startSandbox({ port: -1 }).catch((error) => error instanceof SandboxUsageError);
      const { baseUrl, apiKey, stop } = await startSandbox({ processingSeconds: 0 });
      const at = baseUrl + "/api/v1/audio/generations";
      const headers = { authorization: "Bearer " + apiKey, "content-type": "application/json", "idempotency-key": "one" };
      const body = JSON.stringify({ model: "audio-1.0", prompt: "Hello" });
      let task = await (await fetch(at, { method: "POST", headers, body })).json();
      while (!["succeeded", "failed"].includes(task.status)) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        task = await (await fetch(at + "/" + task.id, { headers })).json();
      }
      await stop();
      console.log(JSON.stringify({ names: Object.keys(sandbox).sort(), refused, status: task.status }));
    `;
  const run = spawnSync(NODE, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(run.stderr).toBe("");
  expect(JSON.parse(run.stdout)).toEqual({
    names: ["SandboxUsageError", "startSandbox"],
    refused: true,
    status: "succeeded",
  });
});

it("an older Node answers every request with an error that contains the sentence, because clients hide stderr", (context) => {
  const old = findOldNode();
  if (old === null) return context.skip("no Node older than 22.19 is on the PATH");
  const lines = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: {} },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: "two", method: "tools/list" },
  ];
  const input = `${lines.map((line) => JSON.stringify(line)).join("\n")}\nno JSON\n`;
  for (const args of [[], ["--sandbox"]]) {
    const run = spawnSync(old, [BIN, ...args], { encoding: "utf8", input });
    expect(run.status).toBe(1);
    const answers = run.stdout
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    const error = {
      code: -32603,
      message: expect.stringMatching(
        /needs Node\.js 22\.19 or newer.*: start it with \S+node_modules\/\.bin\/node, or install/,
      ),
    };
    expect(answers).toEqual([
      { jsonrpc: "2.0", id: 1, error },
      { jsonrpc: "2.0", id: "two", error },
    ]);
  }
  expect(spawnSync(old, [BIN, "doctor"], { encoding: "utf8" })).toMatchObject({ status: 1, stdout: "" });
});

describe("the command line", () => {
  const run = async (...args: string[]): Promise<EndedCommand> => await runCommand(args, {});

  it("prints help and version", async () => {
    expect(await run("--help")).toMatchObject({ code: 0, stderr: "" });
    expect(await run("help")).toEqual(
      expect.objectContaining({ code: 0, stdout: (await run("--help")).stdout }),
    );
    expect(await run("version")).toEqual(
      expect.objectContaining({ code: 0, stdout: (await run("--version")).stdout }),
    );
    expect((await run("--help")).stdout).toContain("doctor");
    expect((await run("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    ["sandbox", "--help"],
    ["doctor", "--help"],
    ["help", "sandbox"],
    ["sandbox", "--port", "0", "--help"],
  ])("prints the help of the command that it is asked for: %s %s", async (...args) => {
    const name = args[0] === "help" ? args[1] : args[0];
    const expected = expect.stringMatching(new RegExp(`^Usage: audio-generation-mcp ${name}.*--\\w+`, "s"));
    expect(await run(...args)).toMatchObject({ code: 0, stderr: "", stdout: expected });
  });

  it("explains every option that it accepts, and names the nearest for one that it does not", async () => {
    const help = (await run("narrate", "--help")).stdout;
    for (const option of ["max-credits", "stop", "replace", "retake", "speaker", "voice", "multilingual"])
      expect(help).toMatch(new RegExp(`^  --${option}.*\\n      \\w`, "m"));
    expect(help).not.toContain("--edits");
    expect((await run("narrate", "a.md", "--vioce", "x")).stderr).toContain("--voice is one");
    expect((await run("narrate", "a.md", "--credits", "1")).stderr).toContain("--max-credits is one");
    expect((await run("narate", "a.md")).stderr).toContain("narrate is one");
  });

  it.each([
    ["--help", 0],
    ["--version", 0],
    ["doctor", 1],
    ["doctor --json", 1],
  ])("is silent if its output has no reader, and keeps its exit code: %s", async (line, code) => {
    const testFolders = await createTestFolders();
    const child = spawn(NODE, [BIN, ...line.split(" ")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: testFolders.env(null),
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += String(chunk);
    });
    child.stdout.destroy();
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(code);
    expect(stderr).toBe("");
    await testFolders.remove();
  });

  it.each([
    ["--nonsense"],
    ["play"],
    ["--sandbox", "extra"],
    ["help", "me"],
    ["sandbox", "--port", "99999"],
    ["doctor", "--yaml"],
    ["tasks", "all"],
  ])("answers bad usage in one sentence with exit 2: %s %s", async (...args) => {
    const result = await run(...args);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toMatch(/^audio-generation-mcp: .+\n$/);
  });

  it.each([
    ["doctor", "--sandbox"],
    ["tasks", "--sandbox"],
    ["--sandbox", "doctor"],
  ])("explains how to use the sandbox to a command with --sandbox: %s %s", async (...args) => {
    const result = await run(...args);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toMatch(/do not go together.*Run "sandbox".*AUDIO_BASE_URL and AUDIO_API_KEY.*\n$/);
    expect(result.stderr.trim().split("\n")).toHaveLength(1);
  });
});
