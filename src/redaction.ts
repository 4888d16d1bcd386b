/** Removes secrets from all text that leaves the process, and detects them in arguments. */
import { AudioError } from "./errors.ts";

export type Redact = (text: string) => string;

const REDACTED = "[redacted]";

/**
 * Minimum length of a secret that is removed even inside a word. A shorter secret may be part of an ordinary word. Real
 * API keys are longer.
 */
const MIN_SECRET_LENGTH = 8;

/** Matches a token after `Bearer` if the token contains a digit. Ordinary words ("bearer of news") contain none. */
const BEARER_TOKEN = /\bBearer\s+(?!\[redacted\])(?=[^\s"',;]*\d)[^\s"',;]+/gi;

/**
 * Returns all forms in which a secret may appear: plain, percent-encoded, JSON-escaped, and base64, as in basic
 * authentication.
 */
function listSpellings(secret: string): string[] {
  const spellings = [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
    JSON.stringify(secret).slice(1, -1),
  ];
  return [...new Set(spellings)].filter((text) => text !== "").sort((a, b) => b.length - a.length);
}

/**
 * Returns a pattern for a secret. A short secret matches only as a separate word, because otherwise parts of ordinary
 * words would be removed.
 */
function buildPattern(needle: string): RegExp {
  const literal = needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const isLongEnough = needle.length >= MIN_SECRET_LENGTH;
  return new RegExp(isLongEnough ? literal : `(?<![A-Za-z0-9_-])${literal}(?![A-Za-z0-9_-])`, "g");
}

/**
 * Creates a function that replaces the given secrets in any encoding, and tokens after `Bearer`.
 *
 * @param secrets values that must never be printed; empty values are ignored
 */
export function createRedact(secrets: readonly (string | undefined)[]): Redact {
  const needles = secrets
    .flatMap((secret) => (secret === undefined ? [] : listSpellings(secret)))
    .map(buildPattern);
  return (text) => {
    let clean = text;
    for (const needle of needles) clean = clean.replace(needle, REDACTED);
    return clean.replace(BEARER_TOKEN, `Bearer ${REDACTED}`);
  };
}

/** Normalises letters to their usual width and removes invisible characters between them. */
const toVisibleForm = (text: string): string =>
  text.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "").normalize("NFKC");

/**
 * Creates a function that detects the given secrets in any encoding. Ignores secrets that are too short to
 * distinguish from ordinary text.
 */
export function createDetector(secrets: readonly (string | undefined)[]): (text: string) => boolean {
  const needles = secrets.flatMap((secret) =>
    secret === undefined || secret.length < MIN_SECRET_LENGTH ? [] : listSpellings(secret),
  );
  return (text) => {
    const visibleText = toVisibleForm(text);
    return needles.some((needle) => text.includes(needle) || visibleText.includes(needle));
  };
}

/**
 * Returns the error for a call that contains a secret. Such a call is refused, because the secret would otherwise reach
 * the service, the ledger and file names.
 *
 * @param location what contains the secret, such as "The file name"
 */
export const secretRefusedError = (location: string): AudioError =>
  new AudioError(
    "invalid_request",
    `${location} contains this server's API key or a password of its settings. Nothing was sent or stored.`,
    {
      remedy: {
        assistant:
          "Call again without it: the key belongs in AUDIO_API_KEY alone. Tell the user where it stood.",
        terminal: "Leave it out: the key belongs in AUDIO_API_KEY alone.",
      },
    },
  );
