/** Starts several processes for a test, on the folders of one machine or of several, and closes them after the test. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { onTestFinished } from "vitest";
import { FakeService, type FakeServiceOptions } from "../support/fake-service.ts";
import { LedgerController } from "../support/ledger-controller.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startBinClient, startToolClient, type ToolClient } from "../support/tool-client.ts";
import type { TaskOutput } from "../support/tool-result.ts";

type Settings = Record<string, string>;

export async function startService(options: FakeServiceOptions = {}): Promise<FakeService> {
  const service = await FakeService.start(options);
  onTestFinished(() => service.stop());
  return service;
}

export async function useTestFolders(): Promise<TestFolders> {
  const testFolders = await createTestFolders();
  onTestFinished(() => testFolders.remove());
  return testFolders;
}

/** Starts a server in the process of the test. It is closed before its test folders are removed. */
export async function startServer(
  testFolders: TestFolders,
  service: { baseUrl: string; apiKey: string },
  settings: Settings = {},
  connect = startToolClient,
): Promise<ToolClient> {
  const client = await connect(testFolders.env(service, settings));
  onTestFinished(() => client.close());
  return client;
}

/** Starts another process on the test folders. */
export const startProcess = (
  testFolders: TestFolders,
  service: { baseUrl: string; apiKey: string },
  settings: Settings = {},
): Promise<ToolClient> => startServer(testFolders, service, settings, startBinClient);

/** Starts one process on each of the test folders, all at the same time. */
export function startProcesses(
  allTestFolders: readonly TestFolders[],
  service: { baseUrl: string; apiKey: string },
  settings: Settings = {},
): Promise<ToolClient[]> {
  return Promise.all(allTestFolders.map((testFolders) => startProcess(testFolders, service, settings)));
}

/** Opens the ledger in the test folders. */
export async function openLedgerController(
  testFolders: TestFolders,
  service: { baseUrl: string },
): Promise<LedgerController> {
  const ledgerController = await LedgerController.open(testFolders.stateDir, service.baseUrl);
  onTestFinished(() => ledgerController.close());
  return ledgerController;
}

/** Returns the hash of the audio that the service made for a task. */
export function hashAtService(service: FakeService, task: TaskOutput): string {
  const made = service.tasks.get(task.task_id);
  return createHash("sha256")
    .update(made?.audio ?? "")
    .digest("hex");
}

export async function hashOnDisk(task: TaskOutput): Promise<string> {
  return createHash("sha256")
    .update(await readFile(task.audio?.path ?? ""))
    .digest("hex");
}
