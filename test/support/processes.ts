/** Ends a process that a test started, by its id, and waits until it is gone. */

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until a process has ended. Resolves with the time that this took, in milliseconds. */
export async function waitForExit(pid: number, withinMs = 5000): Promise<number> {
  const beganAtMs = performance.now();
  while (isAlive(pid)) {
    if (performance.now() - beganAtMs > withinMs) throw new Error(`process ${pid} did not end`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now() - beganAtMs;
}

/** Kills a process like a crash: no handler runs, and nothing is flushed. */
export async function killHard(pid: number): Promise<void> {
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await waitForExit(pid);
}
