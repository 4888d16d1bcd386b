/** Owns what a run of the contract suite may cost, for whoever must say so before; knows no rule. */

/** Tasks that a run creates at most on the account of its key, each with a prompt of a few words. The suite checks it. */
export const SUITE_TASKS_MAX = 18;
