/** How many of the newest narrations a search of the list reads, because searches would slow down as the ledger grows. */
export const MAX_NARRATIONS_SEARCHED = 500;
