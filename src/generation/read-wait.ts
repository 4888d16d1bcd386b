/** Owns the words for a query or download that has to wait its turn; decides nothing. */
import type { ReadWaitReason } from "../limits/limits.ts";

const REASONS: Record<ReadWaitReason, string> = {
  rate: "Waiting for the 60 questions a minute that the service answers",
  paused: "The service asked for a pause",
};

/** @param waitMs until it is tried again */
export function describeReadWait(reason: ReadWaitReason, waitMs: number): string {
  return `${REASONS[reason]}; about ${Math.max(1, Math.ceil(waitMs / 1000))} s left`;
}
