/** Reads single values of the environment, and finds home and state folder; loads nothing else, because every start needs it first. */
import { homedir, userInfo } from "node:os";
import { posix, win32 } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

const NAME = "audio-generation-mcp";

/** A variable's value; empty ones and placeholders that a client failed to substitute count as unset. */
export function readValue(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  if (value === undefined || value === "" || /^\$\{[^}]*\}$/.test(value)) return undefined;
  return value;
}

/** Whether a path means the same from every current folder: on Windows `/x` does not, for it lacks the drive. */
export function isRooted(path: string, platform: NodeJS.Platform = process.platform): boolean {
  if (platform !== "win32") return path.startsWith("/");
  return /^[A-Za-z]:[\\/]|^[\\/]{2}[^\\/]+[\\/]+[^\\/]/.test(path);
}

const joinFor = (platform: NodeJS.Platform) => (platform === "win32" ? win32.join : posix.join);

/**
 * The person's home folder; `null` where the system knows none (a user without an entry, as in many containers) or
 * names one that is not absolute. That is a fault only where a default or a `~` needs it.
 */
export function homeFolder(platform: NodeJS.Platform = process.platform): string | null {
  for (const ask of [homedir, () => userInfo().homedir]) {
    try {
      const home = ask();
      // An empty HOME counts as unset.
      if (home !== "") return isRooted(home, platform) ? home : null;
    } catch {
      // The other one may know.
    }
  }
  return null;
}

/** An absolute path, a leading `~` expanded; `null` for anything that is not one, and for a `~` without a home. */
export function absoluteFolder(
  text: string,
  home: string | null,
  platform: NodeJS.Platform = process.platform,
): string | null {
  const isBelowHome = text === "~" || /^~[/\\]/.test(text);
  if (isBelowHome && home === null) return null;
  const expanded = isBelowHome ? joinFor(platform)(home ?? "", text.slice(1)) : text;
  if (!isRooted(expanded, platform) || expanded.includes("\0")) return null;
  return platform === "win32" ? asWindowsReads(expanded) : expanded;
}

/** Windows' programs drop dots and spaces at the end of names; Node keeps them, and makes folders that nobody else can open. */
function asWindowsReads(path: string): string {
  return path.startsWith("\\\\?\\") ? path : path.replace(/([^\\/. ])[. ]+(?=[\\/]|$)/g, "$1");
}

/** Where the platform keeps the state of programs; `null` where the environment names no absolute path for it. */
export function defaultStateFolder(
  env: Environment,
  platform: NodeJS.Platform,
  home: string | null,
): string | null {
  const below = (parent: string | null, ...names: string[]): string | null =>
    parent === null || !isRooted(parent, platform) ? null : joinFor(platform)(parent, ...names, NAME);
  if (platform === "darwin") return below(home, "Library", "Application Support");
  if (platform === "win32") {
    const local = readValue(env, "LOCALAPPDATA");
    return local === undefined ? below(home, "AppData", "Local") : below(local);
  }
  // Its specification has a relative one passed over.
  return below(readValue(env, "XDG_STATE_HOME") ?? null) ?? below(home, ".local", "state");
}

/** The state folder before any setting is judged. `null`: there is none, or what is given cannot be one. */
export function stateFolder(env: Environment): string | null {
  const home = homeFolder();
  const given = readValue(env, "AUDIO_STATE_DIR");
  return given === undefined ? defaultStateFolder(env, process.platform, home) : absoluteFolder(given, home);
}
