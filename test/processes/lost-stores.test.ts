import { describe, expect, it, onTestFinished } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { freePort } from "../support/free-port.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { errorOf, generate } from "../support/tool-result.ts";
import { openLedgerController, startProcess, startService, useTestFolders } from "./server-processes.ts";

async function setUp(settings: Record<string, string> = {}) {
  const service = await startService();
  const testFolders = await useTestFolders();
  const client = await startProcess(testFolders, service, { ...FAST, ...settings });
  return { service, testFolders, client };
}

it("a ledger that cannot be written at the moment of the 202 still names the task, which is saved once it can be written", async () => {
  const { service, testFolders, client } = await setUp();
  // The first request loads code, which would take too much of the short wait below.
  await client.call("get_task", { task_id: "task-of-nobody" });
  const ledgerController = await openLedgerController(testFolders, service);
  ledgerController.failWrites("a task id");
  const call = { prompt: "Full just now", wait_seconds: 2 };
  const unwritten = await generate(client, call);
  const [taskId] = service.tasks.keys();
  expect(unwritten.task_id).toBe(taskId);
  expect(ledgerController.records()).toMatchObject([{ status: "unresolved", task_id: null }]);
  expect(ledgerController.concurrencySlots()).toBe(1);
  ledgerController.repair();
  // No further call is needed.
  await ledgerController.waitUntil((records) => records.every(({ files }) => files.length === 1));
  expect(ledgerController.concurrencySlots()).toBe(0);
  expect(ledgerController.spentInWindowCredits()).toBe(10);
  const again = await generate(client, { prompt: "Full just now" });
  expect(again).toMatchObject({ task_id: taskId, status: "succeeded", replayed: true });
  expect(service.count("create")).toBe(1);
});

describe("a shared store that is unreachable", skipBecause(whyNoPostgres()), () => {
  it.each(["killed", "frozen"])(
    "(%s) is an error in time with nothing sent, and work continues when it is back",
    async (fault) => {
      const postgres = await PostgresServer.start();
      onTestFinished(() => postgres.remove());
      const { service, client } = await setUp({ AUDIO_STORE_URL: postgres.url });
      const first = await generate(client, { prompt: "While it is there" });
      const before = service.exchanges.length;
      if (fault === "killed") await postgres.kill();
      else postgres.freeze();
      // This call is answered while the store is still unreachable.
      const refused = await client.call("generate_audio", { prompt: "While it is gone" });
      expect(errorOf(refused)).toMatchObject({ code: "store_unavailable", retryable: true });
      expect(service.exchanges.length).toBe(before);
      if (fault === "killed") await postgres.start();
      else postgres.thaw();
      expect((await generate(client, { prompt: "While it is gone" })).status).toBe("succeeded");
      const again = await generate(client, { prompt: "While it is there" });
      expect(again).toMatchObject({ task_id: first.task_id, replayed: true });
      expect(service.count("create")).toBe(2);
    },
  );
});

it("an unreachable service takes no rate slot and reserves nothing, because nothing was sent", async () => {
  const testFolders = await useTestFolders();
  const nowhere = { baseUrl: `http://127.0.0.1:${await freePort()}`, apiKey: "sk-test" };
  const client = await startProcess(testFolders, nowhere, FAST);
  const call = { prompt: "Nobody there", wait_seconds: 5 };
  expect(errorOf(await client.call("generate_audio", call))).toMatchObject({
    code: "network_error",
    retryable: true,
    idempotency_key: expect.stringMatching(/^agm1-/),
  });
  // Read the ledger while the process runs. A process that ends might leave the slots and the reservation of a
  // submission that it was about to send.
  const ledgerController = await openLedgerController(testFolders, nowhere);
  const counted = async (): Promise<number[]> => [
    ledgerController.rateSlotCount(),
    ledgerController.concurrencySlots(),
    ledgerController.spentInWindowCredits(),
  ];
  await expect.poll(counted).toEqual([0, 0, 0]);
});
