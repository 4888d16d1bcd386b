/**
 * Runs the protocol, main-job, packaging, permission and planner tests with the built bin under every supported
 * major version of Node. Fetches the Nodes from npm's `node` package.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { cachedNode } from "./cached-packages.ts";

const root = join(import.meta.dirname, "..");
const MAJORS = ["22", "24", "26"];
const TESTS = [
  ...["protocol", "main-job", "packaging"].map((name) => `test/e2e/${name}.test.ts`),
  "test/platforms/permission.test.ts",
  "test/narration/text/golden.test.ts",
];

let failures = 0;
for (const major of MAJORS) {
  const node = cachedNode(major);
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
