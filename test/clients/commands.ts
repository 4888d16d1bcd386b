/** Programs without a model. Each is first driven with the documented command, then with others of its kind. */
import { join } from "node:path";
import { blockOf, fillIn } from "../support/client-blocks.ts";
import type { ClientSetup, CommandClient } from "./client.ts";

/** Replaces `npx` for the client: runs the pinned package instead of fetching one. */
const addNpx = ({ environment, modules }: ClientSetup, file: string): void =>
  environment.addCommand("npx", join(modules, ".bin", file), [], 1);

const mcporter: CommandClient = {
  kind: "command",
  name: "mcporter",
  packages: ["mcporter@0.12.3"],
  prepare(setup) {
    addNpx(setup, "mcporter");
    return setup.environment.shell(setup.block("sh"));
  },
  call({ environment }, tool, args) {
    const words = Object.entries(args).map(([name, value]) => `${name}=${value}`);
    return environment.run("npx", ["mcporter", "call", `audio-generation.${tool}`, ...words]);
  },
};

/** Both take the block of Claude Desktop as a file. */
function putMcpJson({ environment, root, sandbox }: ClientSetup): void {
  environment.putWork("mcp.json", fillIn(blockOf("Claude Desktop", "json"), root, sandbox));
}

const inspector: CommandClient = {
  kind: "command",
  name: "MCP Inspector",
  packages: ["@modelcontextprotocol/inspector@2.12.0"],
  prepare(setup) {
    addNpx(setup, "mcp-inspector");
    putMcpJson(setup);
    return setup.environment.shell(setup.block("sh"));
  },
  call({ environment }, tool, args) {
    const words = Object.entries(args).map(([name, value]) => `${name}=${value}`);
    const start = ["inspector", "--cli", "--config", "mcp.json", "--server", "audio-generation"];
    const given = words.length === 0 ? [] : ["--tool-arg", ...words];
    return environment.run("npx", [...start, "--method", "tools/call", "--tool-name", tool, ...given]);
  },
};

const mcpCli: CommandClient = {
  kind: "command",
  name: "mcp-cli",
  packages: ["@wong2/mcp-cli@2.0.0"],
  prepare(setup) {
    addNpx(setup, "mcp-cli");
    putMcpJson(setup);
    return setup.environment.shell(setup.block("sh"));
  },
  call({ environment }, tool, args) {
    const call = ["call-tool", `audio-generation:${tool}`, "--args", JSON.stringify(args)];
    return environment.run("npx", ["mcp-cli", "--config", "mcp.json", ...call]);
  },
};

export const COMMANDS: readonly CommandClient[] = [mcporter, inspector, mcpCli];
