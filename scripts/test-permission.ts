/** Runs the tests that drive the built bin with Node's permission model on: nothing but files, workers and the network is allowed. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

const supports = (flag: string): boolean =>
  spawnSync(process.execPath, [flag, "--version"], { stdio: "ignore" }).status === 0;

/**
 * Which files is shown by `test/platforms/permission.test.ts`; here preloads and folders of all kinds are in play.
 * The sandbox speaks in workers and in WebAssembly.
 */
const FLAGS = [
  "--permission",
  "--allow-fs-read=*",
  "--allow-fs-write=*",
  "--allow-worker",
  ...["--allow-wasi", "--allow-net"].filter(supports),
  // Node's own, of the flags above: some tests read every line of stderr.
  "--disable-warning=SecurityWarning",
];

const folders = ["e2e", "faults", "platforms"].map((name) => `test/${name}`);
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", ...folders], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, TEST_NODE_FLAGS: FLAGS.join(" ") },
});
process.exitCode = status ?? 1;
