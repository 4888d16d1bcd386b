/** Owns what commands derive from settings beside the configuration: their secrets, and the error about their faults. */
import type { Config } from "../config.ts";
import { type Environment, readValue } from "../environment.ts";
import { AudioError } from "../errors.ts";

const URLS = [
  "AUDIO_BASE_URL",
  "AUDIO_STORE_URL",
  ...["HTTPS_PROXY", "HTTP_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
];

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The password in a URL, also as basic authentication spells it. */
function passwordsIn(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { username, password } = new URL(url);
  if (password === "") return [];
  return [
    password,
    decoded(password),
    Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64"),
  ];
}

/**
 * Everything in the environment that must never be printed, usable or not: a key is a secret also while the
 * address beside it is faulty.
 */
export function secretsOf(env: Environment): string[] {
  const key = readValue(env, "AUDIO_API_KEY");
  return [...(key === undefined ? [] : [key]), ...URLS.flatMap((name) => passwordsIn(readValue(env, name)))];
}

/** All faults of a configuration in one error: every tool but `list_voices` answers with it. */
export function configurationError(config: Config): AudioError {
  const faults = config.faults.map(({ message, fix }) => `${message} ${fix}`);
  return new AudioError("configuration_error", faults.join(" "));
}
