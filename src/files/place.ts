/** Owns the name of this machine and of a folder on it, as a hash; reads nothing but the machine's own id. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";

/** systemd's and D-Bus' machine ids; on other systems the host name has to do. */
const MACHINE_ID_FILES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

async function machineId(): Promise<string> {
  for (const file of MACHINE_ID_FILES) {
    try {
      const id = (await readFile(file, "utf8")).trim();
      if (id !== "") return id;
    } catch {
      // Not this system's way, or not readable: the next one.
    }
  }
  return "";
}

/** A stable id of this machine and a real folder on it: 32 hex digits that tell neither. */
export async function placeOf(realFolder: string): Promise<string> {
  const parts = [hostname(), await machineId(), realFolder];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
