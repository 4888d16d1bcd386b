/** Keeps threads startable after the working folder was removed, as clients do with the folder of a git worktree. */
import { existsSync } from "node:fs";
import { parse } from "node:path";

/** Leaves the working folder if it was removed, because no thread starts in such a folder. Call it before each start. */
export function leaveRemovedFolder(): void {
  try {
    // Node remembers the folder, so its path may lead nowhere.
    if (existsSync(process.cwd())) return;
  } catch {
    // The folder was already removed when the process started.
  }
  process.chdir(parse(process.execPath).root);
}
