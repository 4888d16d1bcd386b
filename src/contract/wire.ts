/** Defines the service's path, header and forms of identifiers (docs/contract.md, Endpoints and Identifiers). */
import { countCodePoints, INVISIBLE_CHARACTERS } from "./unicode.ts";

export const GENERATIONS_PATH = "/api/v1/audio/generations";
export const IDEMPOTENCY_KEY_HEADER = "idempotency-key";
export const IDEMPOTENCY_KEY_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

const MAX_TASK_ID_CODE_POINTS = 256;

/** Matches `.` or `..` between separators. A gateway that decodes a path before it routes would leave the path. */
const DOT_SEGMENT = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/**
 * Returns whether an id can be one segment of a path and can be shown: 1 to 256 visible characters, not all of them
 * blanks, and no step to another path.
 */
export function isTaskId(id: string): boolean {
  const isShowable = /\S/.test(id) && id.search(INVISIBLE_CHARACTERS) === -1;
  return isShowable && !DOT_SEGMENT.test(id) && countCodePoints(id) <= MAX_TASK_ID_CODE_POINTS;
}

/** Returns the path of a task. Encodes every character of its id that a segment of a path cannot hold. */
export const buildTaskPath = (taskId: string): string =>
  `${GENERATIONS_PATH}/${encodeURIComponent(taskId).replaceAll("%3A", ":")}`;
