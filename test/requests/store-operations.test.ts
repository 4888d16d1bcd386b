/** Counts the store operations of one generation, because each one is a transaction or a round trip that can fail. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createServiceClient } from "../../src/api/service.ts";
import { systemClock } from "../../src/clock.ts";
import { buildPartsPath, openOutputFolder } from "../../src/files/output-folder.ts";
import { deriveApiKeyHash, deriveApiKeyId } from "../../src/ledger/identity.ts";
import { Ledger } from "../../src/ledger/ledger.ts";
import type { LedgerStore } from "../../src/ledger/store/ledger-store.ts";
import { Limits } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { createProcessId } from "../../src/process-id.ts";
import { buildTiming } from "../../src/requests/deps.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { FakeService } from "../support/fake-service.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openSqliteStore } from "../support/sqlite-ledger.ts";

/** A generation needs 15 operations. On a busy machine, it may need two more, such as the renewal of a lease. */
const MAX_OPERATIONS = 17;

/** Returns a store that records the name of each method that is called, also on the stores that it contains. */
function counted(store: LedgerStore, operations: string[]): LedgerStore {
  const noting = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(inner, name) {
        const member: unknown = Reflect.get(inner, name);
        if (typeof member === "object" && member !== null) return noting(member, `${prefix}${String(name)}.`);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          operations.push(`${prefix}${String(name)}`);
          return Reflect.apply(member, inner, args);
        };
      },
    });
  return noting(store, "");
}

it("a generation with two polls asks the store at most 17 times, and its repeat once or twice", async () => {
  const service = await FakeService.start({ processingMs: 60_000 });
  service.intercept = (exchange) => {
    // The task ends between the two polls, even on a slow machine.
    if (exchange.kind === "query" && exchange.ordinal === 2) service.processingMs = 0;
    return false;
  };
  const root = scratchFolder();
  const clock = systemClock;
  const log = createLog("silent", (text) => text);
  const baseUrl = service.baseUrl;
  const identity = {
    baseUrl,
    apiKeyId: deriveApiKeyId(baseUrl, deriveApiKeyHash(service.apiKey)),
    processId: createProcessId(),
  };
  const operations: string[] = [];
  const store = openSqliteStore({ stateDir: join(root, "state"), clock, identity });
  const ledger = new Ledger(counted(store, operations), identity, clock, log);
  const timeScale = 0.01;
  const requests = createRequests({
    service: createServiceClient(
      { baseUrl, apiKey: service.apiKey, isLoopback: true },
      { proxy: { httpsProxy: undefined, noProxy: undefined } },
    ),
    limits: new Limits({ ledger, clock, log, timeScale, creditBudget: 10_000 }),
    ledger,
    folder: await openOutputFolder(join(root, "out")),
    partsFolder: await openOutputFolder(buildPartsPath(join(root, "out"))),
    clock,
    log,
    timing: buildTiming({ pollIntervalSeconds: 5, timeScale, waitSeconds: 45 }),
    random: Math.random,
  });
  onTestFinished(async () => {
    await requests.close();
    await service.stop();
  });
  const request = { input: { prompt: "Counted" }, take: 1, fileName: "counted", mayReplace: false };
  const call = { signal: new AbortController().signal, waitMs: 20_000, onProgress: () => undefined };
  const view = await requests.generate(request, call);
  expect(view.audio).not.toBeNull();
  expect(service.count("query")).toBe(2);
  // Heartbeats depend on the clock and not on the work. This time scale makes them a hundred times as frequent.
  const ofWork = operations.filter((name) => name !== "heartbeat");
  process.stderr.write(`store operations of one request: ${ofWork.length} (${ofWork.join(", ")})\n`);
  expect(ofWork.length).toBeLessThanOrEqual(MAX_OPERATIONS);

  operations.length = 0;
  await requests.generate(request, call);
  expect(operations.filter((name) => name !== "recordSearch.list").length).toBeLessThanOrEqual(2);
});
