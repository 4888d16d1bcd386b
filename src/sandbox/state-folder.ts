/** Makes the folder that a sandbox keeps its state in, and removes a temporary one at the end. */
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SandboxUsageError } from "./usage-error.ts";

export interface StateFolder {
  readonly folder: string;
  readonly close: () => void;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/**
 * Makes a folder and those above it, one level at a time: the recursive way never returns from a folder that
 * exists and takes no children, as there are under `/proc`.
 */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const parent = dirname(path);
    if (!isMissing(error) || parent === path || (await isFolder(parent))) throw error;
    await makeFolder(parent);
    await mkdir(path, { mode: 0o700 });
  }
}

async function openTemporaryFolder(): Promise<StateFolder> {
  const parent = tmpdir();
  let folder: string;
  try {
    folder = await mkdtemp(join(parent, "audio-sandbox-"));
  } catch {
    throw new SandboxUsageError(`No temporary folder can be made in ${JSON.stringify(parent)}.`);
  }
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A process that ends without stopping the sandbox still leaves nothing behind.
  process.once("exit", remove);
  return {
    folder,
    close: () => {
      process.removeListener("exit", remove);
      remove();
    },
  };
}

/**
 * A folder for the state, readable by its owner alone, and what to do with it at stop.
 *
 * @throws SandboxUsageError when it cannot be made
 */
export async function openStateFolder(stateDir: string | undefined): Promise<StateFolder> {
  if (stateDir === undefined) return openTemporaryFolder();
  try {
    await makeFolder(stateDir);
  } catch {
    throw new SandboxUsageError(`The state folder ${JSON.stringify(stateDir)} cannot be made.`);
  }
  return { folder: stateDir, close: () => undefined };
}
