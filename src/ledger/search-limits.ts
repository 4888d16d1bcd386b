/** How many of the newest narrations a search reads. Without limits, searches would slow down as the ledger grows. */

/** The limit for searches that a person requests, and for searches for the owner of a file name. */
export const MAX_NARRATIONS_SEARCHED = 500;

/**
 * The limit for searches for the narration whose file a new file may replace. This is usually a recent narration. The
 * file of an older narration is not replaced; the new file gets a numbered name.
 */
export const MAX_NARRATIONS_SEARCHED_FOR_REPLACEMENT = 50;

/**
 * The limit for searches for retakes that an edited text can keep. It is low because the search reads each narration's
 * plan, and because a text is usually edited soon after its narration.
 */
export const MAX_NARRATIONS_SEARCHED_FOR_RETAKES = 20;
