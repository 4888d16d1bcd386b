/** Runs the MCP Inspector's command line: each run starts the server, does one thing, and ends. */
import { execFile } from "node:child_process";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { BIN, NODE } from "./bin-under-test.ts";

export interface Inspected {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * @param args the arguments of the server
 * @param words the arguments of the Inspector
 */
export function inspect(
  env: Record<string, string>,
  args: readonly string[],
  words: readonly string[],
): Promise<Inspected> {
  // The Inspector passes little of its own environment to the server, but it passes variables given with `-e`.
  const envArgs = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const all = [cachedTool("inspector"), "--cli", NODE, BIN, ...args, ...envArgs, ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

export const GENERATE_WORDS = [
  "--method",
  "tools/call",
  "--tool-name",
  "generate_audio",
  "--tool-arg",
  "prompt=Hello, inspector",
];
