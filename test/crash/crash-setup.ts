/** The setup of a crash: a fake service, processes with one ledger and one folder, and checks of the final state. */
import { createHash } from "node:crypto";
import { readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService, type FakeServiceOptions } from "../support/fake-service.ts";
import { LedgerController } from "../support/ledger-controller.ts";
import { killHard } from "../support/processes.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startBinClient, startToolClient, type ToolClient } from "../support/tool-client.ts";
import { type TaskOutput, type ToolOutcome, taskOf } from "../support/tool-result.ts";

/**
 * The age that a test gives to leftover temporary files. No download takes that long, so the server removes such files.
 */
const LONG_AGO_MS = 3 * 60 * 60 * 1000;

/**
 * Size of the audio. The size and its half are multiples of the write buffer (512 KiB), so that all received bytes are
 * on the disk when a test reads the disk.
 */
export const AUDIO_BYTES = 1024 * 1024;

const isTemporary = (name: string): boolean => name.startsWith(".audio-generation-");

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export class CrashSetup {
  readonly service: FakeService;
  readonly testFolders: TestFolders;
  readonly #clients: ToolClient[] = [];
  readonly #more: Record<string, string>;
  #ledgerController: LedgerController | undefined;

  private constructor(service: FakeService, testFolders: TestFolders, more: Record<string, string>) {
    this.service = service;
    this.testFolders = testFolders;
    this.#more = more;
  }

  static async set(options: FakeServiceOptions = {}, more: Record<string, string> = {}): Promise<CrashSetup> {
    const service = await FakeService.start({ processingMs: 60, audioBytes: AUDIO_BYTES, ...options });
    return new CrashSetup(service, await createTestFolders(), { ...FAST, ...more });
  }

  /** Starts another process with the same ledger and folder. */
  async start(more: Record<string, string> = {}): Promise<ToolClient> {
    const client = await startBinClient(this.testFolders.env(this.service, { ...this.#more, ...more }));
    this.#clients.push(client);
    return client;
  }

  /** Starts a server in the process of the test with the same ledger and folder: what follows a killed process. */
  async startSuccessor(more: Record<string, string> = {}): Promise<ToolClient> {
    const client = await startToolClient(this.testFolders.env(this.service, { ...this.#more, ...more }));
    this.#clients.push(client);
    return client;
  }

  async ledgerController(): Promise<LedgerController> {
    this.#ledgerController ??= await LedgerController.open(this.testFolders.stateDir, this.service.baseUrl);
    return this.#ledgerController;
  }

  /** Kills the process as soon as `point` resolves. Then releases the ledger, and checks the files in the folder. */
  async killAt(client: ToolClient, point: Promise<unknown>): Promise<void> {
    await point;
    await killHard(client.pid);
    this.#ledgerController?.release();
    this.#ledgerController?.repair();
    await this.expectOnlyWholeFiles();
  }

  /** Returns the names of the output files, without temporary files. */
  async finalNames(): Promise<string[]> {
    return (await this.testFolders.outputNames()).filter((name) => !isTemporary(name));
  }

  async temporaryNames(): Promise<string[]> {
    return (await this.testFolders.outputNames()).filter(isTemporary);
  }

  /** Throws unless every file with a final name is exactly the audio of some task. */
  async expectOnlyWholeFiles(): Promise<void> {
    const whole = new Set([...this.service.tasks.values()].map(({ audio }) => sha256(audio)));
    for (const name of await this.finalNames()) {
      const hash = sha256(await readFile(join(this.testFolders.outputDir, name)));
      if (!whole.has(hash)) throw new Error(`${name} is not the whole audio of any task`);
    }
  }

  /** Makes temporary files look as if their process had died long ago. */
  async ageLeftovers(): Promise<void> {
    const then = new Date(Date.now() - LONG_AGO_MS);
    for (const name of await this.temporaryNames())
      await utimes(join(this.testFolders.outputDir, name), then, then);
  }

  /**
   * Throws unless the crash and the repeated call led to one task, one reservation and one intact file. No temporary
   * file and no occupied concurrency slot may remain, and the budget must count exactly the charge.
   */
  async checkFinalState(outcome: ToolOutcome): Promise<TaskOutput> {
    const task = taskOf(outcome);
    const faults: string[] = [];
    const expectSame = (label: string, actual: unknown, expected: unknown): void => {
      if (actual !== expected) faults.push(`${label}: ${String(actual)} instead of ${String(expected)}`);
    };
    const [accepted] = this.service.tasks.values();
    expectSame("tasks", this.service.tasks.size, 1);
    expectSame("reserved", this.service.reservedCredits, 150);
    expectSame("task id", task.task_id, accepted?.id);
    expectSame("status", task.status, "succeeded");
    const path = task.audio?.path ?? "";
    expectSame("sha256 on disk", sha256(await readFile(path)), accepted && sha256(accepted.audio));
    expectSame("files", (await this.finalNames()).length, 1);
    expectSame("temporary files", (await this.temporaryNames()).length, 0);
    const ledgerController = await this.ledgerController();
    expectSame("records", ledgerController.records().length, 1);
    expectSame("concurrency slots", ledgerController.concurrencySlots(), 0);
    expectSame("counted credits", ledgerController.spentInWindowCredits(), task.billing?.charged_credits);
    expectSame("ledger", ledgerController.integrity(), '[{"integrity_check":"ok"}]');
    if (faults.length > 0) throw new Error(faults.join("; "));
    return task;
  }

  async close(): Promise<void> {
    this.#ledgerController?.close();
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.service.stop();
    await this.testFolders.remove();
  }
}
