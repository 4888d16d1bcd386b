/** Reads how much memory a process has, or had at most, as the system counts it; Linux only. */
import { readFileSync } from "node:fs";

/**
 * Resident memory in MiB, NaN where that cannot be read. `peak` is the high-water mark of the program that runs now:
 * what `getrusage` tells is also its parent's, from before the program began.
 */
export function residentMiB(pid: number | "self", which: "now" | "peak"): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = which === "now" ? "VmRSS" : "VmHWM";
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}
