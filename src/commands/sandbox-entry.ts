/** The package's entry `audio-generation-mcp/sandbox`: opens the sandbox's door, or names the packages that are missing. */
import { loadSandbox } from "./sandbox-loader.ts";

// A static export would load the sandbox, and with it the packages, before anything here could look for them.
export const { SandboxUsageError, startSandbox } = await loadSandbox();
