/** Holds the sandbox's code to the types that the package publishes, and the types to the code. */
import { expectTypeOf, it } from "vitest";
import type * as entry from "../../src/commands/sandbox-entry.ts";
import type * as code from "../../src/sandbox/sandbox.ts";
import type * as published from "../../types/sandbox.d.ts";

it("publishes types of the sandbox that its code keeps", () => {
  // Checked by the compiler. Everything that may be given is taken, and everything that comes back is as promised.
  expectTypeOf<published.SandboxOptions>().toExtend<code.SandboxOptions>();
  expectTypeOf<Required<code.SandboxOptions>["accounts"]>().toEqualTypeOf<published.AccountsFile>();
  expectTypeOf<code.RunningSandbox>().toEqualTypeOf<published.RunningSandbox>();
  expectTypeOf<typeof code.startSandbox>().toExtend<typeof published.startSandbox>();
  expectTypeOf<typeof entry.startSandbox>().toEqualTypeOf<typeof code.startSandbox>();
  expectTypeOf<typeof entry.SandboxUsageError>().toEqualTypeOf<typeof code.SandboxUsageError>();
  expectTypeOf<code.SandboxUsageError>().toExtend<published.SandboxUsageError>();
});
