/**
 * Reads single environment variables, and finds the home and state folders. Imports little, because every start runs
 * this file first.
 */
import { homedir, userInfo } from "node:os";
import { posix, win32 } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

const FOLDER_NAME = "audio-generation-mcp";

/** Reads a variable. Empty values and placeholders that a client did not substitute count as unset. */
export function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  if (value === undefined || value === "" || /^\$\{[^}]*\}$/.test(value)) return undefined;
  return value;
}

/** Whether a path is independent of the current folder. False for `/x` on Windows, because the drive is missing. */
export function isFullyQualifiedPath(path: string, platform: NodeJS.Platform = process.platform): boolean {
  if (platform !== "win32") return path.startsWith("/");
  return /^[A-Za-z]:[\\/]|^[\\/]{2}[^\\/]+[\\/]+[^\\/]/.test(path);
}

const getJoin = (platform: NodeJS.Platform) => (platform === "win32" ? win32.join : posix.join);

/**
 * Returns the user's home folder. Returns `null` if the system has no entry for the user, as in many containers, or if
 * the folder is not absolute. A missing home folder is an issue only if a default or a `~` needs it.
 */
export function findHomeDir(platform: NodeJS.Platform = process.platform): string | null {
  for (const ask of [homedir, () => userInfo().homedir]) {
    try {
      const home = ask();
      // An empty HOME counts as unset.
      if (home !== "") return isFullyQualifiedPath(home, platform) ? home : null;
    } catch {
      // Try the next source.
    }
  }
  return null;
}

/** Expands a leading `~`; returns `null` if the result is not absolute or there is no home folder. */
export function resolveAbsolutePath(
  text: string,
  home: string | null,
  platform: NodeJS.Platform = process.platform,
): string | null {
  const isBelowHome = text === "~" || /^~[/\\]/.test(text);
  if (isBelowHome && home === null) return null;
  const expanded = isBelowHome ? getJoin(platform)(home ?? "", text.slice(1)) : text;
  if (!isFullyQualifiedPath(expanded, platform) || expanded.includes("\0")) return null;
  return platform === "win32" ? stripTrailingDotsAndSpaces(expanded) : expanded;
}

/** Removes trailing dots and spaces on Windows. Node keeps them and creates folders that other programs cannot open. */
function stripTrailingDotsAndSpaces(path: string): string {
  return path.startsWith("\\\\?\\") ? path : path.replace(/([^\\/. ])[. ]+(?=[\\/]|$)/g, "$1");
}

/** The platform's folder for program state; `null` if the environment has no absolute path for it. */
export function deriveDefaultStateDir(
  env: Environment,
  platform: NodeJS.Platform,
  home: string | null,
): string | null {
  const joinBelow = (parent: string | null, ...names: string[]): string | null =>
    parent === null || !isFullyQualifiedPath(parent, platform)
      ? null
      : getJoin(platform)(parent, ...names, FOLDER_NAME);
  if (platform === "darwin") return joinBelow(home, "Library", "Application Support");
  if (platform === "win32") {
    const local = readVariable(env, "LOCALAPPDATA");
    return local === undefined ? joinBelow(home, "AppData", "Local") : joinBelow(local);
  }
  // The XDG specification says to ignore relative paths.
  return joinBelow(readVariable(env, "XDG_STATE_HOME") ?? null) ?? joinBelow(home, ".local", "state");
}

/** Finds the state folder before the settings are validated; `null` if there is none or the given folder is invalid. */
export function resolveStateDir(env: Environment): string | null {
  const home = findHomeDir();
  const stateDir = readVariable(env, "AUDIO_STATE_DIR");
  return stateDir === undefined
    ? deriveDefaultStateDir(env, process.platform, home)
    : resolveAbsolutePath(stateDir, home);
}
