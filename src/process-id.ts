/** The name of this process among all that share a store or a folder, and telling whether another one is dead. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";

let givenMachineId: string | undefined;

/**
 * Names the place that this process runs in, for systems that have no name of a boot to go by. Names of hosts and
 * addresses of network cards will not do: they change with the network. The first word counts.
 *
 * @param id kept in the state folder (`machineId`)
 */
export function setMachineId(id: string): void {
  givenMachineId ??= id;
}

/** Identifies this machine and its process numbers; a container counts as another machine. */
function placeMarks(): string[] {
  if (process.platform === "linux") {
    try {
      return [readFileSync("/proc/sys/kernel/random/boot_id", "utf8"), readlinkSync("/proc/self/ns/pid")];
    } catch {
      // A hardened machine that hides them: then nobody is ever called dead, and leases lapse by their time.
      return [randomBytes(16).toString("hex")];
    }
  }
  // A process number of an earlier boot may be in use again. Such a process counts as alive until its lease expires.
  return [givenMachineId ?? randomBytes(16).toString("hex")];
}

let placeTag: string | undefined;

function thisPlace(): string {
  placeTag ??= createHash("sha256").update(JSON.stringify(placeMarks())).digest("hex").slice(0, 16);
  return placeTag;
}

/** One process among all that share a store or a folder. */
export type ProcessId = string;

/** A new processId: machine and boot, process number, and something random, for numbers are used again. */
export function createProcessId(): ProcessId {
  return `${thisPlace()}.${process.pid}.${randomBytes(6).toString("hex")}`;
}

/** True only where the processId ran on this very machine, in this boot, and its process certainly is no more. */
export function isProcessGone(processId: ProcessId): boolean {
  const match = /^([0-9a-f]{16})\.([1-9]\d{0,9})\.[0-9a-f]{12}$/.exec(processId);
  if (match === null || match[1] !== thisPlace()) return false;
  try {
    process.kill(Number(match[2]), 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
