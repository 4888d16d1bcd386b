/** Folders that a test may fill, and that are removed after it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Makes an empty folder, which is removed when the running test ends. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "agm-scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
