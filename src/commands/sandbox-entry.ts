/**
 * The package's entry `audio-generation-mcp/sandbox`: exports the sandbox, or throws an error that names the missing
 * packages.
 */
import { loadSandbox } from "./sandbox-loader.ts";

// A static export would load the sandbox and its packages before the check for missing packages.
export const { SandboxUsageError, startSandbox } = await loadSandbox();
