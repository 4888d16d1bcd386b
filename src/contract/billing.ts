/** Reservation and charge of a task (docs/contract.md, Billing). */

export const RESERVED_CREDITS = 150;
export const MINIMUM_CHARGE_CREDITS = 10;
export const MAXIMUM_CHARGE_CREDITS = 150;
const CREDITS_PER_SECOND = 75 / 60;
/** A shorter audio costs as much as one of this length. */
export const MINIMUM_CHARGE_SECONDS = MINIMUM_CHARGE_CREDITS / CREDITS_PER_SECOND;

/**
 * Credits charged for a finished audio: 75 a minute, rounded up by the second, 10 at least, 150 at most.
 *
 * @param audioSeconds exact length in seconds, greater than 0
 */
export function chargeForSeconds(audioSeconds: number): number {
  const exact = CREDITS_PER_SECOND * Math.ceil(audioSeconds);
  return Math.min(MAXIMUM_CHARGE_CREDITS, Math.max(MINIMUM_CHARGE_CREDITS, Math.ceil(exact)));
}
