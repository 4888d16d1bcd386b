/** Reads how much memory a process has, as the system counts it; Linux only. */
import { readFileSync, writeFileSync } from "node:fs";

function residentMiB(pid: number | "self", field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

export const residentNowMiB = (pid: number): number => residentMiB(pid, "VmRSS");

/** Begins now, because the high-water mark would otherwise include the start of the process. */
export function watchMemory(pid: number | "self"): { grownMiB(): number } {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const idleMiB = residentMiB(pid, "VmRSS");
  return { grownMiB: () => residentMiB(pid, "VmHWM") - idleMiB };
}
