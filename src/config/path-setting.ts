/**
 * Validates a setting that names a folder or a file, and explains its issue to a person (docs/reference.md,
 * Configuration).
 */
import { type Environment, isFullyQualifiedPath, readVariable, resolveAbsolutePath } from "../environment.ts";
import type { ConfigIssue, ConfigSource } from "./config-source.ts";

export interface PathSettingResult {
  readonly path: string | null;
  /** Why there is no path; `null` if there is one. The caller may ignore the issue and use a default. */
  readonly issue: ConfigIssue | null;
}

/**
 * Reads a variable as an absolute path, and expands a leading `~`. Returns an issue for an unset variable, too. A
 * caller with a default ignores that issue.
 */
export function readPathSetting({ env, platform, home }: ConfigSource, variable: string): PathSettingResult {
  const kind = platform === "win32" ? "a path with a drive or a server" : "an absolute path";
  const buildIssueResult = (message: string, fix: string): PathSettingResult => ({
    path: null,
    issue: { variable, message, fix },
  });
  const text = readVariable(env, variable);
  if (text === undefined) {
    const lack = describeHomeIssue(env, platform);
    return buildIssueResult(
      `${variable} is not set, and there is no default: ${lack}.`,
      `Set ${variable} to ${kind}.`,
    );
  }
  const path = resolveAbsolutePath(text, home, platform);
  if (path !== null) return { path, issue: null };
  const statement = `${variable} is ${JSON.stringify(text)}`;
  if (/^~(?:[/\\]|$)/.test(text) && home === null) {
    const lack = describeHomeIssue(env, platform);
    return buildIssueResult(
      `${statement}, but there is nothing to take for ~: ${lack}.`,
      `Set ${variable} to ${kind}.`,
    );
  }
  return buildIssueResult(
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
