/** Skips tests that cannot run on this machine, with a reason that the end of the run lists (`skip-reporter.ts`). */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";

declare module "vitest" {
  interface TaskMeta {
    whySkipped?: string;
  }
}

/** Returns options for `it` and `describe`. `reason` says why the tests cannot run here, and is `null` if they can. */
export const skipBecause = (reason: string | null): { skip?: boolean; meta?: { whySkipped: string } } =>
  reason === null ? {} : { skip: true, meta: { whySkipped: reason } };

const isInstalled = (program: string): boolean =>
  isAbsolute(program) ? existsSync(program) : spawnSync(program, ["--version"]).error === undefined;

/**
 * Returns why a test that needs these programs cannot run here, or `null`.
 *
 * @throws in continuous integration, because `.ci/run` installs every program, so a missing one is a fault
 */
export function missing(...programs: string[]): string | null {
  const absent = programs.filter((program) => !isInstalled(program));
  if (absent.length === 0) return null;
  const reason = `not installed: ${absent.join(", ")}`;
  if (process.env["CI"] === "true") throw new Error(`${reason}; .ci/run should have installed it`);
  return reason;
}

const { platform } = process;
export const NOT_LINUX = platform === "linux" ? null : "only Linux has what it tests";
export const ON_WINDOWS = platform === "win32" ? "Windows does not have what it tests" : null;
