/**
 * The entry point of the bin: checks the Node version, enables the compile cache, runs the command. Loads everything but
 * `environment.ts` after the version check, so that the check also runs on an old Node.
 */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveStateDir } from "./environment.ts";

const REQUIRED_MAJOR = 22;
const REQUIRED_MINOR = 19;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < REQUIRED_MAJOR || (major === REQUIRED_MAJOR && minor < REQUIRED_MINOR)) {
  // A build from source has a current Node among its packages.
  const newer = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  const remedy = existsSync(newer)
    ? `start it with ${newer}, or install a current one.`
    : "install a current one and start it again.";
  const sentence = `audio-generation-mcp needs Node.js ${REQUIRED_MAJOR}.${REQUIRED_MINOR} or newer, and this is ${process.versions.node}: ${remedy}`;
  process.stderr.write(`${sentence}\n`);
  const [command = "--sandbox"] = process.argv.slice(2);
  if (command !== "--sandbox") process.exit(1);
  const { answerWithError } = await import("./commands/old-node.ts");
  answerWithError(sentence);
} else {
  cacheCompiledCode();
  const args = commandArguments(process.argv.slice(2));
  const { run } = await import("./commands/cli.ts");
  await run(args);
}

/**
 * Removes this file's path from the start of the arguments. Hosts that start the program with their own launcher pass
 * this path as the first argument.
 */
function commandArguments(args: string[]): string[] {
  const [first] = args;
  if (first === undefined || !/[\\/.]/.test(first)) return args;
  try {
    const path = first.startsWith("file:") ? fileURLToPath(first) : first;
    return realpathSync(path) === realpathSync(import.meta.filename) ? args.slice(1) : args;
  } catch {
    return args;
  }
}

/**
 * Enables Node's compile cache in the state folder, which makes each start about 10 ms faster. Creates the state folder
 * if it is missing, but not the folders above it.
 */
function cacheCompiledCode(): void {
  const state = resolveStateDir(process.env);
  if (state === null) return;
  const cache = join(state, "compile-cache");
  try {
    for (const folder of [state, cache]) makeFolder(folder);
    module.enableCompileCache(cache);
  } catch {
    // Ignore the error, because a start without the cache is only slower.
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
