/** Real folders for tests, and file systems that are small, read-only or another user's. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OutputFolder, openOutputFolder } from "../../src/files/output-folder.ts";
import { NOT_LINUX } from "../support/skip-because.ts";

const cleanups: (() => void)[] = [];

/** Removes the folders and mounts that a test has made. Call this in `afterEach`. */
export function removeFolders(): void {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
}

export function newFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "files-test-")));
  // Let other users read the folder, because some tests run a function as another user. Such a function must fail
  // because of the fault under test, and not because it cannot read this folder.
  chmodSync(path, 0o755);
  cleanups.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Opens an output folder that exists. */
export async function newOutputFolder(): Promise<OutputFolder> {
  return await openOutputFolder(newFolder());
}

function mountTmpfs(path: string, options: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "ignore" });
    cleanups.push(() => execFileSync("umount", ["-l", path], { stdio: "ignore" }));
    return true;
  } catch {
    return false;
  }
}

function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), "mount-test-"));
  const isMounted = mountTmpfs(path, "size=64k");
  removeFolders();
  rmSync(path, { recursive: true, force: true });
  return isMounted;
}

/** The reason why this process cannot mount file systems, or `null` if it can. Root usually can. */
export const NO_MOUNT: string | null =
  NOT_LINUX ?? (canMount() ? null : "this process has no right to mount a disk in memory");

/** Creates a folder with its own file system in memory. `options` are mount options, such as `size=64k`. */
export function mountedFolder(options: string): string {
  const path = newFolder();
  if (!mountTmpfs(path, options)) throw new Error("cannot mount");
  return path;
}

/** Runs a function as a user who is not root, because permissions do not apply to root. */
export async function asOrdinaryUser<T>(action: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0 || process.seteuid === undefined) return await action();
  process.seteuid(65534);
  try {
    return await action();
  } finally {
    process.seteuid(0);
  }
}

/** Creates a folder that nobody may write to. */
export function readOnlyFolder(): string {
  const path = newFolder();
  chmodSync(path, 0o555);
  return path;
}

/** Returns the sorted names in a folder, including hidden files. */
export async function listing(path: string): Promise<string[]> {
  return (await readdir(path)).sort();
}
