/** The API key changes between a crash and the retry. Every charge to the new account is reported. */
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import type { FakeService } from "../support/fake-service.ts";
import { killHard } from "../support/processes.ts";
import type { TestFolders } from "../support/test-folders.ts";
import type { ToolClient } from "../support/tool-client.ts";
import { resultTextOf, taskOf } from "../support/tool-result.ts";
import { startProcess, startService, useTestFolders } from "./server-processes.ts";

const KEYS = ["sk-first-0123456789abcdef", "sk-second-0123456789abcdef"] as const;
const CALL = { prompt: "Under one key, then another" };

async function startWithKey(
  testFolders: TestFolders,
  service: FakeService,
  key: string,
): Promise<ToolClient> {
  return await startProcess(testFolders, { baseUrl: service.baseUrl, apiKey: key }, FAST);
}

/**
 * Starts a process that uses the first key, and kills it after its submission was accepted. `isAnswered` says whether
 * the process has received the response by then.
 */
async function killedWithFirstKey(
  service: FakeService,
  testFolders: TestFolders,
  isAnswered: boolean,
): Promise<void> {
  const killTarget = await startWithKey(testFolders, service, KEYS[0]);
  const reached = new Promise<void>((resolve) => {
    service.intercept = (exchange) => {
      if (exchange.kind !== (isAnswered ? "query" : "create")) return false;
      if (!isAnswered) service.accept(exchange);
      resolve();
      return true;
    };
  });
  void killTarget.call("generate_audio", CALL).catch(() => undefined);
  await reached;
  await killHard(killTarget.pid);
  service.intercept = undefined;
}

const kinds = (service: FakeService, key: string): string[] =>
  service.exchanges
    .filter(({ headers }) => headers.authorization === `Bearer ${key}`)
    .map(({ kind }) => kind);

it("a retry under the key of another account queries the recorded task first, and says that the new task belongs to this account", async () => {
  const service = await startService({ processingMs: 50, apiKeys: KEYS, separateAccounts: true });
  const testFolders = await useTestFolders();
  await killedWithFirstKey(service, testFolders, true);
  const successor = await startWithKey(testFolders, service, KEYS[1]);
  const outcome = await successor.call("generate_audio", CALL);
  const task = taskOf(outcome);
  const asked = kinds(service, KEYS[1]);
  expect(asked.slice(0, 2)).toEqual(["query", "create"]);
  expect(asked.filter((kind) => kind === "create")).toHaveLength(1);
  expect(service.tasks.get(task.task_id ?? "")?.account).toContain(KEYS[1]);
  expect(task.replayed).toBe(false);
  expect(resultTextOf(outcome)).toMatch(/another API key.*task of its own/);
  expect(service.tasks.size).toBe(2);
});
