/**
 * Suspends a process at a moment when it does not lock the ledger's file. A suspended process that holds the lock would
 * keep all others from writing until it wakes.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const MAX_TRIES = 100;
const MAX_LOOKS = 200;

/** Waits until a process has stopped, because a signal takes effect a moment after it was sent. */
async function untilStopped(pid: number): Promise<void> {
  for (let attempt = 0; attempt < MAX_LOOKS; attempt += 1) {
    if (/\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) return;
    await sleep(2);
  }
  throw new Error(`process ${pid} does not stop`);
}

function isLocked(stateDir: string): boolean {
  const database = new DatabaseSync(join(stateDir, "ledger.sqlite"), { timeout: 0 });
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.includes("locked")) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** @param stateDir the state folder, in which a SQLite ledger must exist */
export async function suspend(pid: number, stateDir: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    process.kill(pid, "SIGSTOP");
    await untilStopped(pid);
    if (!isLocked(stateDir)) return;
    process.kill(pid, "SIGCONT");
    await sleep(7);
  }
  throw new Error(`process ${pid} holds the ledger's file at each of ${MAX_TRIES} moments`);
}
