/** Finds the secrets of the environment, which no output may contain. */
import { type Environment, readVariable } from "../environment.ts";
import { decodePercent } from "../percent-decoding.ts";

const VARIABLES_WITH_PASSWORDS = [
  "AUDIO_BASE_URL",
  "AUDIO_STORE_URL",
  ...["HTTPS_PROXY", "HTTP_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
];

interface Password {
  /** The password without the user name, in two forms: percent-encoded as in the URL, and decoded. */
  readonly plain: readonly string[];
  /**
   * The password as it occurs in URLs (`:password@`) and in basic authentication. Neither form occurs in ordinary text
   * by chance.
   */
  readonly withUser: readonly string[];
}

function findPassword(url: string | undefined): Password {
  if (url === undefined || !URL.canParse(url)) return { plain: [], withUser: [] };
  const { username, password } = new URL(url);
  if (password === "") return { plain: [], withUser: [] };
  const pair = `${decodePercent(username)}:${decodePercent(password)}`;
  return {
    plain: [password, decodePercent(password)],
    withUser: [`:${password}@`, `:${decodePercent(password)}@`, Buffer.from(pair).toString("base64")],
  };
}

const findPasswords = (env: Environment): Password[] =>
  VARIABLES_WITH_PASSWORDS.map((name) => findPassword(readVariable(env, name)));

const findApiKeys = (env: Environment): string[] => {
  const key = readVariable(env, "AUDIO_API_KEY");
  return key === undefined ? [] : [key];
};

/** Whether a password is clearly no ordinary text: it is long, has no spaces, and mixes letters with digits. */
const cannotBeText = (password: string): boolean =>
  /^\S{12,}$/.test(password) && /\p{L}/u.test(password) && /\p{N}/u.test(password);

/** Lists all secrets in the environment. No output may contain any of them. Works even if some settings are invalid. */
export function listSecrets(env: Environment): string[] {
  return [
    ...findApiKeys(env),
    ...findPasswords(env).flatMap(({ plain, withUser }) => [...plain, ...withUser]),
  ];
}

/**
 * Lists strings that are secrets in any context: the key, passwords as they occur in URLs and basic authentication, and
 * passwords that cannot be ordinary text. A call that contains one of these strings is refused. Other passwords, such
 * as "narrator", are not listed, because they may be words of a text to speak.
 */
export function listCertainSecrets(env: Environment): string[] {
  const passwords = findPasswords(env).flatMap(({ plain, withUser }) => [
    ...plain.filter(cannotBeText),
    ...withUser,
  ]);
  return [...findApiKeys(env), ...passwords];
}
