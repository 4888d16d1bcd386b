/** A failure in words for a person at a shell: the server's own speak to an assistant in the midst of a call. */
import type { AudioError, ErrorCode } from "../errors.ts";
import { describeCause } from "../log.ts";
import { CommandError } from "./usage.ts";

const FIXES: Partial<Record<ErrorCode, string>> = {
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

/** What happened; most messages name the system's code already, and where one does not, the cause is all there is to go by. */
export function detailOf({ message, cause }: AudioError): string {
  const isExplained = cause === undefined || /\([A-Z][A-Z0-9_]+\)|: [A-Z]+[ :]/.test(message);
  return isExplained ? message : `${message} (${describeCause(cause)})`;
}

/** What mends it; `undefined`: nothing that a person would not know from the detail. */
export function fixOf({ code, remedy }: AudioError): string | undefined {
  return remedy ?? FIXES[code];
}

/** A failure as a command ends with it: with what mends this very one, where it says so. */
export function commandError(error: AudioError, redact: (text: string) => string): CommandError {
  const { remedy } = error;
  return new CommandError(redact(`${detailOf(error)}${remedy === undefined ? "" : ` ${remedy}`}`));
}
