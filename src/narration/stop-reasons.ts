/** Which failures of a part end a narration's run, and which are that part's alone. */
import { DamagedPartError, PartsDifferError } from "../audio/part-errors.ts";
import type { AudioError, ErrorCode } from "../errors.ts";
import type { NarrationProblem } from "./narration-state.ts";

/** What is wrong with one text or one audio: all other parts may well succeed. */
const OF_ONE_PART: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "task_failed",
  "invalid_request",
  "request_too_large",
  "idempotency_conflict",
  "unexpected_response",
  "too_large",
  "not_found",
]);

export const isOfOnePart = (error: AudioError): boolean => OF_ONE_PART.has(error.code);

/** Attempts that a run makes at a part: the first job makes two, the second one. */
export const MOST_JOBS_A_PART = 2;

export function problemOf(error: AudioError, part: number | null): NarrationProblem {
  const remedy = error.remedy === undefined ? "" : ` ${error.remedy}`;
  return { part, code: error.code, message: `${error.message}${remedy}` };
}

/** What joining found, told of each part that is concerned; `null`: it was something else. */
export function joinProblems(error: unknown, partIndexes: readonly number[]): NarrationProblem[] | null {
  if (error instanceof PartsDifferError) {
    return error.differences.map(({ part, property, value, usual }) => ({
      part: partIndexes[part] ?? null,
      code: "parts_differ",
      message: `Its audio has ${property} ${value}, where most parts have ${usual}; it cannot go into one file with them. The parts are kept.`,
    }));
  }
  if (error instanceof DamagedPartError) {
    const part = partIndexes[error.part] ?? null;
    return [{ part, code: "unexpected_response", message: `Its audio is damaged: ${error.why}.` }];
  }
  return null;
}
