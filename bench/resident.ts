/** Reads the resident memory of a process as the system counts it. Linux only. */
import { readFileSync, writeFileSync } from "node:fs";

function residentMiB(pid: number | "self", field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

export const residentNowMiB = (pid: number): number => residentMiB(pid, "VmRSS");

/**
 * Measures the growth of memory from now on. Resets the high-water mark, because it includes the start of the
 * process.
 */
export function watchMemory(pid: number | "self"): { grownMiB(): number } {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const idleMiB = residentMiB(pid, "VmRSS");
  return { grownMiB: () => residentMiB(pid, "VmHWM") - idleMiB };
}
