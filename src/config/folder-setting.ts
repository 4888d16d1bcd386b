/** Validates a setting that names a folder, and explains its issue to a person (docs/reference.md, Configuration). */
import { absoluteFolder, type Environment, isFullyQualifiedPath, readVariable } from "../environment.ts";
import type { ConfigIssue, ConfigSource } from "./config-source.ts";

export interface FolderResult {
  readonly folder: string | null;
  /** Why there is no folder; `null` if there is one. The caller may ignore the issue and use a default. */
  readonly issue: ConfigIssue | null;
}

export function readFolder({ env, platform, home }: ConfigSource, variable: string): FolderResult {
  const kind = platform === "win32" ? "a path with a drive or a server" : "an absolute path";
  const no = (message: string, fix: string): FolderResult => ({
    folder: null,
    issue: { variable, message, fix },
  });
  const text = readVariable(env, variable);
  if (text === undefined) {
    const lack = describeHomeIssue(env, platform);
    return no(`${variable} is not set, and there is no default: ${lack}.`, `Set ${variable} to ${kind}.`);
  }
  const folder = absoluteFolder(text, home, platform);
  if (folder !== null) return { folder, issue: null };
  const statement = `${variable} is ${JSON.stringify(text)}`;
  if (/^~(?:[/\\]|$)/.test(text) && home === null) {
    const lack = describeHomeIssue(env, platform);
    return no(`${statement}, but there is nothing to take for ~: ${lack}.`, `Set ${variable} to ${kind}.`);
  }
  return no(
    `${statement}, which is not ${kind}.`,
    `Set ${variable} to ${kind}, or to one that starts with ~/.`,
  );
}

/** Explains why there is no home folder or state folder, in a clause that follows a colon. */
function describeHomeIssue(env: Environment, platform: NodeJS.Platform): string {
  const names = platform === "win32" ? ["LOCALAPPDATA", "USERPROFILE"] : ["HOME"];
  for (const name of names) {
    const value = readVariable(env, name);
    if (value !== undefined && !isFullyQualifiedPath(value, platform)) {
      return `${name} is ${JSON.stringify(value)}, which is not an absolute path`;
    }
  }
  return "this system names no home folder of this user";
}
