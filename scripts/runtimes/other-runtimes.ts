/** Drives the built bin under Bun and Deno, which are not supported, and reports what works and what does not. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { CountingService } from "../../test/support/counting-service.ts";
import { BIN, createWorkplace, type Driver, driveCommand, taskOf } from "../../test/support/workplace.ts";
import { fetchedPackages } from "../outside-cache.ts";

interface Runtime {
  readonly name: string;
  readonly spec: string;
  /** Where packages for single platforms keep the program; the first that runs here is taken. */
  readonly scope: string;
  readonly file: string;
  readonly args: readonly string[];
}

const RUNTIMES: readonly Runtime[] = [
  { name: "Bun", spec: "bun@1", scope: "@oven", file: "bin/bun", args: [] },
  { name: "Deno", spec: "deno@2", scope: "@deno", file: "deno", args: ["run", "--allow-all", "--quiet"] },
];

const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";

/** The program, and what it says of its version. */
function programOf({ spec, scope, file }: Runtime): { command: string; version: string } {
  const folder = join(fetchedPackages([spec]), scope);
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const command = join(folder, name, file);
    const { status, stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
    if (status === 0) return { command, version: firstLine(stdout) };
  }
  throw new Error(`npm's ${spec} has no program for this machine`);
}

type Step = readonly [what: string, run: () => Promise<string> | string];

async function report(steps: readonly Step[]): Promise<void> {
  for (const [what, run] of steps) {
    try {
      console.log(`  ✓ ${what}: ${await run()}`);
    } catch (error) {
      console.log(`  ✗ ${what}: ${firstLine(error instanceof Error ? error.message : String(error))}`);
    }
  }
}

async function drive(runtime: Runtime): Promise<void> {
  const { command, version } = programOf(runtime);
  console.log(`\n${runtime.name} (${version}), not supported: what works is told, and nothing fails for it`);
  const service = await CountingService.start();
  const place = await createWorkplace();
  const env = place.env(service, { AUDIO_TIME_SCALE: "0.01" });
  const bin = [...runtime.args, BIN];
  const call = { prompt: `Under ${runtime.name}`, file_name: "story" };
  // The service is in this process, which must not block.
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(command, [...bin, ...args], { env, timeout: 30_000 })).stdout;
  let driver: Driver | undefined;
  const server = (): Driver => {
    if (driver === undefined) throw new Error("there is no server");
    return driver;
  };
  let uri = "";
  await report([
    ["--version", async () => firstLine(await run("--version"))],
    [
      "handshake",
      async () => {
        driver = await driveCommand({ command, args: bin, env });
        return `${(await driver.tools()).length} tools`;
      },
    ],
    [
      "generate",
      async () => {
        const { audio } = taskOf(await server().call("generate_audio", call));
        uri = audio?.uri ?? "";
        return `${audio?.size_bytes} bytes saved`;
      },
    ],
    [
      "repeat",
      async () => {
        const { replayed } = taskOf(await server().call("generate_audio", call));
        if (!replayed || service.count("create") !== 1) throw new Error("it was paid for twice");
        return "the same task, paid once";
      },
    ],
    ["resources/read", async () => `${(await server().read(uri)).bytes.byteLength} bytes`],
    ["tasks", async () => firstLine(await run("tasks"))],
    ["doctor", async () => (await run("doctor")).trim().split("\n").at(-1) ?? ""],
  ]);
  await driver?.close().catch(() => undefined);
  await service.stop();
  await place.remove();
}

/** Never throws: these runtimes are a bonus. */
export async function reportOtherRuntimes(): Promise<void> {
  for (const runtime of RUNTIMES) {
    try {
      await drive(runtime);
    } catch (error) {
      const reason = error instanceof Error ? firstLine(error.message) : String(error);
      console.log(`\n${runtime.name}: skipped, because ${reason}`);
    }
  }
}
