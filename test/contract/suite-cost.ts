/** The maximum cost of a run of the contract suite, to be stated before the run. */

/**
 * Maximum number of tasks that a run creates on the account of the target's key. Each task has a prompt of a few words.
 * The suite checks that the run creates no more.
 */
export const MAX_SUITE_TASKS = 18;
