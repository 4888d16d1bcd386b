/** Runs the protocol and main-job tests with the built bin under every supported major of Node, fetched from npm's `node` package. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const MAJORS = ["22", "24", "26"];
const TESTS = ["test/e2e/protocol.test.ts", "test/e2e/main-job.test.ts"];

/** The binary of a major, installed once into the cache folder of node_modules. */
function nodeOf(major: string): string {
  const folder = join(root, "node_modules", ".cache", "node-matrix", major);
  const binary = join(folder, "node_modules", "node", "bin", "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    // The package's own install script puts the binary in place; nothing else may run one.
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ private: true, allowScripts: { node: true } }),
    );
    const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    execFileSync("npm", ["install", "--prefix", folder, ...quiet, `node@${major}`], { stdio: "inherit" });
  }
  return binary;
}

let failures = 0;
for (const major of MAJORS) {
  const node = nodeOf(major);
  const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  console.log(`\nNode ${version}`);
  const run = spawnSync(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...TESTS], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, TEST_NODE: node },
  });
  if (run.status !== 0) failures += 1;
}
process.exitCode = failures === 0 ? 0 : 1;
