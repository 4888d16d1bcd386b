/** Starts server processes with the tasks extension, on one or several machines, and stops them cleanly. */
import { spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { useTestFolders } from "../processes/server-processes.ts";
import { FAST } from "../support/bin-under-test.ts";
import { TaskClient } from "../support/task-client.ts";
import type { TestFolders } from "../support/test-folders.ts";

/** How a server starts: in the process of the test, unless the test says otherwise. */
export type Start = ConstructorParameters<typeof TaskClient>[1];

/** Starts one more server on the test folders. */
export function startClient(
  testFolders: TestFolders,
  service: { baseUrl: string; apiKey: string },
  settings: Record<string, string> = {},
  start: Start = { isInProcess: true },
): TaskClient {
  const client = new TaskClient(testFolders.env(service, { ...FAST, ...settings }), start);
  onTestFinished(() => client.close());
  return client;
}

/** Starts servers with one ledger and one output folder. */
export async function windowsOn(service: {
  baseUrl: string;
  apiKey: string;
}): Promise<(start?: Start) => TaskClient> {
  const testFolders = await useTestFolders();
  return (start) => startClient(testFolders, service, {}, start);
}

/** A server that the test kills. */
export const KILLED: Start = { isInProcess: false };

export type Store = "sqlite" | "postgres";

/** Starts processes on one store: SQLite in one state folder, or PostgreSQL with one machine per process. */
export async function machinesOn(
  store: Store,
  service: { baseUrl: string; apiKey: string },
  newDatabase: () => Promise<string>,
): Promise<(settings?: Record<string, string>) => Promise<{ client: TaskClient; testFolders: TestFolders }>> {
  if (store === "sqlite") {
    const testFolders = await useTestFolders();
    return async (settings) => ({ client: startClient(testFolders, service, settings, KILLED), testFolders });
  }
  const url = await newDatabase();
  return async (settings) => {
    const testFolders = await useTestFolders();
    const client = startClient(testFolders, service, { AUDIO_STORE_URL: url, ...settings }, KILLED);
    return { client, testFolders };
  };
}

/**
 * Makes another request until it is saved. Submissions leave in the order of their calls, so whatever was to be sent
 * before it has been sent by then.
 */
export async function waitForItsTurn(client: TaskClient): Promise<void> {
  await client.result(await client.begin({ prompt: `Marks the turn of ${crypto.randomUUID()}` }));
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
