/** Finds the secrets of the environment, which no output may contain. */
import { type Environment, readVariable } from "../environment.ts";
import { decodePercent } from "../percent-decoding.ts";
import { withoutQuotes } from "./pasting-fault.ts";
import { PROXY_VARIABLES, parseProxyAddress } from "./proxy.ts";

const VARIABLES_WITH_PASSWORDS = ["AUDIO_BASE_URL", "AUDIO_STORE_URL"];

interface Password {
  /** The password without the user name, in two forms: percent-encoded as in the URL, and decoded. */
  readonly plain: readonly string[];
  /**
   * The password as it occurs in URLs (`:password@`) and in basic authentication. Neither form occurs in ordinary text
   * by chance.
   */
  readonly withUser: readonly string[];
}

interface UserAndPassword {
  readonly user: string;
  readonly password: string;
  /** The password as it stands in the variable, if it differs. */
  readonly written?: string;
}

function parseUrlPassword(text: string): UserAndPassword | null {
  if (!URL.canParse(text)) return null;
  const { username, password } = new URL(text);
  return { user: decodePercent(username), password: decodePercent(password), written: password };
}

function parseProxyPassword(text: string): UserAndPassword | null {
  const address = parseProxyAddress(withoutQuotes(text));
  if (typeof address === "string") return parseUrlPassword(text);
  return { ...address, written: encodeURIComponent(address.password) };
}

function listForms(found: UserAndPassword | null): Password {
  if (found === null || found.password === "") return { plain: [], withUser: [] };
  const { user, password, written = password } = found;
  return {
    plain: [written, password],
    withUser: [`:${written}@`, `:${password}@`, Buffer.from(`${user}:${password}`).toString("base64")],
  };
}

function findPasswords(env: Environment): Password[] {
  const readAll = (names: readonly string[]): string[] =>
    names.flatMap((name) => readVariable(env, name) ?? []);
  return [
    ...readAll(VARIABLES_WITH_PASSWORDS).map((text) => listForms(parseUrlPassword(withoutQuotes(text)))),
    ...readAll(PROXY_VARIABLES).map((text) => listForms(parseProxyPassword(text))),
  ];
}

const findApiKeys = (env: Environment): string[] => {
  const key = readVariable(env, "AUDIO_API_KEY");
  return key === undefined ? [] : [...new Set([key, withoutQuotes(key)])];
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
