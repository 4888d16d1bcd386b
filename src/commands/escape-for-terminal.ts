/** Makes untrusted text safe for a terminal: escapes control and bidirectional characters. */
import { INVISIBLE_CHARACTERS } from "../contract/unicode.ts";

/**
 * Replaces each control character, and each character that hides text or changes its direction, by an escape such as
 * `\u{1b}`. Replaces line breaks, too.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(
    INVISIBLE_CHARACTERS,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Renders JSON without characters that a terminal interprets. */
export function renderTerminalJson(value: unknown): string {
  const spell = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // Escape UTF-16 code units, as JSON does. Keep the line breaks between the lines of the JSON text.
  return JSON.stringify(value, null, 2).replace(/[^\P{C}\n]|[\u2028\u2029]/gu, (character) =>
    character.split("").map(spell).join(""),
  );
}
