/** Loads the sandbox. Its packages are optional; the error for missing ones contains the install command. */
import manifest from "../../package.json" with { type: "json" };
import { CommandError } from "./usage.ts";

/** The sandbox's packages, which are not bundled. */
export const SANDBOX_PACKAGES = Object.keys(manifest.peerDependencies);

/** Quoted, because `^` is special in some shells. */
const INSTALL = `npm install ${Object.entries(manifest.peerDependencies)
  .map(([name, range]) => `"${name}@${range}"`)
  .join(" ")}`;

const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

function missing(names: readonly string[]): CommandError {
  return new CommandError(
    `the sandbox needs packages that are not installed (${names.join(", ")}); install them beside it with: ${INSTALL}`,
  );
}

/** @throws CommandError naming the missing packages */
export async function loadSandbox(): Promise<typeof import("../sandbox/sandbox.ts")> {
  const absent = SANDBOX_PACKAGES.filter((name) => {
    try {
      import.meta.resolve(name);
      return false;
    } catch {
      return true;
    }
  });
  if (absent.length > 0) throw missing(absent);
  try {
    return await import("../sandbox/sandbox.ts");
  } catch (error) {
    if (isMissingPackage(error)) throw missing(SANDBOX_PACKAGES);
    throw error;
  }
}
