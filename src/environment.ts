/** Reads single values of the environment, and finds the state folder; loads nothing else, because every start needs it first. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

const NAME = "audio-generation-mcp";

/** A variable's value; empty ones and placeholders that a client failed to substitute count as unset. */
export function readValue(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  if (value === undefined || value === "" || /^\$\{[^}]*\}$/.test(value)) return undefined;
  return value;
}

/** An absolute path, a leading `~` expanded; `null` for anything that is not one. */
export function absoluteFolder(text: string, home: string): string | null {
  const expanded = text === "~" || /^~[/\\]/.test(text) ? join(home, text.slice(1)) : text;
  return isAbsolute(expanded) && !expanded.includes("\0") ? expanded : null;
}

/** Where the platform keeps the state of programs. */
export function defaultStateFolder(env: Environment, platform: NodeJS.Platform, home: string): string {
  if (platform === "darwin") return join(home, "Library", "Application Support", NAME);
  if (platform === "win32") return join(env["LOCALAPPDATA"] ?? join(home, "AppData", "Local"), NAME);
  const xdg = env["XDG_STATE_HOME"];
  return join(xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, ".local", "state"), NAME);
}

/** The state folder before any setting is judged; a faulty one counts as unset. */
export function stateFolder(env: Environment): string {
  const home = homedir();
  const given = readValue(env, "AUDIO_STATE_DIR");
  return (
    (given === undefined ? null : absoluteFolder(given, home)) ??
    defaultStateFolder(env, process.platform, home)
  );
}
