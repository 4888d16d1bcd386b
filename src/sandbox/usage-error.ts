/** The error that a wrong start of the sandbox causes. */

/** The sandbox cannot start: an invalid accounts file, a used port, an invalid number. The message is one sentence. */
export class SandboxUsageError extends Error {
  override readonly name = "SandboxUsageError";
}
