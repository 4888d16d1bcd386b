/** Provides a Windows to run programs in: this machine's Wine, or Debian's Wine in a root folder of its own. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { outsideCache } from "../outside-cache.ts";

export interface Windows {
  /** The path of drive `C:` on this machine. */
  readonly drive: string;
  /**
   * Runs a program. Resolves with its exit code.
   *
   * @param stdout descriptor of a file, because Wine needs a file
   */
  run(
    args: readonly string[],
    env: Record<string, string>,
    stdout: number,
    withinMs: number,
  ): Promise<number>;
  close(): void;
}

/** The oldest usable version. Older versions lack calls that current versions of Node make at their start. */
const OLDEST_WINE = 9;

/** Debian 13, which has Wine 10. */
const SUITE = "trixie";
const MIRROR = "http://deb.debian.org/debian";
const INSTALL_WITHIN_MS = 15 * 60_000;

const works = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: "ignore", timeout: INSTALL_WITHIN_MS }).status === 0;

function ownWineVersion(): number {
  const { status, stdout } = spawnSync("wine", ["--version"], { encoding: "utf8" });
  return status === 0 ? Number(/wine-(\d+)/.exec(stdout)?.[1] ?? 0) : 0;
}

function start(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
  stdout: number,
  withinMs: number,
): Promise<number> {
  const child = spawn(command, args, { env, stdio: ["ignore", stdout, "ignore"], timeout: withinMs });
  return new Promise((resolve) => {
    child.once("error", () => resolve(-1));
    child.once("close", (code) => resolve(code ?? -1));
  });
}

const wineEnv = (prefix: string): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  WINEDEBUG: "-all",
  WINEPREFIX: prefix,
  // Prevents windows that ask whether to install Mono or Gecko.
  WINEDLLOVERRIDES: "mscoree=d;mshtml=d",
});

function ownWine(): Windows {
  const prefix = outsideCache("wine-prefix");
  works(
    "env",
    ...Object.entries(wineEnv(prefix)).map(([name, value]) => `${name}=${value}`),
    "wine",
    "wineboot",
  );
  return {
    drive: join(prefix, "drive_c"),
    run: (args, env, stdout, withinMs) =>
      start("wine", args, { HOME: prefix, ...wineEnv(prefix), ...env }, stdout, withinMs),
    close: () => void spawnSync("wineserver", ["-k"], { env: wineEnv(prefix), stdio: "ignore" }),
  };
}

/**
 * Sets up a Debian with Wine.
 *
 * @throws Error with the reason if that is impossible
 */
function makeRoot(): string {
  const root = outsideCache(`wine-${SUITE}`);
  const mark = join(root, ".audio-generation-mcp-ready");
  if (existsSync(mark)) return root;
  if (!works("debootstrap", "--version")) {
    works("apt-get", "update");
    if (!works("apt-get", "install", "-y", "--no-install-recommends", "debootstrap")) {
      throw new Error("debootstrap cannot be installed, which makes a Debian with a newer Wine");
    }
  }
  // Remove what an interrupted run may have left.
  spawnSync("umount", ["-l", join(root, "proc")], { stdio: "ignore" });
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  console.log(`setting up Debian's Wine in ${root} (once; about 2 GB)`);
  if (!works("debootstrap", "--variant=minbase", "--include=wine,wine64", SUITE, root, MIRROR)) {
    rmSync(root, { recursive: true, force: true });
    throw new Error(`Debian ${SUITE} with Wine could not be set up; debootstrap failed`);
  }
  writeFileSync(mark, "");
  return root;
}

function wineInRoot(root: string): Windows {
  const prefix = "/root/.wine";
  const proc = join(root, "proc");
  if (!works("mount", "-t", "proc", "proc", proc)) throw new Error("nothing can be mounted here");
  const chroot = (args: readonly string[]): string[] => [root, "wine", ...args];
  // Create the Wine prefix, so that its drive `C:` exists.
  spawnSync("chroot", chroot(["wineboot"]), {
    env: { HOME: "/root", ...wineEnv(prefix) },
    stdio: "ignore",
    timeout: 120_000,
  });
  return {
    drive: join(root, prefix, "drive_c"),
    run: (args, env, stdout, withinMs) =>
      start("chroot", chroot(args), { HOME: "/root", ...wineEnv(prefix), ...env }, stdout, withinMs),
    close: () => {
      spawnSync("chroot", [root, "wineserver", "-k"], { env: wineEnv(prefix), stdio: "ignore" });
      spawnSync("umount", ["-l", proc]);
    },
  };
}

/**
 * Opens a Windows: this machine's Wine, or one that it sets up.
 *
 * @throws Error with the reason if that is impossible
 */
export function openWindows(): Windows {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("Wine is set up on Linux x64 alone");
  if (ownWineVersion() >= OLDEST_WINE) return ownWine();
  if (process.geteuid?.() !== 0) {
    throw new Error(`this machine has no Wine ${OLDEST_WINE} or newer, and only root can set one up`);
  }
  return wineInRoot(makeRoot());
}
