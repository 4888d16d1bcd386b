/** A 402 that answers the next question: what the hold is, what this text would come to, and what does not help. */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { estimateCredits } from "../contract/estimate.ts";
import { AudioError } from "../errors.ts";

interface CreditRequest {
  readonly prompt: string;
  /** The factor of its pace that was asked for. */
  readonly speed?: number | undefined;
}

/** Whoever gave a remedy of its own knew more than what the text would cost. */
export const lacksRemedy = (error: AudioError): boolean =>
  error.code === "insufficient_credits" && error.remedy === undefined;

/**
 * The service's refusal for want of credits, told with what this text would about cost; any other error as it is.
 *
 * @param pace how much longer than estimated earlier tasks were
 */
export function explainCredits(
  error: AudioError,
  { prompt, speed = 1 }: CreditRequest,
  pace = 1,
): AudioError {
  if (!lacksRemedy(error)) return error;
  const about = estimateCredits(prompt, speed / pace);
  return new AudioError(error.code, error.message, {
    httpStatus: error.httpStatus,
    taskId: error.taskId,
    idempotencyKey: error.idempotencyKey,
    cause: error.cause,
    remedy: `Nothing was charged. Tell the user that at least ${RESERVED_CREDITS} credits must be available: each task holds ${RESERVED_CREDITS} whatever its length, and no setting lowers that; this text would then cost about ${about} of them, and the rest comes back. Credits held by running tasks come back when those end. After that, or a top-up, repeat the same call.`,
  });
}
