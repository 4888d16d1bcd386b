/**
 * Mounts other kinds of disks for tests: exFAT through FUSE on a loop device, and rclone's mount of a local folder.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { works } from "./run-bin.ts";

export interface Mount {
  readonly folder: string;
  unmount(): void;
}

const EXFAT_BYTES = 8 * 1024 * 1024;
const MOUNT_WITHIN_MS = 10_000;

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

/** Mounts an exFAT disk. Returns `null` if a program or the right to mount is missing. */
export function mountExfat(root: string): Mount | null {
  const image = join(root, "exfat.img");
  const folder = join(root, "exfat");
  mkdirSync(folder, { recursive: true });
  writeFileSync(image, Buffer.alloc(EXFAT_BYTES));
  let device: string | undefined;
  try {
    run("mkfs.exfat", image);
    device = run("losetup", "-f", "--show", image);
    run("mount.exfat-fuse", device, folder);
  } catch {
    if (device !== undefined) spawnSync("losetup", ["-d", device]);
    return null;
  }
  const loop = device;
  return {
    folder,
    unmount: () => {
      spawnSync("umount", ["-l", folder]);
      spawnSync("losetup", ["-d", loop]);
    },
  };
}

const isMounted = (folder: string): boolean =>
  readFileSync("/proc/mounts", "utf8").includes(` ${folder} fuse.rclone`);

/** Mounts a local folder with rclone. Returns `null` if rclone or FUSE is missing. */
export async function mountRclone(root: string): Promise<Mount | null> {
  if (!works("rclone", "version") || !works("fusermount3", "--version")) return null;
  const folder = join(root, "rclone");
  const behind = join(root, "behind");
  for (const path of [folder, behind]) mkdirSync(path, { recursive: true });
  const args = ["mount", "--config", join(root, "rclone.conf"), "--cache-dir", join(root, "cache")];
  const child = spawn("rclone", [...args, "--vfs-cache-mode", "writes", behind, folder], { stdio: "ignore" });
  const unmount = (): void => {
    spawnSync("fusermount3", ["-u", "-z", folder]);
    child.kill("SIGTERM");
  };
  for (let waitedMs = 0; !isMounted(folder); waitedMs += 100) {
    if (waitedMs > MOUNT_WITHIN_MS || child.exitCode !== null) {
      unmount();
      return null;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { folder, unmount };
}

export interface SmallDisk extends Mount {
  resize(sizeKiB: number): void;
}

/** Mounts a small disk in memory. Returns `null` if the right to mount is missing. */
export function mountSmallDisk(folder: string, sizeKiB: number): SmallDisk | null {
  mkdirSync(folder, { recursive: true });
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${sizeKiB}k`, "tmpfs", folder);
  } catch {
    return null;
  }
  return {
    folder,
    resize: (sizeKiB) => run("mount", "-o", `remount,size=${sizeKiB}k`, folder),
    unmount: () => spawnSync("umount", ["-l", folder]),
  };
}
