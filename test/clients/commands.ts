/** Programs without a model. Each is first driven with the documented command, then with others of its kind. */
import { join } from "node:path";
import { blockOf, fillIn } from "../support/client-blocks.ts";
import type { CommandClient, Scenery } from "./client.ts";

/** Replaces `npx` for the client: runs the pinned package instead of fetching one. */
const addNpx = ({ desk, modules }: Scenery, file: string): void =>
  desk.addCommand("npx", join(modules, ".bin", file), [], 1);

const mcporter: CommandClient = {
  kind: "command",
  name: "mcporter",
  packages: ["mcporter@0.12.3"],
  prepare(scenery) {
    addNpx(scenery, "mcporter");
    return scenery.desk.shell(scenery.block("sh"));
  },
  call({ desk }, tool, args) {
    const words = Object.entries(args).map(([name, value]) => `${name}=${value}`);
    return desk.run("npx", ["mcporter", "call", `audio-generation.${tool}`, ...words]);
  },
};

/** Both take the block of Claude Desktop as a file. */
function putMcpJson({ desk, root, sandbox }: Scenery): void {
  desk.putWork("mcp.json", fillIn(blockOf("Claude Desktop", "json"), root, sandbox));
}

const inspector: CommandClient = {
  kind: "command",
  name: "MCP Inspector",
  packages: ["@modelcontextprotocol/inspector@2.12.0"],
  prepare(scenery) {
    addNpx(scenery, "mcp-inspector");
    putMcpJson(scenery);
    return scenery.desk.shell(scenery.block("sh"));
  },
  call({ desk }, tool, args) {
    const words = Object.entries(args).map(([name, value]) => `${name}=${value}`);
    const start = ["inspector", "--cli", "--config", "mcp.json", "--server", "audio-generation"];
    const given = words.length === 0 ? [] : ["--tool-arg", ...words];
    return desk.run("npx", [...start, "--method", "tools/call", "--tool-name", tool, ...given]);
  },
};

const mcpCli: CommandClient = {
  kind: "command",
  name: "mcp-cli",
  packages: ["@wong2/mcp-cli@2.0.0"],
  prepare(scenery) {
    addNpx(scenery, "mcp-cli");
    putMcpJson(scenery);
    return scenery.desk.shell(scenery.block("sh"));
  },
  call({ desk }, tool, args) {
    const call = ["call-tool", `audio-generation:${tool}`, "--args", JSON.stringify(args)];
    return desk.run("npx", ["mcp-cli", "--config", "mcp.json", ...call]);
  },
};

export const COMMANDS: readonly CommandClient[] = [mcporter, inspector, mcpCli];
