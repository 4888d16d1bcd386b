/**
 * Lets the tests of one run use a disk in memory if there is enough space, because their thousand small ledgers would
 * wait for a real one.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

const MEMORY = "/dev/shm";

/** Several times the space that tests need at once. Containers often have only 64 MB there. */
const ENOUGH_BYTES = 4 * 1024 ** 3;

const folderOf = (pid: number): string => join(MEMORY, `audio-generation-tests-${pid}`);

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES;
}

const remove = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** A killed run left its folder, which takes memory. */
function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = Number(/^audio-generation-tests-(\d+)$/.exec(name)?.[1] ?? process.pid);
    if (isAlive(pid)) continue;
    try {
      remove(join(MEMORY, name));
    } catch (error) {
      // A disk that the killed run mounted is still in the folder.
      process.stderr.write(`${name} of a killed run could not be removed: ${String(error)}\n`);
    }
  }
}

/** The workers inherit the folder for temporary files. Setting `TMPDIR` makes the tests use another disk. */
export default function workInMemory(): (() => void) | undefined {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return undefined;
  removeLeftovers();
  const folder = folderOf(process.pid);
  remove(folder);
  mkdirSync(folder);
  // The permissions of the system's own folder, because some tests run as another user.
  chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  return () => {
    delete process.env["TMPDIR"];
    remove(folder);
  };
}
