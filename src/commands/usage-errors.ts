/** Errors of the command line, printed as one sentence. */

/** Wrong usage of the command line: exit code 2. */
export class UsageError extends Error {}

/** A failed command: exit code 1. */
export class CommandError extends Error {}
