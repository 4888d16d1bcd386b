/** The one error that a person who starts the sandbox may cause. */

/** A start that cannot work: a broken accounts file, a taken port, a bad number. The message is one plain sentence. */
export class SandboxUsageError extends Error {
  override readonly name = "SandboxUsageError";
}
