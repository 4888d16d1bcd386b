/** Implements the credit rules of grants: access, balance, reservation and charge (docs/contract.md, Billing). */
import type { GrantTerms } from "./accounts-file.ts";

/** A grant with its reserved and charged credits. The rest of `credits` is left for new tasks. */
export interface Grant extends GrantTerms {
  reserved: number;
  charged: number;
}

/** The credits that a task's reservation takes from one grant. */
export interface GrantReservation {
  readonly grant: Grant;
  readonly credits: number;
}

/** Returns when a grant expires. The far future stands for never. */
const computeExpiryMs = (grant: GrantTerms): number =>
  grant.expires_at === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(grant.expires_at);

/** Returns false for an expired, refunded or disputed grant, which gives neither credits nor access. */
const isUsable = (grant: GrantTerms, wallMs: number): boolean =>
  grant.state === "paid" && wallMs < computeExpiryMs(grant);

/** Returns whether an account may create tasks: it needs a paid pack or an active paid subscription, not only gifts. */
export function hasUnlockingGrant(grants: readonly GrantTerms[], wallMs: number): boolean {
  return grants.some((grant) => grant.kind !== "gift" && isUsable(grant, wallMs));
}

const countAvailableCredits = (grant: Grant): number =>
  Math.max(0, grant.credits - grant.reserved - grant.charged);

/** Sums the credits that a new task could reserve now. */
export function sumAvailableCredits(grants: readonly Grant[], wallMs: number): number {
  return grants.reduce((sum, grant) => sum + (isUsable(grant, wallMs) ? countAvailableCredits(grant) : 0), 0);
}

/**
 * Chooses the grants from which a reservation takes its credits. Grants that expire first are used first, so that fewer
 * credits expire unused.
 *
 * @returns how many credits to reserve in each grant, in the order in which the grants are used; `undefined` when fewer
 *   than `credits` are available
 */
export function planReservation(
  grants: readonly Grant[],
  credits: number,
  wallMs: number,
): GrantReservation[] | undefined {
  const byExpiry = grants
    .filter((grant) => isUsable(grant, wallMs) && countAvailableCredits(grant) > 0)
    .sort((one, other) => computeExpiryMs(one) - computeExpiryMs(other));
  const grantReservations: GrantReservation[] = [];
  let missingCredits = credits;
  for (const grant of byExpiry) {
    if (missingCredits === 0) break;
    const takenCredits = Math.min(missingCredits, countAvailableCredits(grant));
    grantReservations.push({ grant, credits: takenCredits });
    missingCredits -= takenCredits;
  }
  return missingCredits === 0 ? grantReservations : undefined;
}

/**
 * Adds a planned reservation to the reserved credits of its grants. Does not check the available credits, because
 * {@link planReservation} has checked them.
 */
export function reserve(grantReservations: readonly GrantReservation[]): void {
  for (const { grant, credits } of grantReservations) grant.reserved += credits;
}

/**
 * Ends a reservation. Takes the charge from the reserved credits, grant by grant, in the order of `grantReservations`.
 * The other reserved credits return to their grants, whose expiry dates do not change (docs/contract.md, Billing).
 */
export function endReservation(grantReservations: readonly GrantReservation[], chargeCredits: number): void {
  let owed = chargeCredits;
  for (const { grant, credits } of grantReservations) {
    const charged = Math.min(owed, credits);
    grant.reserved -= credits;
    grant.charged += charged;
    owed -= charged;
  }
}
