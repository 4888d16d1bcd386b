/** Owns the blotting out of secrets in any text that leaves the process; knows no sink. */

export type Redact = (text: string) => string;

const MASK = "[redacted]";

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

/**
 * Makes a function that replaces every given secret, in any spelling, and anything behind `Bearer`.
 *
 * @param secrets values that must never be printed; empty ones are ignored
 */
export function createRedact(secrets: readonly (string | undefined)[]): Redact {
  const needles = secrets.flatMap((secret) => (secret === undefined ? [] : spellings(secret)));
  return (text) => {
    let clean = text;
    for (const needle of needles) clean = clean.replaceAll(needle, MASK);
    return clean.replace(/\bBearer\s+(?!\[redacted\])[^\s"',;]+/gi, `Bearer ${MASK}`);
  };
}
