/**
 * Four processes on one ledger, then two machines on one PostgreSQL: one task for each input, and no request that the
 * service refuses.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { COMPILED } from "../support/bin-under-test.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import type { TestFolders } from "../support/test-folders.ts";
import type { ToolClient } from "../support/tool-client.ts";
import { taskOf } from "../support/tool-result.ts";
import {
  hashAtService,
  hashOnDisk,
  startProcesses,
  startService,
  useTestFolders,
} from "./server-processes.ts";

/** A minute takes 3 s, both in the server and in the service. */
const SCALE = 0.05;
const SETTINGS = { ...COMPILED, AUDIO_TIME_SCALE: String(SCALE) };
const INPUTS = 20;

/** The folders of the machine that each process runs on, and the settings that all processes share. */
interface Site {
  readonly allTestFolders: readonly TestFolders[];
  readonly settings: Record<string, string>;
}

async function oneMachine(): Promise<Site> {
  const testFolders = await useTestFolders();
  return { allTestFolders: [testFolders, testFolders, testFolders, testFolders], settings: SETTINGS };
}

async function twoMachines(): Promise<Site> {
  const postgres = await PostgresServer.start();
  onTestFinished(() => postgres.remove());
  const [left, right] = [await useTestFolders(), await useTestFolders()];
  return {
    allTestFolders: [left, left, right, right],
    settings: { ...SETTINGS, AUDIO_STORE_URL: postgres.url },
  };
}

const sites = [
  { where: "on one machine's ledger", set: oneMachine, machines: 1, whyNot: null },
  {
    where: "on two machines that share a PostgreSQL",
    set: twoMachines,
    machines: 2,
    whyNot: whyNoPostgres(),
  },
];

for (const { where, set, machines, whyNot } of sites) {
  describe(`four processes ${where}`, skipBecause(whyNot), () => {
    it("make one task of the same input requested at once, and all return it", async () => {
      const service = await startService({ processingMs: 150, limitScale: SCALE });
      const { allTestFolders, settings } = await set();
      const clients = await startProcesses(allTestFolders, service, settings);
      const call = { prompt: "The same in four windows", voice: "sophie_en_zh" };
      const tasks = (await Promise.all(clients.map((client) => client.call("generate_audio", call)))).map(
        taskOf,
      );
      expect(service.count("create")).toBe(1);
      expect(service.tasks.size).toBe(1);
      expect(service.rateLimitedCount).toBe(0);
      expect(new Set(tasks.map(({ task_id }) => task_id)).size).toBe(1);
      expect(new Set(await Promise.all(tasks.map(hashOnDisk))).size).toBe(1);
      expect(new Set(tasks.map(({ audio }) => audio?.path)).size).toBe(machines);
      expect(service.count("content")).toBe(machines);
      expect(tasks.filter(({ replayed }) => !replayed)).toHaveLength(1);
      for (const task of tasks) expect(await hashOnDisk(task)).toBe(hashAtService(service, task));
      for (const testFolders of allTestFolders) expect(await testFolders.outputNames()).toHaveLength(1);
    });

    it("complete 20 inputs without a single 429", async () => {
      const service = await startService({ processingMs: 150, limitScale: SCALE });
      const { allTestFolders, settings } = await set();
      const clients = await startProcesses(allTestFolders, service, settings);
      const ask = (client: ToolClient, index: number) =>
        client.call("generate_audio", { prompt: `Input number ${index}` });
      const outcomes = await Promise.all(
        Array.from({ length: INPUTS }, (_, index) => {
          const client = clients[index % clients.length];
          if (client === undefined) throw new Error("nobody to ask");
          return ask(client, index);
        }),
      );
      const tasks = outcomes.map(taskOf);
      expect(service.rateLimitedCount).toBe(0);
      expect(service.count("create")).toBe(INPUTS);
      expect(new Set(tasks.map(({ task_id }) => task_id)).size).toBe(INPUTS);
      expect(new Set(tasks.map(({ audio }) => audio?.path)).size).toBe(INPUTS);
      for (const task of tasks) expect(await hashOnDisk(task)).toBe(hashAtService(service, task));
      expect(service.exchanges.filter(({ status }) => (status ?? 0) >= 400)).toEqual([]);
    });
  });
}
