/**
 * Lets the tests of one run use a disk in memory if there is enough space, because their thousand small ledgers are
 * slow on a real disk.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

const MEMORY = "/dev/shm";

/** Several times the space that tests need at once. In containers, /dev/shm often has only 64 MB. */
const ENOUGH_BYTES = 4 * 1024 ** 3;

const folderOf = (pid: number): string => join(MEMORY, `audio-generation-tests-${pid}`);

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES;
}

const remove = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** Removes the folders of killed runs, because they take memory. */
function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = Number(/^audio-generation-tests-(\d+)$/.exec(name)?.[1] ?? process.pid);
    if (isAlive(pid)) continue;
    try {
      remove(join(MEMORY, name));
    } catch (error) {
      // If a killed run mounted a disk in this folder, the disk may still be mounted.
      process.stderr.write(`${name} of a killed run could not be removed: ${String(error)}\n`);
    }
  }
}

/** Sets `TMPDIR`, which the workers inherit, to a folder in memory. If `TMPDIR` is already set, changes nothing. */
export default function workInMemory(): (() => void) | undefined {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return undefined;
  removeLeftovers();
  const folder = folderOf(process.pid);
  remove(folder);
  mkdirSync(folder);
  // Use the permissions of the system's temporary folder, because some tests run programs as another user.
  chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  return () => {
    delete process.env["TMPDIR"];
    remove(folder);
  };
}
