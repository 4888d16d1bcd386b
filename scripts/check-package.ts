/** Packs the npm package and checks it with publint and arethetypeswrong, which are fetched on demand. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cachedTool } from "./cached-packages.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "agm-pack-"));

/** Runs a tool. Returns whether it found no fault. */
function passes(tool: "publint" | "attw", ...args: string[]): boolean {
  console.log(`\n${tool}`);
  return (
    spawnSync(process.execPath, [cachedTool(tool), ...args], { cwd: root, stdio: "inherit" }).status === 0
  );
}

try {
  // `dist` is already built, and packing must not build it again.
  execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], {
    cwd: root,
    stdio: "inherit",
  });
  const [tarball = ""] = readdirSync(folder);
  // The profile skips the checks for CommonJS, because the package is ESM for Node only.
  const results = [
    passes("publint", "run", join(folder, tarball), "--strict"),
    passes("attw", join(folder, tarball), "--profile", "esm-only"),
  ];
  process.exitCode = results.every(Boolean) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
