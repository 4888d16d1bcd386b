/**
 * Loads the sandbox, whose packages are optional. If some are missing, the error names the npm package that installs
 * them.
 */
import manifest from "../../package.json" with { type: "json" };
import { CommandError } from "./usage-errors.ts";

/** The sandbox's packages, which are not bundled. */
export const SANDBOX_PACKAGES = Object.keys(manifest.peerDependencies);

const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

/**
 * The error for missing packages. The message also says how to change the client's settings, because users of the .mcpb
 * bundle have no terminal.
 */
function missingPackagesError(names: readonly string[]): CommandError {
  return new CommandError(
    `the sandbox needs packages that are not installed here (${names.join(", ")}). The package ${manifest.name}-sandbox brings them: in your client's settings file (Claude Desktop: Settings, Developer, Edit Config) replace this server's entry by { "command": "npx", "args": ["-y", "${manifest.name}-sandbox"] } and restart the client; in Claude Code run "claude mcp add audio-generation -- npx -y ${manifest.name}-sandbox". In a copy of the source: npm ci`,
  );
}

/**
 * Loads the sandbox.
 *
 * @throws CommandError naming the missing packages
 */
export async function loadSandbox(): Promise<typeof import("../sandbox/sandbox.ts")> {
  const absent = SANDBOX_PACKAGES.filter((name) => {
    try {
      import.meta.resolve(name);
      return false;
    } catch {
      return true;
    }
  });
  if (absent.length > 0) throw missingPackagesError(absent);
  try {
    return await import("../sandbox/sandbox.ts");
  } catch (error) {
    if (isMissingPackage(error)) throw missingPackagesError(SANDBOX_PACKAGES);
    throw error;
  }
}
