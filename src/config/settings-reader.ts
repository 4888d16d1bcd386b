/** Reads settings of each kind from their source, and collects their issues (docs/reference.md, Configuration). */
import { parseDecimal } from "../contract/numbers.ts";
import type { Environment } from "../environment.ts";
import { isFullyQualifiedPath, readVariable, resolveAbsolutePath } from "../environment.ts";

/**
 * Reads settings and collects their issues, so that a person sees all issues at once. No method throws. An invalid
 * value is replaced by the default. Exceptions are paths, which become null, and the budget, which becomes 0.
 */
export class SettingsReader {
  readonly issues: ConfigIssue[] = [];
  /** Every variable that was read, whether it is set or not. */
  readonly namesRead = new Set<string>();
  readonly source: ConfigSource;

  constructor(configSource: ConfigSource) {
    this.source = configSource;
  }

  addIssue(variable: string, message: string, fix: string): undefined {
    this.issues.push({ variable, message, fix });
    return undefined;
  }

  /** Returns undefined for a variable that is unset, empty, or a placeholder that a client did not fill in. */
  readText(name: string): string | undefined {
    this.namesRead.add(name);
    return readVariable(this.source.env, name);
  }

  /**
   * Reads a number.
   *
   * @param rule describes a valid value, in words that follow "must be" and "Set NAME to"
   */
  readNumber(name: string, fallback: number, accepts: (value: number) => boolean, rule: string): number {
    const text = this.readText(name);
    if (text === undefined) return fallback;
    const value = parseDecimal(text) ?? Number.NaN;
    if (accepts(value)) return value;
    this.addIssue(
      name,
      `${name} is ${JSON.stringify(text)}, but it must be ${rule}.`,
      `Set ${name} to ${rule}.`,
    );
    return fallback;
  }

  readChoice<T extends string>(name: string, values: readonly T[]): T | undefined {
    const text = this.readText(name);
    if (text === undefined) return undefined;
    const value = values.find((candidate) => candidate === text);
    const choices = values.join(", ");
    return (
      value ??
      this.addIssue(
        name,
        `${name} is ${JSON.stringify(text)}, which is not known.`,
        `Use one of: ${choices}.`,
      )
    );
  }

  /**
   * Reads an absolute path, and expands a leading `~`. For an invalid value, returns null instead of the default, because the user did not choose
   * the default folder.
   *
   * @param isNeeded whether a missing value without a default is an issue
   */
  readPath(name: string, fallback: string | null, isNeeded = true): string | null {
    const { env, platform, home } = this.source;
    const kind = platform === "win32" ? "a path with a drive or a server" : "an absolute path";
    const text = this.readText(name);
    if (text === undefined) {
      const statement = `${name} is not set, and there is no default: ${describeHomeIssue(env, platform)}.`;
      if (fallback === null && isNeeded) this.addIssue(name, statement, `Set ${name} to ${kind}.`);
      return fallback;
    }
    const path = resolveAbsolutePath(text, home, platform);
    if (path !== null) return path;
    const lacksHome = /^~(?:[/\\]|$)/.test(text) && home === null;
    const reason = lacksHome
      ? `but there is nothing to take for ~: ${describeHomeIssue(env, platform)}`
      : `which is not ${kind}`;
    const other = lacksHome ? "" : ", or to one that starts with ~/";
    this.addIssue(name, `${name} is ${JSON.stringify(text)}, ${reason}.`, `Set ${name} to ${kind}${other}.`);
    return null;
  }
}

/** Returns a check that accepts numbers from `minimum` to `maximum`, both included. */
export const createRangeCheck = (minimum: number, maximum: number) => (value: number) =>
  value >= minimum && value <= maximum;

/** One issue of the configuration, and how to correct it. */
export interface ConfigIssue {
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
}

/** The environment variables, and the facts of the system that determine defaults and the meaning of `~`. */
export interface ConfigSource {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  /** The user's home folder; null if the system does not state one. */
  readonly home: string | null;
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
