/** The maximum cost of a run of the contract suite, to be stated before the run. */

/**
 * Maximum number of tasks that a run creates on the account of its key, each with a prompt of a few words. The suite
 * checks it.
 */
export const MAX_SUITE_TASKS = 18;
