/**
 * Keeps a random id of this machine in the state folder. Changes of network, container or host name do not affect
 * it.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setMachineId } from "../process-id.ts";

const FILE_NAME = "machine-id";
const MACHINE_ID = /^[0-9a-f]{32}$/;

/**
 * Reads the id in the state folder, or creates it on first use.
 *
 * @returns 32 hex digits. If the folder can be neither read nor written, every call returns a new id. In this case,
 *   tasks of earlier API keys are not found in a shared store, and a dead process is detected only when its lease
 *   expires.
 */
export async function loadOrCreateMachineId(stateDir: string | null): Promise<string> {
  const fresh = randomBytes(16).toString("hex");
  if (stateDir === null) return fresh;
  const file = join(stateDir, FILE_NAME);
  const storedId = await readId(file);
  if (storedId !== null) return storedId;
  try {
    await mkdir(stateDir, { mode: 0o700 }).catch(() => undefined);
    await writeFile(file, `${fresh}\n`, { flag: "wx", mode: 0o600 });
    return fresh;
  } catch {
    // Another process created the file first, or the folder is not writable.
    return (await readId(file)) ?? fresh;
  }
}

/**
 * Sets the machine id that process ids contain. Call this before the first process id is created. Does nothing on
 * Linux, where process ids contain the boot id and the PID namespace instead. Containers that share a state folder have
 * the same machine id, but different PID namespaces.
 */
export async function initMachineId(stateDir: string | null): Promise<void> {
  if (process.platform !== "linux") setMachineId(await loadOrCreateMachineId(stateDir));
}

async function readId(file: string): Promise<string | null> {
  const text = await readFile(file, "utf8").catch(() => "");
  return MACHINE_ID.test(text.trim()) ? text.trim() : null;
}
