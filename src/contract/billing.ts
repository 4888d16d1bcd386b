/** Defines the reservation and computes the charge of a task (docs/contract.md, Billing). */

export const RESERVED_CREDITS = 150;
export const MINIMUM_CHARGE_CREDITS = 10;
export const MAXIMUM_CHARGE_CREDITS = 150;
const CREDITS_PER_SECOND = 75 / 60;
/** The duration that the minimum charge pays for. Shorter audio costs the same. */
export const MINIMUM_CHARGE_SECONDS = MINIMUM_CHARGE_CREDITS / CREDITS_PER_SECOND;
/** The duration that the maximum charge pays for. The service may cut off longer audio. */
export const MAXIMUM_CHARGE_SECONDS = MAXIMUM_CHARGE_CREDITS / CREDITS_PER_SECOND;

/**
 * Computes the charge for finished audio: 75 credits a minute, at least 10, at most 150. Rounds up to whole seconds
 * first, then to whole credits.
 *
 * @param audioSeconds exact duration in seconds, greater than 0
 */
export function chargeForSeconds(audioSeconds: number): number {
  const exact = CREDITS_PER_SECOND * Math.ceil(audioSeconds);
  return Math.min(MAXIMUM_CHARGE_CREDITS, Math.max(MINIMUM_CHARGE_CREDITS, Math.ceil(exact)));
}
