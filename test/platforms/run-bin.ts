/** Preloads and single runs of the bin, shared by the tests of platforms. */
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { z } from "zod";
import { BIN, NODE } from "../support/bin-under-test.ts";

/** Arguments for Node that load a module of test/support/preloads before the server. */
export const preload = (name: string): string[] => [
  "--import",
  join(import.meta.dirname, "..", "support", "preloads", `${name}.ts`),
];

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly nodeArgs?: readonly string[];
  readonly cwd?: string;
}

/** Runs the bin to its end. */
export async function runBin(
  args: readonly string[],
  env: Record<string, string>,
  { nodeArgs = [], cwd }: RunOptions = {},
): Promise<Run> {
  const child = spawn(NODE, [...nodeArgs, BIN, ...args], { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, stdout, stderr };
}

const report = z.object({
  checks: z.array(
    z.object({ name: z.string(), ok: z.boolean(), detail: z.string(), fix: z.string().nullable() }),
  ),
});
export type Checks = Record<string, { ok: boolean; detail: string; fix: string | null }>;

/** Runs `doctor`. Returns its checks by their names. */
export async function doctor(env: Record<string, string>, options: RunOptions = {}): Promise<Checks> {
  const { stdout, stderr } = await runBin(["doctor", "--json"], env, options);
  if (stdout === "") throw new Error(`doctor said nothing: ${stderr}`);
  return Object.fromEntries(report.parse(JSON.parse(stdout)).checks.map(({ name, ...rest }) => [name, rest]));
}

/** Returns whether a command succeeds. `false` if its program is missing. */
export function works(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}
