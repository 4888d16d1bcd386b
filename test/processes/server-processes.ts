/** Several processes of one test, on the folders of one machine or of several, and their orderly end. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { onTestFinished } from "vitest";
import { type CountingOptions, CountingService } from "../support/counting-service.ts";
import { LedgerController } from "../support/ledger-controller.ts";
import {
  createWorkplace,
  startToolClient,
  type TaskOutput,
  type ToolClient,
  type Workplace,
} from "../support/workplace.ts";

type Settings = Record<string, string>;

export async function startService(options: CountingOptions = {}): Promise<CountingService> {
  const service = await CountingService.start(options);
  onTestFinished(() => service.stop());
  return service;
}

export async function makeWorkplace(): Promise<Workplace> {
  const workplace = await createWorkplace();
  onTestFinished(() => workplace.remove());
  return workplace;
}

/** Starts another process of a workplace; it is closed before its workplace is removed. */
export async function startProcess(
  workplace: Workplace,
  service: { baseUrl: string; apiKey: string },
  settings: Settings = {},
): Promise<ToolClient> {
  const client = await startToolClient(workplace.env(service, settings));
  onTestFinished(() => client.close());
  return client;
}

/** Starts a process in each workplace, all at once. */
export function startProcesses(
  workplaces: readonly Workplace[],
  service: { baseUrl: string; apiKey: string },
  settings: Settings = {},
): Promise<ToolClient[]> {
  return Promise.all(workplaces.map((workplace) => startProcess(workplace, service, settings)));
}

/** Looks into the ledger of a workplace. */
export async function openLedgerController(
  workplace: Workplace,
  service: { baseUrl: string },
): Promise<LedgerController> {
  const ledgerController = await LedgerController.open(workplace.stateDir, service.baseUrl);
  onTestFinished(() => ledgerController.close());
  return ledgerController;
}

/** The hash of the audio that the service made. */
export function hashAtService(service: CountingService, task: TaskOutput): string {
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
