/** Starts server processes with the tasks extension, on one or several machines, and stops them cleanly. */
import { spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { useTestFolders } from "../processes/server-processes.ts";
import { FAST } from "../support/bin-under-test.ts";
import { TaskClient } from "../support/task-client.ts";
import type { TestFolders } from "../support/test-folders.ts";

/** Starts one more process on the test folders. */
export function startClient(
  testFolders: TestFolders,
  service: { baseUrl: string; apiKey: string },
  settings: Record<string, string> = {},
  under: readonly string[] = [],
): TaskClient {
  const client = new TaskClient(testFolders.env(service, { ...FAST, ...settings }), { under });
  onTestFinished(() => client.close());
  return client;
}

export type Store = "sqlite" | "postgres";

/** Starts processes on one store: SQLite in one state folder, or PostgreSQL with one machine per process. */
export async function machinesOn(
  store: Store,
  service: { baseUrl: string; apiKey: string },
  newDatabase: () => Promise<string>,
): Promise<(settings?: Record<string, string>) => Promise<{ client: TaskClient; testFolders: TestFolders }>> {
  if (store === "sqlite") {
    const testFolders = await useTestFolders();
    return async (settings) => ({ client: startClient(testFolders, service, settings), testFolders });
  }
  const url = await newDatabase();
  return async (settings) => {
    const testFolders = await useTestFolders();
    const client = startClient(testFolders, service, { AUDIO_STORE_URL: url, ...settings });
    return { client, testFolders };
  };
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * A command that runs a program under another host name and with its own process ids, so that the ledger takes it for
 * another machine and cannot tell whether its processes live.
 */
export const ELSEWHERE: readonly string[] = [
  ...["unshare", "--user", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"],
  ...["sh", "-c", 'hostname agm-other-machine && exec "$@"', "sh"],
];

export const whyNotElsewhere = (): string | undefined => {
  const [command = "", ...args] = [...ELSEWHERE, "true"];
  const works = process.platform === "linux" && spawnSync(command, args, { stdio: "ignore" }).status === 0;
  return works ? undefined : "no other machine can be pretended here (unshare)";
};
