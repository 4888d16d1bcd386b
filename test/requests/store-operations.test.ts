/** Counts the uses of the ledger, because each one is a transaction or a round trip that can fail. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createServiceClient } from "../../src/api/service.ts";
import { systemClock } from "../../src/clock.ts";
import { buildPartsPath, openOutputFolder } from "../../src/files/output-folder.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { buildTiming } from "../../src/requests/deps.ts";
import { createRequests, type Requests } from "../../src/requests/requests.ts";
import { FakeService, type FakeServiceOptions } from "../support/fake-service.ts";
import { withGate } from "../support/gated-database.ts";
import { scratchFolder } from "../support/scratch.ts";
import { requestOf } from "./request-setup.ts";

/** A generation needs fewer operations. On a busy machine, it may need some more, such as the renewal of a lease. */
const MAX_OPERATIONS = 36;
const MAX_OPERATIONS_OF_REPEAT = 6;

async function setUp(
  options: FakeServiceOptions,
  timeScale: number,
): Promise<{ service: FakeService; requests: Requests; operations: string[] }> {
  const service = await FakeService.start(options);
  const root = scratchFolder();
  const clock = systemClock;
  const log = createLog("silent", (text) => text);
  const { baseUrl, apiKey } = service;
  const ledger = await openLedger({
    config: { stateDir: join(root, "state"), storeUrl: null, timeScale, creditBudget: 10_000 },
    serviceAccess: { baseUrl, apiKey },
    processId: createProcessId(),
    log,
    clock,
  });
  const operations: string[] = [];
  const counted = withGate(ledger.database, (use, pass) => {
    operations.push(use);
    return pass();
  });
  const { requests } = createRequests({
    service: createServiceClient({ baseUrl, apiKey }, {}),
    ledger: { ...ledger, database: counted },
    folder: await openOutputFolder(join(root, "out"), clock),
    partsFolder: await openOutputFolder(buildPartsPath(join(root, "out")), clock),
    clock,
    log,
    timing: buildTiming({ pollIntervalSeconds: 5, timeScale, waitSeconds: 45 }),
    random: Math.random,
  });
  onTestFinished(async () => {
    await requests.close();
    await service.stop();
  });
  return { service, requests, operations };
}

const callFor = (waitMs: number) => ({
  signal: new AbortController().signal,
  waitMs,
  onProgress: () => undefined,
});

it("a generation with two polls uses the ledger at most 36 times, and its repeat at most six times", async () => {
  const { service, requests, operations } = await setUp({ processingMs: 60_000 }, 0.01);
  service.intercept = (exchange) => {
    // The task ends between the two polls, even on a slow machine.
    if (exchange.kind === "query" && exchange.ordinal === 2) service.processingMs = 0;
    return false;
  };
  const request = { ...requestOf("Counted"), fileName: "counted" };
  expect((await requests.generate(request, callFor(20_000))).audio).not.toBeNull();
  expect(service.count("query")).toBe(2);
  process.stderr.write(
    `uses of the ledger by one request: ${operations.length} (${operations.join(", ")})\n`,
  );
  expect(operations.length).toBeLessThanOrEqual(MAX_OPERATIONS);

  operations.length = 0;
  await requests.generate(request, callFor(20_000));
  process.stderr.write(`uses by its repeat: ${operations.length} (${operations.join(", ")})\n`);
  expect(operations.length).toBeLessThanOrEqual(MAX_OPERATIONS_OF_REPEAT);
});

it("forty calls that wait for their turn ask for it one at a time", async () => {
  const { requests, operations } = await setUp({ processingMs: 60_000 }, 1);
  const calls = Array.from({ length: 40 }, (_, index) =>
    requests.generate(requestOf(`Waits, number ${index}`), callFor(6000)).catch(() => undefined),
  );
  await sleep(3000);
  operations.length = 0;
  const cpuBefore = process.cpuUsage();
  await sleep(2000);
  const { user, system } = process.cpuUsage(cpuBefore);
  const transactions = operations.filter((name) => name === "tx").length;
  process.stderr.write(
    `40 waiting calls in 2 s: ${operations.length} uses, ${transactions} transactions, ${(user + system) / 1000} ms of CPU\n`,
  );
  // The first of the line asks once a second; leases, polls and notes are written now and then.
  expect(transactions).toBeLessThanOrEqual(20);
  await Promise.all(calls);
});
