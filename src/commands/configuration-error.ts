/** What commands derive from settings beside the configuration: their secrets, and the error about their faults. */
import type { Config } from "../config/config.ts";
import { unknownVariableWords } from "../config/unknown-variables.ts";
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

interface Password {
  /** Alone, as the URL spells it and as it is. */
  readonly plain: readonly string[];
  /** With the user's name, as URLs and basic authentication have it: certainly no ordinary text. */
  readonly withUser: readonly string[];
}

function passwordIn(url: string | undefined): Password {
  if (url === undefined || !URL.canParse(url)) return { plain: [], withUser: [] };
  const { username, password } = new URL(url);
  if (password === "") return { plain: [], withUser: [] };
  const pair = `${decoded(username)}:${decoded(password)}`;
  return {
    plain: [password, decoded(password)],
    withUser: [`:${password}@`, `:${decoded(password)}@`, Buffer.from(pair).toString("base64")],
  };
}

const passwordsOf = (env: Environment): Password[] => URLS.map((name) => passwordIn(readValue(env, name)));

const keyOf = (env: Environment): string[] => {
  const key = readValue(env, "AUDIO_API_KEY");
  return key === undefined ? [] : [key];
};

/** No word, name or number that somebody may want to have read aloud: long, in one piece, letters and digits mixed. */
const isNoOrdinaryText = (password: string): boolean =>
  /^\S{12,}$/.test(password) && /\p{L}/u.test(password) && /\p{N}/u.test(password);

/**
 * Everything in the environment that must never be printed, usable or not: a key is a secret also while the
 * address beside it is faulty.
 */
export function secretsOf(env: Environment): string[] {
  return [...keyOf(env), ...passwordsOf(env).flatMap(({ plain, withUser }) => [...plain, ...withUser])];
}

/**
 * What is certainly a secret wherever it turns up: the key, and a password with its user's name or one that can be
 * no ordinary text. A call that holds one of these is refused; a password such as "narrator" must not keep anybody
 * from having that word read aloud.
 */
export function unmistakableSecretsOf(env: Environment): string[] {
  const passwords = passwordsOf(env).flatMap(({ plain, withUser }) => [
    ...plain.filter(isNoOrdinaryText),
    ...withUser,
  ]);
  return [...keyOf(env), ...passwords];
}

/** @throws AudioError `configuration_error` where there is none */
export function outputDirOf(config: Config): string {
  if (config.outputDir === null) throw configurationError(config);
  return config.outputDir;
}

/** All faults of a configuration in one error: every tool but `list_voices` answers with it. */
export function configurationError(config: Config): AudioError {
  const faults = config.faults.map(({ message, fix }) => `${message} ${fix}`);
  const words = [...faults, ...config.unknownVariables.map(unknownVariableWords)];
  return new AudioError("configuration_error", `${words.join(" ")} Nothing was sent or charged.`);
}
