/** Describes failures for a person at a shell. */
import type { AudioError } from "../errors.ts";
import { describeCause } from "../log.ts";
import { findRemedy } from "../server/remedies.ts";
import { CommandError } from "./usage-errors.ts";

/** Describes the failure. Adds the cause if the message does not contain the system's error code. */
export function describeError({ message, cause }: AudioError): string {
  const isExplained = cause === undefined || /\([A-Z][A-Z0-9_]+\)|: [A-Z]+[ :]/.test(message);
  return isExplained ? message : `${message} (${describeCause(cause)})`;
}

/** Converts a failure to the error that ends a command, with its remedy. */
export const commandError = (error: AudioError, redact: (text: string) => string): CommandError =>
  new CommandError(redact(`${describeError(error)} ${findRemedy(error, "terminal")}`));
