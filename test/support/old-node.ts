/** Finds a Node on this machine that is too old for the program. */
import { execFileSync } from "node:child_process";
import { delimiter, join } from "node:path";

/** Returns the first such Node on the PATH, or `null` if there is none. */
export function findOldNode(): string | null {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const candidate = join(folder, "node");
    try {
      const version = execFileSync(candidate, ["--version"], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
      const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
      if (major < 22 || (major === 22 && minor < 19)) return candidate;
    } catch {
      // This folder contains no Node.
    }
  }
  return null;
}
