/** Reads settings of each kind, and collects their issues (docs/reference.md, Configuration). */
import { parseDecimal } from "../contract/decimal.ts";
import { readVariable } from "../environment.ts";
import type { ConfigIssue, ConfigSource } from "./config-source.ts";
import { readPathSetting } from "./path-setting.ts";

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
   * Reads an absolute path. For an invalid value, returns null instead of the default, because the user did not choose
   * the default folder.
   *
   * @param isNeeded whether a missing value without a default is an issue
   */
  readPath(name: string, fallback: string | null, isNeeded = true): string | null {
    const isGiven = this.readText(name) !== undefined;
    const { path, issue } = readPathSetting(this.source, name);
    if (issue !== null && (isGiven || (fallback === null && isNeeded))) this.issues.push(issue);
    return isGiven ? path : fallback;
  }
}

/** Returns a check that accepts numbers from `minimum` to `maximum`, both included. */
export const createRangeCheck = (minimum: number, maximum: number) => (value: number) =>
  value >= minimum && value <= maximum;
