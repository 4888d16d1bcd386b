/** Defects of the ledger that the model has found and that are not mended yet. Each is excused as narrowly as can be. */

export const KNOWN_DEFECTS = {
  /**
   * After a restart of the steady clock, the wishes of dead processes stand for as long as the machine ran before,
   * unless the machine's processes are known to be dead.
   */
  oldWishesStand: true,
  /** After a restart, the end of an earlier cooldown is in the far future, so it hides a new cooldown, or counts later. */
  oldCooldownHidesNew: true,
  /** A narration that pays for an unanswered send counts it twice when it is asked to send again. */
  resendIsBilledTwice: true,
  /** A refused or released resend leaves the payer that it was admitted for. */
  payerOfUnsentResendStays: true,
  /** A refused resend writes a count of open sends that it has read before, although a late answer has brought the task. */
  refusalCountsOldSends: true,
} as const;
