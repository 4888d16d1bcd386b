/** How many of the newest narrations a search reads. Without limits, searches would slow down as the ledger grows. */

/** For a search by a person, and for the owner of a file name. */
export const MAX_NARRATIONS_SEARCHED = 500;

/**
 * For the file that a new narration may replace. Usually the file is of a recent narration. If it is older, the owner of its
 * name is searched by {@link MAX_NARRATIONS_SEARCHED}.
 */
export const MAX_NARRATIONS_SEARCHED_FOR_REPLACEMENT = 50;

/** For retakes that an edited text keeps. Each narration's plan is read, and a text is usually edited soon. */
export const MAX_NARRATIONS_SEARCHED_FOR_RETAKES = 20;
