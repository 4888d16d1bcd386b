/**
 * Runs rounds of random calls with a failing service, one ledger and two processes. Compares all sources after each
 * round.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import { compareStatements } from "../../support/compare-statements.ts";
import type { FakeService } from "../../support/fake-service.ts";
import type { LedgerStorage, LedgerStores } from "../../support/ledger-storage.ts";
import { type LedgerLocation, LedgerView } from "../../support/ledger-view.ts";
import { Random } from "../../support/random.ts";
import { createTestFolders, type TestFolders } from "../../support/test-folders.ts";
import type { Outcome, RawServer } from "../raw-server.ts";
import { compareAllSources, creditsOver, findKeysInOutput, findKeysOnDisk } from "./compare-sources.ts";
import { argumentsOf, type ChaosRequest, chooseRequest, removeRandomFile, reportOf } from "./requests.ts";
import { Servers } from "./servers.ts";
import { startTroubledService, type Trouble } from "./troubled-service.ts";

const API_KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;
const SERVERS = 2;
/** How long a repeated call may wait for its task. Calls need far less. */
const REPEATED_CALL_WAIT_SECONDS = 10;
const MAX_REPEATS = 40;
const REPEATS_AFTER_MS = 200;
/**
 * Most runs have a budget that is never reached. In the others, requests wait for room in the budget, and the budget
 * refuses the last requests.
 */
const BUDGETS = [1_000_000, 1_000_000, 1_000_000, 450] as const;
/**
 * Time in which all open work must end. Work may be open after the calls, because a job continues without a waiting
 * call, and a process writes delayed changes with its heartbeats.
 */
const ENDS_WITHIN_MS = 8000;

class ChaosRun {
  readonly #random: Random;
  readonly #trouble: Trouble;
  readonly #testFolders: TestFolders;
  readonly #service: FakeService;
  readonly #storage: LedgerStorage;
  /** Factor by which faults of processes and ledger are more frequent in this run. */
  readonly #roughness: number;
  readonly #servers: Servers;
  /** The value of AUDIO_CREDIT_BUDGET in this run. */
  readonly #budget: number;
  readonly #requests: ChaosRequest[] = [];
  readonly #problems: string[] = [];
  readonly #figures = { calls: 0, exchanges: 0, ledgerFaults: 0 };

  private constructor(
    random: Random,
    trouble: Trouble,
    testFolders: TestFolders,
    service: FakeService,
    storage: LedgerStorage,
    mixesKeys: boolean,
  ) {
    this.#random = random;
    this.#trouble = trouble;
    this.#testFolders = testFolders;
    this.#service = service;
    this.#storage = storage;
    this.#roughness = random.pick([1, 1, 3]);
    const fastSettings = { AUDIO_TIME_SCALE: "0.001", AUDIO_LOG_LEVEL: "debug", AUDIO_WAIT_SECONDS: "5" };
    this.#budget = random.pick(BUDGETS);
    const budget = { AUDIO_CREDIT_BUDGET: String(this.#budget) };
    this.#servers = new Servers({
      random,
      count: SERVERS,
      cwd: testFolders.root,
      apiKeys: API_KEYS,
      mixesKeys,
      env: (apiKey) =>
        testFolders.env({ baseUrl: service.baseUrl, apiKey }, { ...fastSettings, ...budget, ...storage.env }),
      onGone: (server) => this.#problems.push(...findKeysInOutput(API_KEYS, [server])),
    });
  }

  static async open(seed: number, stores: LedgerStores): Promise<ChaosRun> {
    const random = new Random(seed);
    const trouble = { faults: 0, failures: 0, count: 0, answeredNotFound: new Set<string>() };
    const testFolders = await createTestFolders();
    const service = await startTroubledService(random, trouble, {
      audioBytes: 3000,
      processingMs: random.pick([10, 10, 200]),
      limitScale: 0.001,
      apiKeys: API_KEYS,
    });
    const storage = await stores.open(testFolders.stateDir);
    const run = new ChaosRun(random, trouble, testFolders, service, storage, random.chance(0.3));
    await run.#servers.start();
    return run;
  }

  async round(number: number): Promise<void> {
    const random = this.#random;
    this.#trouble.faults = random.pick([0, 0.2, 0.4, 0.7]);
    this.#trouble.failures = random.pick([0, 0, 0.2, 0.5]);
    const requests = Array.from({ length: random.int(1, 3) }, () =>
      chooseRequest(random, number, this.#requests),
    );
    await removeRandomFile(random, requests);
    const calls = requests.flatMap((request) =>
      Array.from({ length: random.int(1, 2) }, () => this.#callOnce(request)),
    );
    if (random.chance(0.2)) calls.push(this.#lookAround());
    await this.#disturb();
    await Promise.all(calls);
    this.#trouble.faults = random.pick([0, 0.1]);
    this.#trouble.failures = 0;
    const waits = [...new Set(requests)].map((request) => this.#waitForResult(request));
    if (random.chance(0.1 * this.#roughness)) await this.#disturbLedger(random.int(0, 60));
    await Promise.all(waits);
    // By now, the other reservations have become charges, which are lower. A request that still finds no room would
    // exceed the budget.
    for (const request of new Set(requests)) if (request.isOverBudget) await this.#finishAlone(request);
    await this.#compare(number);
    this.#figures.exchanges += this.#service.exchanges.splice(0).length;
  }

  /** Causes faults of processes and ledger while calls run. Resolves when all faults have ended. */
  async #disturb(): Promise<void> {
    const random = this.#random;
    const all: Promise<void>[] = [];
    const withinMs = random.pick([20, 60, 300]);
    if (random.chance(0.2 * this.#roughness)) all.push(this.#servers.kill(random.int(0, withinMs)));
    else if (random.chance(0.15 * this.#roughness)) all.push(this.#servers.suspend(random.int(0, withinMs)));
    else if (random.chance(0.1)) all.push(this.#servers.changeKey(random.int(0, withinMs)));
    if (random.chance(0.25 * this.#roughness)) all.push(this.#disturbLedger(random.int(0, withinMs)));
    await Promise.all(all);
  }

  async #disturbLedger(afterMs: number): Promise<void> {
    this.#figures.ledgerFaults += 1;
    await sleep(afterMs);
    await this.#storage.disturb(this.#random);
  }

  /** Makes a call that submits nothing, but resumes open tasks. */
  async #lookAround(): Promise<void> {
    const known = this.#requests.find(({ report }) => report !== undefined)?.report;
    const server = this.#servers.any();
    const id =
      known === undefined || this.#random.chance(0.5)
        ? server.begin("list_tasks", {})
        : server.begin("download_audio", { task_id: known.taskId });
    this.#figures.calls += 1;
    await this.#outcomeOf(server, id);
  }

  /** Makes a call whose result does not matter: the call may be cancelled or refused, or its process may be killed. */
  async #callOnce(request: ChaosRequest): Promise<void> {
    const random = this.#random;
    this.#figures.calls += 1;
    const server = this.#servers.any();
    const token = random.chance(0.5) ? { progressToken: `p${this.#figures.calls}` } : undefined;
    const wait = random.pick([0, 0.02, 0.1, 0.5, 3]);
    const isCancelled = random.chance(0.15);
    const pauseMs = random.int(0, 40);
    const id = server.begin("generate_audio", argumentsOf(request, wait), token);
    if (isCancelled) {
      await sleep(pauseMs);
      server.cancel(id);
      return;
    }
    const outcome = await this.#outcomeOf(server, id);
    if (outcome !== undefined) this.#note(request, outcome);
  }

  /** Returns the result of a call, or `undefined` if none comes. This is a problem unless the process was killed. */
  async #outcomeOf(server: RawServer, id: number): Promise<Outcome | undefined> {
    try {
      return await server.outcomeOf(id);
    } catch (error) {
      if (server.child.exitCode === null && server.child.signalCode === null)
        this.#problems.push(String(error));
      return undefined;
    }
  }

  /** Repeats a call while nothing else runs. If the budget refuses the call, checks that the budget has no room. */
  async #finishAlone(request: ChaosRequest): Promise<void> {
    await this.#waitForResult(request);
    if (!request.isOverBudget) return;
    const view = await LedgerView.open(this.#ledgerLocation);
    const spent = await view.spentCredits().finally(() => view.close());
    if (spent + RESERVED_CREDITS <= this.#budget)
      this.#problems.push(`a budget of ${this.#budget} with ${spent} spent refused ${request.input.prompt}`);
  }

  /** Repeats the call until the file exists, as every error tells the assistant to do. */
  async #waitForResult(request: ChaosRequest): Promise<void> {
    let last = "";
    request.isOverBudget = false;
    for (let repeat = 0; repeat < MAX_REPEATS; repeat += 1) {
      this.#figures.calls += 1;
      const outcome = await this.#servers
        .any()
        .call("generate_audio", argumentsOf(request, REPEATED_CALL_WAIT_SECONDS));
      if (this.#note(request, outcome)) return;
      last = outcome.content[0]?.text ?? "";
      if (last.startsWith("budget_exceeded")) {
        request.isOverBudget = true;
        return;
      }
      await sleep(REPEATS_AFTER_MS);
    }
    this.#problems.push(`${JSON.stringify(request.input.prompt)} never came to a file: ${last}`);
  }

  /** Notes what a result reports about a request. Returns whether its audio is saved. */
  #note(request: ChaosRequest, { structuredContent }: Outcome): boolean {
    const report = reportOf(structuredContent);
    if (report === null) return false;
    const { report: before } = request;
    if (before !== undefined && (before.taskId !== report.taskId || before.path !== report.path))
      this.#problems.push(`${JSON.stringify(before)} became ${JSON.stringify(report)}`);
    request.report = report;
    request.isOverBudget = false;
    return true;
  }

  /** Notes every disagreement that remains after all open work has had time to end. */
  async #compare(number: number): Promise<void> {
    const giveUpAtMs = performance.now() + ENDS_WITHIN_MS;
    let found = await this.#disagreements();
    while (found.length > 0 && performance.now() < giveUpAtMs) {
      await sleep(100);
      found = await this.#disagreements();
    }
    this.#problems.push(...this.#servers.problems.splice(0), ...found);
    if (this.isWrong) this.#problems.unshift(`round ${number}:`);
    else {
      this.#problems.push(...findKeysInOutput(API_KEYS, this.#servers.all));
      this.#problems.push(...(await findKeysOnDisk(API_KEYS, this.#testFolders)));
    }
  }

  /** Compares what lists, tools and the `tasks` command say. It takes a query for each row, so it comes once a world. */
  async compareStatements(): Promise<void> {
    this.#trouble.faults = 0;
    const view = await LedgerView.open(this.#ledgerLocation);
    const attempts = await view.attempts().finally(() => view.close());
    const [server] = this.#servers.all;
    const [env = {}] = this.#servers.envs;
    const ask = async (name: string, args: Record<string, unknown>): Promise<unknown> => {
      const { structuredContent, content } = (await server?.call(name, args)) ?? { content: [] };
      return structuredContent ?? Promise.reject(new Error(`${name}: ${content[0]?.text}`));
    };
    this.#problems.push(...(await compareStatements({ service: this.#service, attempts, env, ask })));
  }

  async #disagreements(): Promise<string[]> {
    return await compareAllSources({
      ledgerLocation: this.#ledgerLocation,
      budget: this.#budget,
      requests: this.#requests,
      service: this.#service,
      testFolders: this.#testFolders,
      wasKilled: this.#servers.kills > 0,
      hasSeveralKeys: this.#servers.hasSeveralKeys,
    });
  }

  get #ledgerLocation(): LedgerLocation {
    const { stateDir } = this.#testFolders;
    const { baseUrl } = this.#service;
    return { stateDir, storeUrl: this.#storage.directUrl, baseUrl, apiKeys: API_KEYS };
  }

  get isWrong(): boolean {
    return this.#problems.length > 0;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  get figures(): Record<string, number> {
    const tasks = [...this.#service.tasks.values()];
    const { kills, suspensions, keyChanges } = this.#servers;
    return {
      ...this.#figures,
      faults: this.#trouble.count,
      tasks: tasks.length,
      failedTasks: tasks.filter(({ status }) => status === "failed").length,
      kills,
      suspensions,
      keyChanges,
      refusedByBudget: this.#requests.filter(({ isOverBudget }) => isOverBudget).length,
      creditsOverBudget: creditsOver(this.#budget, this.#service),
      limited: this.#service.rateLimitedCount,
    };
  }

  async close(): Promise<void> {
    await this.#servers.close();
    this.#problems.push(...this.#servers.problems);
    await this.#service.stop();
    if (!this.isWrong) await this.#testFolders.remove();
    else this.#problems.push(await this.#servers.keepEvidence(this.#testFolders.root));
  }
}

/**
 * Runs rounds in one world. Ends after the first round with a problem.
 *
 * @returns how often each thing happened
 * @throws Error that names every disagreement
 */
export async function runChaosRounds(
  seed: number,
  stores: LedgerStores,
  rounds: number,
): Promise<Record<string, number>> {
  const run = await ChaosRun.open(seed, stores);
  try {
    for (let round = 1; round <= rounds && !run.isWrong; round += 1) await run.round(round);
    if (!run.isWrong) await run.compareStatements();
  } finally {
    await run.close();
  }
  if (run.isWrong) throw new Error(run.problems.join("\n    "));
  return run.figures;
}
