/** A random id of this machine in the state folder. Changes of network, container or host name do not affect it. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setMachineId } from "../process-id.ts";

const FILE_NAME = "machine-id";
const PATTERN = /^[0-9a-f]{32}$/;

/**
 * The id in the state folder, made on first use.
 *
 * @returns 32 hex digits; new ones each time where the folder can be neither read nor written, which costs no more
 *   than that tasks of an earlier API key are not looked for on a shared store, and that a dead process is known by
 *   its age alone
 */
export async function machineId(stateDir: string | null): Promise<string> {
  const fresh = randomBytes(16).toString("hex");
  if (stateDir === null) return fresh;
  const file = join(stateDir, FILE_NAME);
  const known = await readId(file);
  if (known !== null) return known;
  try {
    await mkdir(stateDir, { mode: 0o700 }).catch(() => undefined);
    await writeFile(file, `${fresh}\n`, { flag: "wx", mode: 0o600 });
    return fresh;
  } catch {
    // Another process was first, or the folder is not writable.
    return (await readId(file)) ?? fresh;
  }
}

/**
 * Lets holders' names say which machine they are of; to be called before the first one is made. Linux has a name of
 * the boot and of the process numbers, which is more exact: a state folder may be shared between containers.
 */
export async function initMachineId(stateDir: string | null): Promise<void> {
  if (process.platform !== "linux") setMachineId(await machineId(stateDir));
}

async function readId(file: string): Promise<string | null> {
  const text = await readFile(file, "utf8").catch(() => "");
  return PATTERN.test(text.trim()) ? text.trim() : null;
}
