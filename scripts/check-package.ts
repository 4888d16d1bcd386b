/** Packs the npm package and holds it to publint and arethetypeswrong, which are fetched when this runs. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cachedTool } from "./cached-packages.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "agm-pack-"));

/** @returns whether the tool found nothing wrong */
function passes(tool: "publint" | "attw", ...args: string[]): boolean {
  console.log(`\n${tool}`);
  return (
    spawnSync(process.execPath, [cachedTool(tool), ...args], { cwd: root, stdio: "inherit" }).status === 0
  );
}

try {
  // `dist` is built already, and packing must not build it again.
  execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], {
    cwd: root,
    stdio: "inherit",
  });
  const [tarball = ""] = readdirSync(folder);
  // The package is ESM for Node alone: what CommonJS before `require(esm)` makes of it is beside the point.
  const results = [
    passes("publint", "run", join(folder, tarball), "--strict"),
    passes("attw", join(folder, tarball), "--profile", "esm-only"),
  ];
  process.exitCode = results.every(Boolean) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
