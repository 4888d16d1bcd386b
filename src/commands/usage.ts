/** Errors of the command line, each one sentence. */

/** Wrong words on the command line: exit 2. */
export class UsageError extends Error {}

/** A command that could not do its work: exit 1. */
export class CommandError extends Error {}
