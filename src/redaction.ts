/** Blots secrets out of any text that leaves the process, and finds them in what comes in. */

import { AudioError } from "./errors.ts";

export type Redact = (text: string) => string;

const MASK = "[redacted]";

/** Shorter ones turn up in innocent text; nobody is given such a key. */
const TELLING_LENGTH = 8;

/** A token behind `Bearer`, whose ever it is; ordinary words ("bearer of news") hold no digit. */
const BEARER_TOKEN = /\bBearer\s+(?!\[redacted\])(?=[^\s"',;]*\d)[^\s"',;]+/gi;

/** Spellings in which a secret may turn up: plain, percent-encoded, base64 (as proxies and basic auth do), JSON-escaped. */
function spellings(secret: string): string[] {
  const all = [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
    JSON.stringify(secret).slice(1, -1),
  ];
  return [...new Set(all)].filter((text) => text !== "").sort((a, b) => b.length - a.length);
}

/** A short secret counts only where it stands alone: inside other words it would shred ordinary text. */
function matcher(needle: string): RegExp {
  const literal = needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const isTelling = needle.length >= TELLING_LENGTH;
  return new RegExp(isTelling ? literal : `(?<![A-Za-z0-9_-])${literal}(?![A-Za-z0-9_-])`, "g");
}

/**
 * Makes a function that replaces every given secret, in any spelling, and anything behind `Bearer`.
 *
 * @param secrets values that must never be printed; empty ones are ignored
 */
export function createRedact(secrets: readonly (string | undefined)[]): Redact {
  const needles = secrets.flatMap((secret) => (secret === undefined ? [] : spellings(secret))).map(matcher);
  return (text) => {
    let clean = text;
    for (const needle of needles) clean = clean.replace(needle, MASK);
    return clean.replace(BEARER_TOKEN, `Bearer ${MASK}`);
  };
}

/** Letters as they look: without what nobody sees between them, and in their usual width. */
const asSeen = (text: string): string =>
  text.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "").normalize("NFKC");

/** Whether a text holds a secret, in any spelling; one too short to be told from ordinary text is not looked for. */
export function createDetector(secrets: readonly (string | undefined)[]): (text: string) => boolean {
  const needles = secrets.flatMap((secret) =>
    secret === undefined || secret.length < TELLING_LENGTH ? [] : spellings(secret),
  );
  return (text) => {
    const seen = asSeen(text);
    return needles.some((needle) => text.includes(needle) || seen.includes(needle));
  };
}

/** What a call says ends up at the service, in the ledger and in file names, and the key belongs into none of them. */
export const secretRefused = (what: string): AudioError =>
  new AudioError(
    "invalid_request",
    `${what} this server's API key or a password of its settings. Nothing was sent or stored.`,
    {
      remedy:
        "Call again without it: the key belongs into AUDIO_API_KEY alone. Tell the user where it stood.",
    },
  );
