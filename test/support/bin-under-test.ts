/** The built bin that tests start, the Node that runs it, and environment variables for it. */
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The bin under test. `TEST_BIN` selects another version, to check that a test fails with it. */
export const BIN = process.env["TEST_BIN"] ?? join(import.meta.dirname, "..", "..", "dist", "main.js");

/** The Node that runs the bin: this one, or the one that `npm run test:matrix` is trying. */
export const NODE = process.env["TEST_NODE"] ?? process.execPath;

/** Node options before the bin. `npm run test:permission` uses them to forbid everything that the bin does not need. */
export const NODE_FLAGS: readonly string[] = process.env["TEST_NODE_FLAGS"]?.split(" ") ?? [];

/** Whether another bin or Node than ours is tested. Then every server and command is a process. */
export const IS_BIN_CHOSEN = ["TEST_BIN", "TEST_NODE", "TEST_NODE_FLAGS"].some((name) => name in process.env);

/**
 * A compile cache that all processes of a run share. In normal use, a server has a compile cache from its second start
 * on, but a test's new state folder has none. Tests of folders and disks do not use the shared cache.
 */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), "audio-generation-tests-compiled") };

/** Limit windows, poll intervals and backoffs are a hundred times shorter than in normal use. */
export const FAST = { AUDIO_TIME_SCALE: "0.01", ...COMPILED };
