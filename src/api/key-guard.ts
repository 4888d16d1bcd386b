/** Owns keeping the API key out of everything but its header: of the service's words, of ids, of paths; sends nothing. */
import { GENERATIONS_PATH, isTaskId } from "../contract/wire.ts";
import { AudioError } from "../errors.ts";
import { createDetector, createRedact } from "../redaction.ts";
import { cleanServiceText } from "./service-text.ts";

/** More of a service's text is not looked at. */
const MOST_READ_CODE_POINTS = 4096;

export interface KeyGuard {
  readonly redact: (text: string) => string;
  /** The service's words, fit to show. */
  readonly clean: (text: string) => string;
  readonly holdsKey: (text: string) => boolean;
  /**
   * The path of a task. The id becomes a path segment, so its form is checked here once more, whoever vouches for it.
   *
   * @throws AudioError `invalid_request`
   */
  taskPath(taskId: string): string;
}

export function createKeyGuard(apiKey: string): KeyGuard {
  const redact = createRedact([apiKey]);
  const holdsKey = createDetector([apiKey]);
  return {
    redact,
    // Stripped first and redacted then: a key with something invisible inside is a key all the same.
    clean: (text) => cleanServiceText(redact(cleanServiceText(text, MOST_READ_CODE_POINTS))),
    holdsKey,
    taskPath(taskId) {
      if (isTaskId(taskId) && !holdsKey(taskId)) return `${GENERATIONS_PATH}/${taskId}`;
      throw new AudioError("invalid_request", "The task id does not have the form of an id.");
    },
  };
}
