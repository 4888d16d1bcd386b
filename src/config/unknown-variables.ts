/** Finds misspelt settings, because the default would otherwise apply silently (docs/reference.md, Configuration). */
import { computeEditDistance } from "../contract/edit-distance.ts";
import { type Environment, readVariable } from "../environment.ts";

/**
 * An environment variable that is not a setting. `nearest` is the setting with the most similar name; null if no name
 * is similar.
 */
export interface UnknownVariable {
  readonly name: string;
  readonly nearest: string | null;
}

/**
 * Maximum edit distance of a suggestion. It allows one missing or additional word: for AUDIO_URL, AUDIO_BASE_URL is
 * suggested.
 */
const MAX_EDIT_DISTANCE = 6;
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

function findNearest(name: string, settingNames: ReadonlySet<string>): string | null {
  const [best] = [...settingNames]
    .filter((setting) => setting.startsWith("AUDIO_"))
    .map((setting) => ({ setting, distance: computeEditDistance(name.slice(0, 64), setting) }))
    .filter(({ distance }) => distance <= MAX_EDIT_DISTANCE)
    .sort((a, b) => a.distance - b.distance);
  return best?.setting ?? null;
}

/** Describes an unknown variable in one sentence. */
export function describeUnknownVariable({ name, nearest }: UnknownVariable): string {
  const meant = nearest === null ? "" : `; ${nearest} is one`;
  return `${name} is set, but there is no such setting${meant}.`;
}
