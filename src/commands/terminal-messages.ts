/** Describes failures for a person at a shell, because the server's default remedies address an assistant. */
import type { AudioError, ErrorCode } from "../errors.ts";
import { describeCause } from "../log.ts";
import { CommandError } from "./usage-errors.ts";

const FIX_BY_CODE: Partial<Record<ErrorCode, string>> = {
  invalid_api_key: "Set AUDIO_API_KEY to an active key of the account at this address.",
  network_error:
    "Check the spelling of AUDIO_BASE_URL and this machine's connection; behind a proxy, set HTTPS_PROXY.",
  timeout: "Check AUDIO_BASE_URL and this machine's connection; behind a proxy, set HTTPS_PROXY.",
  unexpected_response:
    "What answers there is not the audio service: check AUDIO_BASE_URL, a path at its end included.",
  api_unavailable: "The service itself is not available: try again later.",
  temporarily_unavailable: "The service itself is not available: try again later.",
  output_not_writable: "Make the folder writable, or set AUDIO_OUTPUT_DIR to one that is.",
  disk_full: "Free disk space, or set AUDIO_OUTPUT_DIR to a folder on another disk.",
};

/** Describes the failure. Adds the cause if the message does not contain the system's error code. */
export function describeError({ message, cause }: AudioError): string {
  const isExplained = cause === undefined || /\([A-Z][A-Z0-9_]+\)|: [A-Z]+[ :]/.test(message);
  return isExplained ? message : `${message} (${describeCause(cause)})`;
}

/** Says how to fix the failure; `undefined` if no fix is known. */
export function describeFix({ code, remedy }: AudioError): string | undefined {
  return remedy ?? FIX_BY_CODE[code];
}

/** Converts a failure to the error that ends a command, with its remedy if it has one. */
export function commandError(error: AudioError, redact: (text: string) => string): CommandError {
  const { remedy } = error;
  return new CommandError(redact(`${describeError(error)}${remedy === undefined ? "" : ` ${remedy}`}`));
}
