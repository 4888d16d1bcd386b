/** Explains a 402: the reserved credits, the estimated cost of this text, and what to do. */
import { estimateCredits } from "../contract/estimate.ts";
import type { AudioError } from "../errors.ts";
import { CREDITS_NEEDED } from "../remedies.ts";

interface CreditRequest {
  readonly prompt: string;
  /** Requested speed factor. */
  readonly speed?: number | undefined;
}

/**
 * Whether the error is an `insufficient_credits` error without a remedy. An existing remedy is kept, because it is more
 * specific.
 */
export const isUnexplainedCreditError = (error: AudioError): boolean =>
  error.code === "insufficient_credits" && error.remedy === undefined;

/**
 * Adds the estimated cost of this text to an `insufficient_credits` error without a remedy.
 *
 * @param calibration ratio of actual to estimated length in earlier tasks
 */
export function explainCredits(
  error: AudioError,
  { prompt, speed = 1 }: CreditRequest,
  calibration: number,
): AudioError {
  const about = estimateCredits(prompt, speed / calibration);
  const needs = `${CREDITS_NEEDED}; no setting lowers that, and this text would then cost about ${about} of them. Credits held by running tasks come back when those end`;
  return error.withRemedy({
    assistant: `Nothing was charged. Tell the user that ${needs}. After that, or a top-up, repeat the same call.`,
    terminal: `Nothing was charged. ${needs.replace("at", "At")}. After that, or a top-up, run the same command again.`,
  });
}
