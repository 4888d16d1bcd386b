/**
 * Identifies this process among all processes that share a store or a folder, and detects whether another process is
 * dead.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";

let givenMachineId: string | undefined;

/**
 * Sets the machine's id, for systems without a boot id. Host names and addresses of network cards are unsuitable,
 * because they change with the network. Only the first call has an effect.
 *
 * @param id the id in the state folder (`machineId`)
 */
export function setMachineId(id: string): void {
  givenMachineId ??= id;
}

/**
 * Returns strings that identify this machine. On Linux, they also identify the boot and the namespace of process
 * numbers, so a container counts as another machine.
 */
function readMachineIdentifiers(): string[] {
  if (process.platform === "linux") {
    try {
      return [readFileSync("/proc/sys/kernel/random/boot_id", "utf8"), readlinkSync("/proc/self/ns/pid")];
    } catch {
      // A hardened machine hides the boot id or the namespace, so return a random id. Processes then cannot detect
      // whether another process is dead, and the lease of a dead process stays until it expires.
      return [randomBytes(16).toString("hex")];
    }
  }
  // The machine's id stays the same after a reboot. So a process from before the reboot counts as alive if another
  // process now has its number. The lease of the earlier process then lasts until it expires.
  return [givenMachineId ?? randomBytes(16).toString("hex")];
}

let knownMachineHash: string | undefined;

function getMachineHash(): string {
  knownMachineHash ??= createHash("sha256")
    .update(JSON.stringify(readMachineIdentifiers()))
    .digest("hex")
    .slice(0, 16);
  return knownMachineHash;
}

/** Identifies one process among all processes that share a store or a folder. */
export type ProcessId = string;

/**
 * Creates an id from machine, process number and random bytes. The random bytes are needed because process numbers are
 * reused.
 */
export function createProcessId(): ProcessId {
  return `${getMachineHash()}.${process.pid}.${randomBytes(6).toString("hex")}`;
}

/**
 * Whether the process ran on this machine and has certainly ended. False after the reboot of a Linux machine, because
 * the rebooted machine counts as another machine.
 */
export function isProcessDead(processId: ProcessId): boolean {
  const match = /^([0-9a-f]{16})\.([1-9]\d{0,9})\.[0-9a-f]{12}$/.exec(processId);
  if (match === null || match[1] !== getMachineHash()) return false;
  try {
    process.kill(Number(match[2]), 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
