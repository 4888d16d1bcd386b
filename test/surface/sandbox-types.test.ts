/** Checks that the published types of the sandbox match its code. */
import { expectTypeOf, it } from "vitest";
import type * as entry from "../../src/commands/sandbox-entry.ts";
import type * as code from "../../src/sandbox/sandbox.ts";
import type * as published from "../../types/sandbox.d.ts";

it("publishes types that match the code of the sandbox", () => {
  // The compiler checks that the code accepts all published options, and returns the published types.
  expectTypeOf<published.SandboxOptions>().toExtend<code.SandboxOptions>();
  // A renamed option would pass the line above, because all options are optional.
  expectTypeOf<keyof published.SandboxOptions>().toExtend<keyof code.SandboxOptions>();
  expectTypeOf<Required<code.SandboxOptions>["accounts"]>().toEqualTypeOf<published.AccountsFile>();
  expectTypeOf<code.RunningSandbox>().toEqualTypeOf<published.RunningSandbox>();
  expectTypeOf<typeof code.startSandbox>().toExtend<typeof published.startSandbox>();
  expectTypeOf<typeof entry.startSandbox>().toEqualTypeOf<typeof code.startSandbox>();
  expectTypeOf<typeof entry.SandboxUsageError>().toEqualTypeOf<typeof code.SandboxUsageError>();
  expectTypeOf<code.SandboxUsageError>().toExtend<published.SandboxUsageError>();
});
