/** Defines the error for a sandbox that cannot start with its options. */

/** Thrown if an option of the sandbox is unusable, such as an invalid accounts file or a port in use. */
export class SandboxUsageError extends Error {
  override readonly name = "SandboxUsageError";
}
