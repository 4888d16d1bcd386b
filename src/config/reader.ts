/** Reads single settings of each kind, and collects what is wrong with them (docs/reference.md, Configuration). */
import { decimalIn } from "../contract/decimal.ts";
import { readValue } from "../environment.ts";
import { readFolder } from "./folder-setting.ts";
import type { ConfigFault, Surroundings } from "./surroundings.ts";

/**
 * Collects faults while it reads, so that a person sees all of them at once. No method throws: each returns a usable
 * value, the default if the given one is invalid (but see {@link Reader.folder}).
 */
export class Reader {
  readonly faults: ConfigFault[] = [];
  /** Every variable that was read, whether it is set or not. */
  readonly asked = new Set<string>();
  readonly surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
  }

  fault(variable: string, message: string, fix: string): undefined {
    this.faults.push({ variable, message, fix });
    return undefined;
  }

  /** `undefined`: unset, empty, or a placeholder that a client did not fill in. */
  text(name: string): string | undefined {
    this.asked.add(name);
    return readValue(this.surroundings.env, name);
  }

  /** @param rule what a value must be, as a clause behind "must be" and "Set NAME to" */
  number(name: string, fallback: number, accepts: (value: number) => boolean, rule: string): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = decimalIn(text) ?? Number.NaN;
    if (accepts(value)) return value;
    this.fault(
      name,
      `${name} is ${JSON.stringify(text)}, but it must be ${rule}.`,
      `Set ${name} to ${rule}.`,
    );
    return fallback;
  }

  choice<T extends string>(name: string, values: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = values.find((candidate) => candidate === text);
    const known = values.join(", ");
    return (
      value ??
      this.fault(name, `${name} is ${JSON.stringify(text)}, which is not known.`, `Use one of: ${known}.`)
    );
  }

  /**
   * Returns `null` for an invalid value too, because the default would be a folder that nobody chose.
   *
   * @param isNeeded whether a missing value without a default is a fault
   */
  folder(name: string, fallback: string | null, isNeeded = true): string | null {
    const isGiven = this.text(name) !== undefined;
    const { folder, fault } = readFolder(this.surroundings, name);
    if (fault !== null && (isGiven || (fallback === null && isNeeded))) this.faults.push(fault);
    return isGiven ? folder : fallback;
  }
}

/** Accepts numbers from `minimum` to `maximum`, both included. */
export const between = (minimum: number, maximum: number) => (value: number) =>
  value >= minimum && value <= maximum;
