/**
 * The protocol in both eras, and that stdout contains nothing else. Also tests that `dist` runs without the project's
 * other files, what an older Node answers, and the command line.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { SKILLS_EXTENSION } from "../../src/server/skills-extension.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { countVoices } from "../support/count-voices.ts";
import { findOldNode } from "../support/old-node.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { MAX_TOOL_LIST_BYTES } from "../support/tool-list-ceilings.ts";
import { withoutPlayer } from "../support/without-player.ts";

const response = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.number(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});

const listed = z.object({
  tools: z.array(z.looseObject({ _meta: z.record(z.string(), z.unknown()).optional() })),
});

/** A client without the SDK that keeps every line of stdout. */
class RawClient {
  readonly #child: ChildProcess;
  readonly lines: string[] = [];
  readonly #waiting = new Map<number, (message: z.infer<typeof response>) => void>();
  readonly exited: Promise<number | null>;

  constructor(bin: string, env: Record<string, string>) {
    this.#child = spawn(NODE, [bin], { env, stdio: ["pipe", "pipe", "ignore"] });
    this.exited = new Promise((resolve) => this.#child.once("exit", resolve));
    if (this.#child.stdout === null) throw new Error("stdout is not a pipe");
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.lines.push(line);
      const message = response.safeParse(JSON.parse(line));
      if (message.success) this.#waiting.get(message.data.id)?.(message.data);
    });
  }

  request(id: number, method: string, params: Record<string, unknown>): Promise<z.infer<typeof response>> {
    const answer = new Promise<z.infer<typeof response>>((resolve) => this.#waiting.set(id, resolve));
    this.send({ jsonrpc: "2.0", id, method, params });
    return answer;
  }

  send(message: unknown): void {
    this.#child.stdin?.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  }

  close(): void {
    this.#child.stdin?.end();
  }
}

const MODERN = "2026-07-28";
const envelope = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

let open: RawClient[] = [];
afterEach(async () => {
  for (const client of open) client.close();
  await Promise.all(open.map(({ exited }) => exited));
  open = [];
});

function start(env: Record<string, string>, bin = BIN): RawClient {
  const client = new RawClient(bin, env);
  open.push(client);
  return client;
}

describe("the handshake", () => {
  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
    "answers initialize of %s",
    async (version) => {
      const testFolders = await createTestFolders();
      const client = start(testFolders.env(null));
      const { result } = await client.request(1, "initialize", {
        protocolVersion: version,
        capabilities: {},
        clientInfo: { name: "raw", version: "1" },
      });
      expect(result).toMatchObject({
        protocolVersion: version,
        serverInfo: { name: "audio-generation-mcp" },
        capabilities: { tools: {}, resources: {} },
      });
      expect(result?.["instructions"]).toMatch(
        /^NOT SET UP YET: the user must set AUDIO_BASE_URL, AUDIO_API_KEY/,
      );
      client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      const tools = await client.request(2, "tools/list", {});
      expect(tools.result?.["tools"]).toHaveLength(TOOLS.length);
      const shown = withoutPlayer(listed.parse(tools.result).tools);
      expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(MAX_TOOL_LIST_BYTES);
      await testFolders.remove();
    },
  );

  it("shows where the server comes from", async () => {
    const testFolders = await createTestFolders();
    const client = start(testFolders.env(null));
    const { result } = await client.request(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    expect(result?.["serverInfo"]).toMatchObject({
      title: "Audio generation",
      description: expect.stringContaining("narration"),
      websiteUrl: expect.stringMatching(/^https:\/\/[^#]+$/),
      icons: [{ src: expect.stringMatching(/^https:.*\/assets\/icon\.png$/), mimeType: "image/png" }],
    });
    await testFolders.remove();
  });

  it.each([
    ["of 2025", {}],
    ["of 2026-07-28", { _meta: envelope }],
  ])("serves the skill of the plugins to clients %s", async (_era, meta) => {
    const testFolders = await createTestFolders();
    const client = start(testFolders.env(null));
    const isLegacy = !("_meta" in meta);
    const hello = isLegacy
      ? { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } }
      : meta;
    const { result } = await client.request(1, isLegacy ? "initialize" : "server/discover", hello);
    expect(result).toMatchObject({ capabilities: { extensions: { [SKILLS_EXTENSION]: {} } } });
    if (isLegacy) client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const uri = "skill://narration/SKILL.md";
    const text = readFileSync(join(import.meta.dirname, "..", "..", "skills/narration/SKILL.md"), "utf8");
    const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
    const size = Buffer.byteLength(text);
    const listed = await client.request(2, "skills/list", meta);
    const entry = { uri, frontmatter: { name: "narration" }, resources: [{ uri, digest, size }] };
    expect(listed.result).toMatchObject({ skills: [entry] });
    const got = await client.request(3, "skills/get", { ...meta, uri });
    expect(got.result).toMatchObject({ skill: entry });
    const read = await client.request(4, "resources/read", { ...meta, uri });
    expect(read.result).toMatchObject({ contents: [{ uri, mimeType: "text/markdown", text }] });
    for (const [id, method] of ["skills/get", "resources/read"].entries()) {
      const refused = await client.request(5 + id, method, { ...meta, uri: "skill://other/SKILL.md" });
      expect(refused.error?.message).toContain(`there is ${uri}`);
    }
    await testFolders.remove();
  });

  it("answers server/discover and lists tools in the era of 2026-07-28", async () => {
    const testFolders = await createTestFolders();
    const client = start(testFolders.env(null));
    const { result } = await client.request(1, "server/discover", { _meta: envelope });
    expect(result?.["supportedVersions"]).toContain(MODERN);
    expect(result).toHaveProperty("resultType");
    const tools = await client.request(2, "tools/list", { _meta: envelope });
    expect(tools.result?.["tools"]).toHaveLength(TOOLS.length);
    expect(tools.result).toMatchObject({ resultType: "complete", cacheScope: expect.any(String) });
    const voices = await client.request(3, "tools/call", {
      name: "list_voices",
      arguments: { language: "pt" },
      _meta: envelope,
    });
    expect(voices.result?.["structuredContent"]).toMatchObject({ count: countVoices("pt") });
    await testFolders.remove();
  });
});

describe("stdout", () => {
  it("contains only the protocol, for every call and every ending", async () => {
    const testFolders = await createTestFolders();
    const client = start(testFolders.env(null, { AUDIO_LOG_LEVEL: "debug", AUDIO_BASE_URL: "nonsense" }));
    await client.request(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    client.send("this is not JSON");
    client.send({ jsonrpc: "2.0", method: "notifications/unheard-of" });
    const calls = ["generate_audio", "get_task", "download_audio", "list_voices", "list_tasks"].map(
      (name, index) =>
        client.request(index + 2, "tools/call", { name, arguments: { task_id: "x", prompt: "x" } }),
    );
    await Promise.all(calls);
    client.close();
    expect(await client.exited).toBe(0);
    for (const line of client.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
    await testFolders.remove();
  });
});

describe("dist", () => {
  it("runs after being copied alone into an empty folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "agm-dist-"));
    await cp(join(BIN, ".."), folder, { recursive: true });
    const testFolders = await createTestFolders();
    const client = start(testFolders.env(null), join(folder, "main.js"));
    const { result } = await client.request(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
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
    client.close();
    await client.exited;
    await Promise.all([testFolders.remove(), rm(folder, { recursive: true })]);
  });

  it("has an entry for programs that exports the whole sandbox", () => {
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
});

describe("an older Node", () => {
  it("answers every request with an error that contains the sentence, because clients hide stderr", (context) => {
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
      const error = { code: -32603, message: expect.stringMatching(/needs Node\.js 22\.19 or newer/) };
      expect(answers).toEqual([
        { jsonrpc: "2.0", id: 1, error },
        { jsonrpc: "2.0", id: "two", error },
      ]);
    }
    expect(spawnSync(old, [BIN, "doctor"], { encoding: "utf8" })).toMatchObject({ status: 1, stdout: "" });
  });
});

describe("the command line", () => {
  const run = (...args: string[]) => spawnSync(NODE, [BIN, ...args], { encoding: "utf8" });

  it("prints help and version", () => {
    expect(run("--help")).toMatchObject({ status: 0, stderr: "" });
    expect(run("help")).toEqual(expect.objectContaining({ status: 0, stdout: run("--help").stdout }));
    expect(run("version")).toEqual(expect.objectContaining({ status: 0, stdout: run("--version").stdout }));
    expect(run("--help").stdout).toContain("doctor");
    expect(run("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    ["sandbox", "--help"],
    ["doctor", "--help"],
    ["help", "sandbox"],
    ["sandbox", "--port", "0", "--help"],
  ])("prints the help of the command that it is asked for: %s %s", (...args) => {
    const name = args[0] === "help" ? args[1] : args[0];
    const expected = expect.stringMatching(new RegExp(`^Usage: audio-generation-mcp ${name}.*--\\w+`, "s"));
    expect(run(...args)).toMatchObject({ status: 0, stderr: "", stdout: expected });
  });

  it("explains every option that it accepts, and names the nearest for one that it does not", () => {
    const help = run("narrate", "--help").stdout;
    for (const option of ["max-credits", "stop", "replace", "retake", "speaker", "voice", "multilingual"])
      expect(help).toMatch(new RegExp(`^  --${option}.*\\n      \\w`, "m"));
    expect(help).not.toContain("--edits");
    expect(run("narrate", "a.md", "--vioce", "x").stderr).toContain("--voice is one");
    expect(run("narrate", "a.md", "--credits", "1").stderr).toContain("--max-credits is one");
    expect(run("narate", "a.md").stderr).toContain("narrate is one");
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
  ])("answers bad usage in one sentence with exit 2: %s %s", (...args) => {
    const result = run(...args);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(/^audio-generation-mcp: .+\n$/);
  });

  it.each([
    ["doctor", "--sandbox"],
    ["tasks", "--sandbox"],
    ["--sandbox", "doctor"],
  ])("explains how to use the sandbox to a command with --sandbox: %s %s", (...args) => {
    const result = run(...args);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(/do not go together.*Run "sandbox".*AUDIO_BASE_URL and AUDIO_API_KEY.*\n$/);
    expect(result.stderr.trim().split("\n")).toHaveLength(1);
  });
});
