/** Owns what scripts fetch once and keep outside of this repository: programs from npm, of which nothing runs at install unless it is named. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** `AUDIO_TEST_CACHE`, or a folder beside other programs' caches. */
export function outsideCache(...names: string[]): string {
  const base =
    process.env["AUDIO_TEST_CACHE"] ??
    join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "audio-generation-mcp-tests");
  const folder = join(base, ...names);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * The node_modules folder that holds packages and what they need; fetched when it is not there.
 *
 * @param specs `name@version`, installed together
 * @param isForeign packages for other platforms are taken, too
 * @param scripts packages whose own install script runs
 * @throws what npm says
 */
export function fetchedPackages(
  specs: readonly string[],
  { isForeign = false, scripts = [] as readonly string[] } = {},
): string {
  const folder = outsideCache("npm", specs.join(",").replaceAll("/", "+"));
  const modules = join(folder, "node_modules");
  // npm writes this last, so an installation that was broken off is not taken for a whole one.
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
