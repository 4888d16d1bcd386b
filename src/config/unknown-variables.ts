/** Finds misspelt settings, because the default would otherwise apply silently (docs/reference.md, Configuration). */
import { findNearestName } from "../contract/nearest-names.ts";
import { type Environment, readVariable } from "../environment.ts";

/**
 * An environment variable that is not a setting. `nearest` is the setting with the most similar name; null if no name
 * is similar.
 */
export interface UnknownVariable {
  readonly name: string;
  readonly nearest: string | null;
}

const MAX_NAMED_VARIABLES = 5;

/**
 * Finds variables that begin with `AUDIO_` but are not settings.
 *
 * @param settingNames the names of all settings
 */
export function findUnknownVariables(env: Environment, settingNames: ReadonlySet<string>): UnknownVariable[] {
  // Windows ignores the case of variable names.
  const spelled = (name: string): string => (process.platform === "win32" ? name.toUpperCase() : name);
  return Object.keys(env)
    .filter(
      (name) =>
        /^AUDIO_/i.test(name) && !settingNames.has(spelled(name)) && readVariable(env, name) !== undefined,
    )
    .slice(0, MAX_NAMED_VARIABLES)
    .map((name) => ({ name, nearest: findNearest(name.toUpperCase(), settingNames) }));
}

/** Compares the names without the beginning that all of them share. */
function findNearest(name: string, settingNames: ReadonlySet<string>): string | null {
  const ends = [...settingNames].flatMap((setting) => /^AUDIO_(.+)$/.exec(setting)?.[1] ?? []);
  const end = findNearestName(name.slice("AUDIO_".length), ends);
  return end === null ? null : `AUDIO_${end}`;
}

/** Describes an unknown variable in one sentence. */
export function describeUnknownVariable({ name, nearest }: UnknownVariable): string {
  const meant = nearest === null ? "" : `; ${nearest} is one`;
  return `${name} is set, but there is no such setting${meant}.`;
}
