/**
 * Checks what is published. All files have the same publisher and version, and the npm package runs without other
 * packages.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { fillIn } from "../../scripts/publication.ts";
import { filesOutOfStep, readJson, readPublication, readPublisher } from "../../scripts/publication-files.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { NODE } from "../support/bin-under-test.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startBinClient, startCommandClient } from "../support/tool-client.ts";

const ROOT = join(import.meta.dirname, "..", "..");

const manifestSchema = z.object({
  version: z.string(),
  icon: z.string(),
  tools: z.array(z.object({ name: z.string(), description: z.string() })),
  server: z.object({
    entry_point: z.string(),
    mcp_config: z.object({ args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
  }),
  user_config: z.record(
    z.string(),
    z.object({ type: z.string(), required: z.boolean(), sensitive: z.boolean().optional() }),
  ),
});

/** The rules of the MCP registry's schema of 2025-12-11, as far as a handwritten file could break them. */
const serverSchema = z.strictObject({
  $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  repository: z.strictObject({ url: z.url(), source: z.literal("github") }),
  websiteUrl: z.url(),
  icons: z.array(
    z.strictObject({
      src: z.url({ protocol: /^https$/ }).max(255),
      mimeType: z.literal("image/png"),
      sizes: z.array(z.string()),
    }),
  ),
  packages: z.array(
    z.strictObject({
      registryType: z.enum(["npm", "mcpb"]),
      identifier: z.string(),
      version: z.string(),
      runtimeHint: z.string().optional(),
      transport: z.strictObject({ type: z.literal("stdio") }),
      environmentVariables: z
        .array(
          z.strictObject({
            name: z.string().regex(/^AUDIO_[A-Z_]+$/),
            description: z.string(),
            format: z.enum(["string", "number", "boolean", "filepath"]),
            placeholder: z.string().optional(),
            default: z.string().optional(),
            isRequired: z.boolean().optional(),
            isSecret: z.boolean().optional(),
          }),
        )
        .optional(),
    }),
  ),
});

const readSettings = (text: string): string[] =>
  [...new Set([...text.matchAll(/\bAUDIO_[A-Z_]+[A-Z]\b/g)].map(([name]) => name))].sort();

describe("the files of a publication", () => {
  const found = readPublication();
  const files = {
    package: found.json["package.json"],
    manifest: found.json["manifest.json"],
    server: found.json["server.json"],
  };
  const decided = {
    owner: "someone",
    repository: "https://github.com/someone/audio-generation-mcp",
    author: "Someone",
    privacy: "https://someone.example/privacy",
    mcpName: "io.github.someone/audio-generation-mcp",
  };

  it("match publisher.json and have one version", () => {
    expect(filesOutOfStep()).toEqual([]);
    serverSchema.parse(files.server);
    const version = String(files.package["version"]);
    const named = Object.entries(found.json).flatMap(([file, json]) =>
      [...JSON.stringify(json).matchAll(/(?:"version":"|audio-generation-mcp@|\/v)(\d+\.\d+\.\d+)/g)].map(
        ([, each]) => [file, each],
      ),
    );
    expect(new Set(named.map(([file]) => file)).size).toBe(Object.keys(found.json).length - 1);
    expect(named.filter(([, each]) => each !== version)).toEqual([]);
    expect(found.json["sandbox-package/package.json"]["dependencies"]).toEqual({
      "audio-generation-mcp": version,
      ...z.record(z.string(), z.string()).parse(files.package["peerDependencies"]),
    });
  });

  it("take another publisher everywhere, keep no placeholder, and do not change the second time", () => {
    const filled = fillIn(found, decided);
    expect(JSON.stringify(filled)).not.toMatch(/placeholder-|Placeholder/);
    for (const [file, text] of Object.entries(found.texts)) expect([file, text]).not.toEqual([file, ""]);
    expect(filled.json["package.json"]).not.toHaveProperty("private");
    expect(filled.json["sandbox-package/package.json"]).not.toHaveProperty("private");
    expect(fillIn(filled, decided)).toEqual(filled);
    expect(fillIn(filled, readPublisher())).toEqual(fillIn(found, readPublisher()));
  });

  it("start the same package in every plugin, pass the same settings, and keep the key secret", () => {
    const { server, user_config: form } = manifestSchema.parse(files.manifest);
    const variableNames = Object.keys(server.mcp_config.env).sort();
    const start = z.object({ command: z.literal("npx"), args: z.tuple([z.literal("-y"), z.string()]) });
    const started = z.looseObject({
      mcpServers: z.strictObject({
        audio: start.extend({
          env: z.record(z.string(), z.string()).optional(),
          env_vars: z.array(z.string()).optional(),
        }),
      }),
    });
    const serverOf = (file: keyof typeof found.json) => started.parse(found.json[file]).mcpServers.audio;
    const claude = serverOf(".claude-plugin/plugin.json");
    const others = [serverOf(".codex-plugin/plugin.json"), serverOf(".cursor-plugin/plugin.json")];
    const gemini = serverOf("gemini-extension.json");
    for (const { args } of [claude, ...others, gemini]) {
      expect(args[1]).toBe(`${files.package["name"]}@${files.package["version"]}`);
    }
    const network = ["HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"];
    const passedOn = Object.fromEntries(network.map((name) => [name, `\${${name}:-}`]));
    expect(claude.env).toEqual({ ...server.mcp_config.env, ...passedOn });
    expect(gemini.env).toEqual(passedOn);
    expect(found.json[".claude-plugin/plugin.json"]["userConfig"]).toEqual(files.manifest["user_config"]);
    const [codex, cursor] = others;
    expect(codex?.env_vars?.sort()).toEqual([...variableNames, ...network].sort());
    expect(Object.keys(cursor?.env ?? {}).sort()).toEqual(variableNames);
    for (const { name } of TOOLS) {
      const longest = `mcp__plugin_${files.package["name"]}_audio__${name}`;
      expect(longest.length, longest).toBeLessThanOrEqual(64);
    }
    const { settings } = z
      .looseObject({ settings: z.array(z.looseObject({ envVar: z.string(), sensitive: z.boolean() })) })
      .parse(found.json["gemini-extension.json"]);
    expect(settings.map(({ envVar, sensitive }) => [envVar, sensitive])).toEqual([
      ["AUDIO_BASE_URL", false],
      ["AUDIO_API_KEY", true],
    ]);
    expect(form["api_key"]).toMatchObject({ sensitive: true });
    const names = [
      ".claude-plugin/plugin.json",
      ".codex-plugin/plugin.json",
      ".cursor-plugin/plugin.json",
    ] as const;
    for (const file of names) expect(found.json[file]["name"]).toBe(files.package["name"]);
    expect(JSON.stringify(found.json[".codex-plugin/plugin.json"])).not.toContain("${");
  });

  it("contain one skill that names every tool, and only arguments that a tool has", () => {
    const skill = readFileSync(join(ROOT, "skills/narration/SKILL.md"), "utf8");
    expect(skill.split("\n").length).toBeLessThanOrEqual(150);
    for (const { name } of TOOLS) expect(skill).toContain(`\`${name}\``);
    const known = TOOLS.flatMap((tool) => [tool.name, ...Object.keys(tool.input.shape)]);
    const written = [...skill.matchAll(/`(?:"?)([a-z]+_[a-z_]+)"?[`:]/g)].map(([, name]) => name);
    expect(written.length).toBeGreaterThan(10);
    expect(written.filter((name) => name !== undefined && !known.includes(name))).toEqual([]);
  });

  it("name only existing settings, and ask for the key as a secret", () => {
    const known = readSettings(readFileSync(join(ROOT, "README.md"), "utf8"));
    const manifest = manifestSchema.parse(files.manifest);
    const { packages } = serverSchema.parse(files.server);
    const variables = packages.flatMap(({ environmentVariables = [] }) => environmentVariables);
    const named = [...Object.keys(manifest.server.mcp_config.env), ...variables.map(({ name }) => name)];
    expect(known).toEqual(expect.arrayContaining(named));
    expect(variables.find(({ name }) => name === "AUDIO_API_KEY")).toMatchObject({
      isSecret: true,
      isRequired: true,
    });
    expect(manifest.user_config["api_key"]).toMatchObject({ sensitive: true, required: true });
    expect(manifest.user_config["output_dir"]).toMatchObject({ type: "directory", required: false });
    const variableNames = Object.keys(manifest.user_config).map((name) => `\${user_config.${name}}`);
    expect(Object.values(manifest.server.mcp_config.env).sort()).toEqual(variableNames.sort());
  });

  it("list the tools of the server, and an existing icon", async () => {
    const manifest = manifestSchema.parse(files.manifest);
    const testFolders = await createTestFolders();
    const client = await startBinClient(testFolders.env(null));
    const tools = (await client.tools()).map(({ name }) => name);
    expect(manifest.tools.map(({ name }) => name).sort()).toEqual(tools.sort());
    const icon = readFileSync(join(ROOT, manifest.icon));
    expect([icon.subarray(1, 4).toString(), icon.readUInt32BE(16), icon.readUInt32BE(20)]).toEqual([
      "PNG",
      512,
      512,
    ]);
    await client.close();
    await testFolders.remove();
  });
});

describe("the npm package", () => {
  let folder = "";
  let packed: { size: number; files: Array<{ path: string; mode: number }>; filename: string };
  // Runs npm on the Node version under test.
  const env = { ...process.env, PATH: `${dirname(NODE)}${delimiter}${process.env["PATH"] ?? ""}` };
  const npm = (args: string[], cwd: string) => {
    const run = spawnSync("npm", args, { cwd, env, encoding: "utf8" });
    expect(run.status, run.stderr).toBe(0);
    return run.stdout;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "agm-pack-"));
    const out = npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], ROOT);
    const entry = z.object({
      size: z.int(),
      filename: z.string(),
      files: z.array(z.object({ path: z.string(), mode: z.int() })),
    });
    // npm 12 returns an object with the package names as keys. Earlier versions return a list.
    const answer = z.union([z.array(entry), z.record(z.string(), entry)]).parse(JSON.parse(out));
    const [first] = Object.values(answer);
    if (first === undefined) throw new Error("npm packed nothing");
    packed = first;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("contains only the bin, its chunks, types, notices and texts, in less than 750 kB", () => {
    const chunks = packed.files.filter(({ path }) => /^dist\/chunks\/[\w-]+\.js$/.test(path));
    const others = packed.files.map(({ path }) => path).filter((path) => !path.startsWith("dist/chunks/"));
    expect(chunks.length).toBe(packed.files.length - others.length);
    expect(others.sort()).toEqual(
      [
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "dist/THIRD-PARTY-NOTICES.txt",
        "dist/main.d.ts",
        "dist/main.js",
        "dist/package.json",
        "dist/plan-worker.js",
        "dist/sandbox-service.js",
        "dist/sandbox.d.ts",
        "dist/sandbox.js",
        "dist/speech-worker.js",
        "package.json",
      ].sort(),
    );
    expect(packed.size).toBeLessThan(750_000);
  });

  it("contains the licence of every bundled package", () => {
    const notices = readFileSync(join(ROOT, "dist/THIRD-PARTY-NOTICES.txt"), "utf8");
    for (const name of ["@modelcontextprotocol/server", "undici", "milo", "zod", "keyv", "pg", "pgpass"]) {
      expect(notices).toContain(`\n${name} `);
    }
    expect(notices).toContain("Apache License");
  });

  it("starts from its tarball with nothing else installed, by its name and by its entry", async () => {
    const home = join(folder, "home");
    const testFolders = await createTestFolders();
    await mkdir(home);
    await writeFile(join(home, "package.json"), '{"private":true,"type":"module"}');
    const quiet = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];
    npm(["install", ...quiet, join(folder, packed.filename)], home);
    expect((await readdir(join(home, "node_modules"))).filter((name) => !name.startsWith("."))).toEqual([
      "audio-generation-mcp",
    ]);
    const version = npm(
      ["exec", "--offline", "--loglevel=error", "--", "audio-generation-mcp", "--version"],
      home,
    );
    expect(version.trim()).toBe(readJson("package.json")["version"]);
    const resolve = 'console.log(import.meta.resolve("audio-generation-mcp"))';
    const entry = spawnSync(NODE, ["--input-type=module", "-e", resolve], {
      cwd: home,
      encoding: "utf8",
    }).stdout.trim();
    const bin = new URL(entry).pathname;
    expect(existsSync(bin)).toBe(true);
    const client = await startCommandClient(
      { command: NODE, args: [bin], env: testFolders.env(null) },
      "legacy",
    );
    expect(await client.tools()).toHaveLength(TOOLS.length);
    await client.close();
    await testFolders.remove();
  });
});
