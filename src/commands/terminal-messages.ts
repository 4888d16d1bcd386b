/** Words what a person at a shell reads: failures, and untrusted text, which is made safe for a terminal. */
import { INVISIBLE_CHARACTERS } from "../contract/unicode.ts";
import type { AudioError } from "../errors.ts";
import { describeCause } from "../log.ts";
import { findRemedy } from "../remedies.ts";
import { CommandError } from "./usage-errors.ts";

/** Describes the failure. Adds the cause if the message does not contain the system's error code. */
export function describeError({ message, cause }: AudioError): string {
  const isExplained = cause === undefined || /\([A-Z][A-Z0-9_]+\)|: [A-Z]+[ :]/.test(message);
  return isExplained ? message : `${message} (${describeCause(cause)})`;
}

/** Converts a failure to the error that ends a command, with its remedy. */
export const commandError = (error: AudioError, redact: (text: string) => string): CommandError =>
  new CommandError(redact(`${describeError(error)} ${findRemedy(error, "terminal")}`));

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
