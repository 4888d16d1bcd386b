/** Owns tools that are fetched from npm when a script needs them, once, into the cache folder of node_modules; nothing of theirs runs at install. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CACHE = join(import.meta.dirname, "..", "node_modules", ".cache");

/** @param allowScripts packages whose own install script may run */
function install(folder: string, spec: string, allowScripts: Record<string, boolean>): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, allowScripts }));
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const ignore = Object.keys(allowScripts).length === 0 ? ["--ignore-scripts"] : [];
  execFileSync("npm", ["install", "--prefix", folder, ...quiet, ...ignore, spec], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

const TOOLS = {
  mcpb: { spec: "@anthropic-ai/mcpb@2.1", file: "@anthropic-ai/mcpb/dist/cli/cli.js" },
  publint: { spec: "publint@0.3", file: "publint/src/cli.js" },
  attw: { spec: "@arethetypeswrong/cli@0.18", file: "@arethetypeswrong/cli/dist/index.js" },
  inspector: {
    spec: "@modelcontextprotocol/inspector@2.12",
    file: "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
  },
  conformance: {
    spec: "@modelcontextprotocol/conformance@0.1.16",
    file: "@modelcontextprotocol/conformance/dist/index.js",
  },
  // The first that knows the tasks extension.
  tasksConformance: {
    spec: "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    file: "@modelcontextprotocol/conformance/dist/index.js",
  },
  // For the bench: a server that starts fast.
  replicate: { spec: "replicate-mcp@0.9.0", file: "replicate-mcp/index.js" },
} as const;

/** The script of a tool, to be run with this Node. */
export function cachedTool(name: keyof typeof TOOLS): string {
  const { spec, file } = TOOLS[name];
  const folder = join(CACHE, "tools", spec.replaceAll("/", "+"));
  const script = join(folder, "node_modules", file);
  if (!existsSync(script)) install(folder, spec, {});
  return script;
}

/** The binary of a major version of Node, from npm's `node` package, whose install script puts it in place. */
export function cachedNode(major: string): string {
  const folder = join(CACHE, "node-matrix", major);
  const binary = join(folder, "node_modules", "node", "bin", "node");
  if (!existsSync(binary)) install(folder, `node@${major}`, { node: true });
  return binary;
}
