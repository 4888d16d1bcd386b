/** Finds the secrets of the environment, which no output may contain. */
import { type Environment, readVariable } from "../environment.ts";
import { decodePercent } from "../percent-decoding.ts";
import { withoutQuotes } from "./pasting-fault.ts";
import { PROXY_VARIABLES, parseProxyAddress } from "./proxy.ts";

const VARIABLES_WITH_PASSWORDS = ["AUDIO_BASE_URL", "AUDIO_STORE_URL"];

interface UserAndPassword {
  readonly user: string;
  readonly password: string;
  /** The password as it stands in URLs: percent-encoded. */
  readonly written: string;
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

/** The password alone, in two forms: percent-encoded as in the URL, and decoded. */
const listPlainForms = ({ password, written }: UserAndPassword): string[] => [written, password];

/**
 * The password as it occurs in URLs (`:password@`) and in basic authentication. Neither form occurs in ordinary text by
 * chance.
 */
const listFormsWithUser = ({ user, password, written }: UserAndPassword): string[] => [
  `:${written}@`,
  `:${password}@`,
  Buffer.from(`${user}:${password}`).toString("base64"),
];

function findPasswords(env: Environment): UserAndPassword[] {
  const readAll = (names: readonly string[]): string[] =>
    names.flatMap((name) => readVariable(env, name) ?? []);
  return [
    ...readAll(VARIABLES_WITH_PASSWORDS).map((text) => parseUrlPassword(withoutQuotes(text))),
    ...readAll(PROXY_VARIABLES).map(parseProxyPassword),
  ].filter((found): found is UserAndPassword => found !== null && found.password !== "");
}

const findApiKeys = (env: Environment): string[] => {
  const key = readVariable(env, "AUDIO_API_KEY");
  return key === undefined ? [] : [...new Set([key, withoutQuotes(key)])];
};

/** Whether a password is clearly no ordinary text: it is long, has no spaces, and mixes letters with digits. */
const cannotBeText = (password: string): boolean =>
  /^\S{12,}$/.test(password) && /\p{L}/u.test(password) && /\p{N}/u.test(password);

/** Lists all secrets in the environment. No output may contain any of them. Works even if some settings are invalid. */
export const listSecrets = (env: Environment): string[] => [
  ...findApiKeys(env),
  ...findPasswords(env).flatMap((found) => [...listPlainForms(found), ...listFormsWithUser(found)]),
];

/**
 * Lists strings that are secrets in any context: the key, passwords as they occur in URLs and basic authentication, and
 * passwords that cannot be ordinary text. A call that contains one of these strings is refused. Other passwords, such
 * as "narrator", are not listed, because they may be words of a text to speak.
 */
export const listCertainSecrets = (env: Environment): string[] => [
  ...findApiKeys(env),
  ...findPasswords(env).flatMap((found) => [
    ...listPlainForms(found).filter(cannotBeText),
    ...listFormsWithUser(found),
  ]),
];
