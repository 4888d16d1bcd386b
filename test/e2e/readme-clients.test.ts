/** Starts servers as the documents' client blocks say. Only the path, the address and the key are filled in. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TOOLS } from "../../src/tools/catalog.ts";
import { FAST, NODE } from "../support/bin-under-test.ts";
import { blockOf, fillIn } from "../support/client-blocks.ts";
import { openFoldersAll, openServiceAll } from "../support/e2e-setup.ts";
import { startCommandClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

const entrySchema = z.looseObject({
  command: z.string(),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
});
type Entry = z.infer<typeof entrySchema>;

/** Returns `entry` of a configuration of the form `{ [key]: { "audio-generation": entry } }`. */
const serverUnder = (key: string, config: unknown): Entry =>
  z.record(z.literal(key), z.record(z.literal("audio-generation"), entrySchema)).parse(config)[key]?.[
    "audio-generation"
  ] ?? { command: "", args: [], env: {} };

const service = openServiceAll();
const testFolders = openFoldersAll();

const filled = (client: string, language: string, which = 0): string =>
  fillIn(blockOf(client, language, which), ROOT, service);

/** Returns the variables that a client adds to those of its block: home and PATH, and here the folders of this test. */
const surroundings = (): Record<string, string> => ({
  ...testFolders.env(null, FAST),
  PATH: `${dirname(NODE)}${delimiter}${process.env["PATH"] ?? ""}`,
});

/** The options of `mcp add` that are followed by a value. */
const WITH_VALUE = ["--env", "-e", "--scope", "-s"];

/** Runs a client's `mcp add` block with a fake program, and parses the arguments as the real program does. */
async function addedEntry(client: string, program: string): Promise<Entry> {
  const folder = join(testFolders.root, "fake-bin");
  const record = join(folder, "args");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, program), `#!/bin/sh\nprintf '%s\\n' "$@" > '${record}'\n`);
  await chmod(join(folder, program), 0o755);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` };
  execFileSync("sh", ["-c", filled(client, "sh")], { env });
  const words = readFileSync(record, "utf8").trim().split("\n");
  const isValue = (index: number): boolean => WITH_VALUE.includes(words[index - 1] ?? "");
  const plain = words.filter((word, index) => !word.startsWith("-") && !isValue(index));
  expect(plain.slice(0, 3)).toEqual(["mcp", "add", "audio-generation"]);
  const [command = "", ...args] = plain.slice(3);
  const pairs = words.filter((word, index) => isValue(index) && word.startsWith("AUDIO_"));
  return { command, args, env: Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2))) };
}

const opencodeSchema = z.object({
  mcp: z.object({
    "audio-generation": z.object({
      type: z.literal("local"),
      command: z.array(z.string()),
      environment: z.record(z.string(), z.string()),
    }),
  }),
});

function opencodeEntry(): Entry {
  const { mcp } = opencodeSchema.parse(JSON.parse(filled("opencode", "json")));
  const [command = "", ...args] = mcp["audio-generation"].command;
  return { command, args, env: mcp["audio-generation"].environment };
}

const CLIENTS: ReadonlyArray<[string, () => Promise<Entry> | Entry]> = [
  [
    "Claude Desktop, Cursor and Windsurf",
    () => serverUnder("mcpServers", JSON.parse(filled("Claude Desktop", "json"))),
  ],
  ["Claude Code", () => addedEntry("Claude Code", "claude")],
  ["Gemini CLI", () => addedEntry("Gemini CLI", "gemini")],
  ["Codex", () => serverUnder("mcp_servers", parseToml(filled("Codex", "toml")))],
  ["Codex by its command", () => addedEntry("Codex", "codex")],
  ["VS Code", () => serverUnder("servers", JSON.parse(filled("VS Code", "json")))],
  ["Zed", () => serverUnder("context_servers", JSON.parse(filled("Zed", "json")))],
  ["opencode", opencodeEntry],
];

describe("the block for", () => {
  it.each(CLIENTS)("%s starts a server that saves audio", async (name, read) => {
    const { command, args, env } = await read();
    const toolClient = await startCommandClient({ command, args, env: { ...surroundings(), ...env } });
    expect(await toolClient.tools()).toHaveLength(TOOLS.length);
    const task = await generate(toolClient, { prompt: `As ${name} would ask` });
    expect(existsSync(task.audio?.path ?? "")).toBe(true);
    await toolClient.close();
  });

  it.each(CLIENTS)("%s works with --sandbox after the path and without env", async (_name, read) => {
    const { command, args } = await read();
    const toolClient = await startCommandClient({
      command,
      args: [...args, "--sandbox"],
      env: surroundings(),
    });
    expect((await generate(toolClient, { prompt: "Hi", wait_seconds: 0 })).task_id).not.toBeNull();
    await toolClient.close();
  });

  it("a script prints the path of the saved file", async () => {
    // The script is inside the project, so that it finds the client package.
    const cache = join(ROOT, "node_modules", ".cache");
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, "readme-"));
    await writeFile(join(folder, "script.mjs"), filled("The official client", "js"));
    const script = [join(folder, "script.mjs")];
    const { stdout } = await promisify(execFile)(NODE, script, { env: surroundings() });
    expect(stdout).toMatch(/\.mp3\n$/);
    expect(existsSync(stdout.trim())).toBe(true);
    await rm(folder, { recursive: true });
  });
});

describe("the README's install links", () => {
  const linkTo = (host: string): URLSearchParams => {
    const address = new RegExp(`^\\[\\w+\\]: (https://${host}/\\S+)$`, "m").exec(README)?.[1];
    return new URL(address ?? "").searchParams;
  };
  const npx = { command: "npx", args: ["-y", "audio-generation-mcp"] };

  it("give Cursor the published form of its block", () => {
    const link = linkTo("cursor.com");
    const config = entrySchema.parse(JSON.parse(Buffer.from(link.get("config") ?? "", "base64").toString()));
    const block = serverUnder("mcpServers", JSON.parse(blockOf("Claude Desktop", "json")));
    expect(link.get("name")).toBe("audio-generation");
    expect(config).toEqual({ ...block, ...npx });
  });

  it("give VS Code the published form of its block, which asks for address and key", () => {
    const link = linkTo("insiders.vscode.dev");
    const config = entrySchema.parse(JSON.parse(link.get("config") ?? ""));
    const inputs = z
      .array(z.object({ type: z.literal("promptString"), id: z.string(), password: z.boolean().optional() }))
      .parse(JSON.parse(link.get("inputs") ?? ""));
    expect(config).toMatchObject({ ...npx, type: "stdio" });
    expect(Object.values(config.env)).toEqual(inputs.map(({ id }) => `\${input:${id}}`));
    expect(inputs.find(({ id }) => id === "audio-api-key")?.password).toBe(true);
  });
});
