/** Programs without a model. Each first runs the commands that are documented for it, then the conversation's calls. */
import { join } from "node:path";
import { blockOf, fillIn } from "../support/client-blocks.ts";
import type { ClientSetup, CommandClient } from "./client.ts";

/** Adds an `npx` for the client that runs the pinned package instead of fetching one. */
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
    const assignments = Object.entries(args).map(([name, value]) => `${name}=${value}`);
    return environment.run("npx", ["mcporter", "call", `audio-generation.${tool}`, ...assignments]);
  },
};

/** Writes the documented block of Claude Desktop to `mcp.json`, for clients that read such a file. */
function writeMcpJson({ environment, root, sandbox }: ClientSetup): void {
  environment.writeWorkFile("mcp.json", fillIn(blockOf("Claude Desktop", "json"), root, sandbox));
}

const inspector: CommandClient = {
  kind: "command",
  name: "MCP Inspector",
  packages: ["@modelcontextprotocol/inspector@2.12.0"],
  prepare(setup) {
    addNpx(setup, "mcp-inspector");
    writeMcpJson(setup);
    return setup.environment.shell(setup.block("sh"));
  },
  call({ environment }, tool, args) {
    const assignments = Object.entries(args).map(([name, value]) => `${name}=${value}`);
    const serverArgs = ["inspector", "--cli", "--config", "mcp.json", "--server", "audio-generation"];
    const toolArgs = assignments.length === 0 ? [] : ["--tool-arg", ...assignments];
    return environment.run("npx", [
      ...serverArgs,
      "--method",
      "tools/call",
      "--tool-name",
      tool,
      ...toolArgs,
    ]);
  },
};

const mcpCli: CommandClient = {
  kind: "command",
  name: "mcp-cli",
  packages: ["@wong2/mcp-cli@2.0.0"],
  prepare(setup) {
    addNpx(setup, "mcp-cli");
    writeMcpJson(setup);
    return setup.environment.shell(setup.block("sh"));
  },
  call({ environment }, tool, args) {
    const callArgs = ["call-tool", `audio-generation:${tool}`, "--args", JSON.stringify(args)];
    return environment.run("npx", ["mcp-cli", "--config", "mcp.json", ...callArgs]);
  },
};

export const COMMANDS: readonly CommandClient[] = [mcporter, inspector, mcpCli];
