/**
 * Keeps packages from npm, which scripts fetch once, in a folder outside of this repository. Install scripts run only
 * for packages that are named.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Returns a folder in `AUDIO_TEST_CACHE`, or in a folder beside other programs' caches. Creates it if it is
 * missing.
 */
export function outsideCache(...names: string[]): string {
  const base =
    process.env["AUDIO_TEST_CACHE"] ??
    join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "audio-generation-mcp-tests");
  const folder = join(base, ...names);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Returns the node_modules folder that holds packages and their dependencies. Fetches them if they are missing.
 *
 * @param specs `name@version`, installed together
 * @param isForeign accepts packages for other platforms, too
 * @param scripts packages whose own install script runs
 * @throws the error of npm
 */
export function fetchPackages(
  specs: readonly string[],
  { isForeign = false, scripts = [] as readonly string[] } = {},
): string {
  const folder = outsideCache("npm", specs.join(",").replaceAll("/", "+"));
  const modules = join(folder, "node_modules");
  // npm writes this file last, so an interrupted installation does not count as complete.
  if (existsSync(join(modules, ".package-lock.json"))) return modules;
  const allowScripts = Object.fromEntries(scripts.map((name) => [name, true]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, allowScripts }));
  const ignored = scripts.length === 0 ? ["--ignore-scripts"] : [];
  const flags = [...ignored, "--no-audit", "--no-fund", "--loglevel=error"];
  const args = ["install", "--prefix", folder, ...flags, ...(isForeign ? ["--force"] : []), ...specs];
  try {
    execFileSync("npm", args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return modules;
}
