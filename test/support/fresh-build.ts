/** Builds `dist/` before the first test if the sources are newer, so that tests of the bin test the current sources. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

/** The inputs of a build. */
const INPUTS = [
  "src",
  "types",
  "package.json",
  "scripts/build.ts",
  "scripts/player-page.ts",
  "scripts/third-party-notices.ts",
];

/** Returns the time of the newest change to a file or folder. A removed file changes only the time of its folder. */
function newestMs(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

function isStale(built: number | undefined): boolean {
  return built === undefined || INPUTS.some((input) => newestMs(join(root, input)) > built);
}

/** Builds if a source is newer than the build. `npm test` has just built, so nothing is built again. */
export default function buildWhereStale(): void {
  const built = statSync(join(root, "dist", "main.js"), { throwIfNoEntry: false })?.mtimeMs;
  if (!isStale(built)) return;
  execFileSync(process.execPath, [join(root, "scripts", "build.ts")], { cwd: root, stdio: "inherit" });
}
