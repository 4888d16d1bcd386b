/**
 * Runs the tests that drive the built bin with Node's permission model. Only files, workers and the network are
 * allowed.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

const supports = (flag: string): boolean =>
  spawnSync(process.execPath, [flag, "--version"], { stdio: "ignore" }).status === 0;

/**
 * All files are allowed here, because tests use preloads and folders of all kinds.
 * `test/platforms/permission.test.ts` shows which files the server itself needs. Workers and WASI are allowed, because
 * the sandbox speaks in workers and in WebAssembly.
 */
const FLAGS = [
  "--permission",
  "--allow-fs-read=*",
  "--allow-fs-write=*",
  "--allow-worker",
  ...["--allow-wasi", "--allow-net"].filter(supports),
  // Hides the warning that the flags above cause, because some tests read every line of stderr.
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
