/** The packed `.mcpb`, unzipped into an empty folder, on every supported Node: handshake, tools, and a generation. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { cachedNode, cachedTool } from "../../scripts/cached-packages.ts";
import { type RunningSandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startCommandClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "bundle");

const manifestSchema = z.object({
  server: z.object({
    mcp_config: z.object({ args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
  }),
});

let unpacked = "";
let sandbox: RunningSandbox;

beforeAll(async () => {
  unpacked = await mkdtemp(join(tmpdir(), "agm-bundle-"));
  const [name = ""] = readdirSync(FOLDER).filter((entry) => entry.endsWith(".mcpb"));
  execFileSync(process.execPath, [cachedTool("mcpb"), "unpack", join(FOLDER, name), unpacked]);
  sandbox = await startSandbox({ processingSeconds: 0.3, timeScale: 0.01 });
});
afterAll(async () => {
  await sandbox.stop();
  await rm(unpacked, { recursive: true, force: true });
});

it("the bundle has its SHA-256 beside it and in the registry's entry", () => {
  const [name = ""] = readdirSync(FOLDER).filter((entry) => entry.endsWith(".mcpb"));
  const sum = createHash("sha256")
    .update(readFileSync(join(FOLDER, name)))
    .digest("hex");
  expect(readFileSync(join(FOLDER, `${name}.sha256`), "utf8")).toBe(`${sum}  ${name}\n`);
  expect(readFileSync(join(FOLDER, "server.json"), "utf8")).toContain(`"fileSha256": "${sum}"`);
});

it.each(["22", "24", "26"])(
  "the bundle generates under Node %s, with every optional setting left as its placeholder",
  async (major) => {
    const testFolders: TestFolders = await createTestFolders();
    const { args, env } = manifestSchema.parse(
      JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8")),
    ).server.mcp_config;
    const filled = Object.entries(env).map(([name, value]) => {
      const given = {
        "${user_config.base_url}": sandbox.baseUrl,
        "${user_config.api_key}": sandbox.apiKey,
      };
      return [name, Object.entries(given).find(([placeholder]) => placeholder === value)?.[1] ?? value];
    });
    const client = await startCommandClient(
      {
        command: cachedNode(major),
        args: args.map((arg) => arg.replace(/^\$\{__dirname\}/, unpacked)),
        // Claude Desktop passes the user's home and the variables of the manifest. The short interval saves time.
        env: { HOME: testFolders.root, AUDIO_POLL_INTERVAL_SECONDS: "0.1", ...Object.fromEntries(filled) },
        cwd: testFolders.root,
      },
      "legacy",
    );
    expect(await client.tools()).toHaveLength(TOOLS.length);
    const task = await generate(client, { prompt: `From the bundle on Node ${major}` });
    expect(task.status).toBe("succeeded");
    expect(task.audio?.path.startsWith(join(testFolders.root, "audio-generation"))).toBe(true);
    expect(existsSync(task.audio?.path ?? "")).toBe(true);
    expect(client.stderr()).toBe("");
    await client.close();
    await testFolders.remove();
  },
);
