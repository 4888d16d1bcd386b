/** One service in trouble, one ledger, a few processes: rounds of random calls, and the books after each. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CountingService } from "../../support/counting-service.ts";
import { createWorkplace, type Workplace } from "../../support/workplace.ts";
import type { Outcome, RawServer } from "../raw-server.ts";
import { compareDisk, compareTasks, findKeysInOutput, findKeysOnDisk } from "./books.ts";
import { compareLedger } from "./ledger-books.ts";
import { type LedgerPlace, openLedgerPlace, type StoreKind } from "./ledger-place.ts";
import { Random } from "./random.ts";
import { type Asked, anotherTake, argumentsOf, newRequest } from "./requests.ts";
import { Servers } from "./servers.ts";
import { startTroubledService, type Trouble } from "./troubled-service.ts";

const API_KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;
const SERVERS = 2;
/** A call may take this long; none of these comes near it. */
const SETTLE_SECONDS = 10;
const MOST_REPEATS = 40;

export interface WorldOptions {
  readonly seed: number;
  readonly store: StoreKind;
}

interface Figures {
  calls: number;
  exchanges: number;
  ledgerFaults: number;
}

export class World {
  readonly #random: Random;
  readonly #trouble: Trouble;
  readonly #workplace: Workplace;
  readonly #service: CountingService;
  readonly #place: LedgerPlace;
  readonly #servers: Servers;
  readonly #asked: Asked[] = [];
  readonly #wrong: string[] = [];
  readonly #figures: Figures = { calls: 0, exchanges: 0, ledgerFaults: 0 };

  private constructor(
    random: Random,
    trouble: Trouble,
    workplace: Workplace,
    service: CountingService,
    place: LedgerPlace,
  ) {
    this.#random = random;
    this.#trouble = trouble;
    this.#workplace = workplace;
    this.#service = service;
    this.#place = place;
    const more = { AUDIO_TIME_SCALE: "0.001", AUDIO_LOG_LEVEL: "debug", AUDIO_WAIT_SECONDS: "5" };
    const budget = { AUDIO_CREDIT_BUDGET: "1000000" };
    this.#servers = new Servers({
      random,
      count: SERVERS,
      cwd: workplace.root,
      apiKeys: API_KEYS,
      // On Redis each key has books of its own, of which no script sees both (docs/design.md, Ledger on Redis).
      mixesKeys: place.kind === "sqlite" && process.env["MIX"] !== "0",
      env: (apiKey) =>
        workplace.env({ baseUrl: service.baseUrl, apiKey }, { ...more, ...budget, ...place.env }),
      onGone: (server) => this.#wrong.push(...findKeysInOutput(API_KEYS, [server])),
    });
  }

  static async open({ seed, store }: WorldOptions): Promise<World> {
    const random = new Random(seed);
    const trouble = { faults: 0, failures: 0, count: 0, strayed: new Set<string>() };
    const workplace = await createWorkplace();
    const service = await startTroubledService(random, trouble, API_KEYS);
    const place = await openLedgerPlace(store, workplace.stateDir);
    const world = new World(random, trouble, workplace, service, place);
    await world.#servers.start();
    return world;
  }

  async round(number: number): Promise<void> {
    const random = this.#random;
    this.#trouble.faults = random.pick([0, 0.2, 0.4, 0.7]);
    this.#trouble.failures = random.pick([0, 0, 0.2, 0.5]);
    if (random.chance(0.05)) await this.#servers.changeKey();
    const requests = Array.from({ length: random.int(1, 3) }, () => this.#choose(number));
    await this.#loseAFile(requests);
    const calls = requests.flatMap((asked) =>
      Array.from({ length: random.int(1, 2) }, () => this.#callOnce(asked)),
    );
    if (random.chance(0.2)) calls.push(this.#lookAround());
    await this.#disturb();
    await Promise.all(calls);
    this.#trouble.faults = random.pick([0, 0.1]);
    this.#trouble.failures = 0;
    await Promise.all([...new Set(requests)].map((asked) => this.#settle(asked)));
    await this.#compare(number);
    this.#figures.exchanges += this.#service.exchanges.splice(0).length;
  }

  /** Mostly something new, sometimes what was asked before: it must come to the same task and file. */
  #choose(round: number): Asked {
    const earlier = this.#asked[this.#random.int(0, Math.max(0, this.#asked.length - 1))];
    if (earlier !== undefined && this.#random.chance(0.25)) return earlier;
    const isAnotherTake = earlier !== undefined && this.#random.chance(0.2);
    const asked = isAnotherTake ? anotherTake(earlier, this.#asked) : newRequest(this.#random, round);
    this.#asked.push(asked);
    return asked;
  }

  /** A person throws away audio that is about to be asked for again: it comes back, free and under its name. */
  async #loseAFile(requests: readonly Asked[]): Promise<void> {
    const path = requests.find(({ report }) => report !== undefined)?.report?.path;
    if (path !== undefined && this.#random.chance(0.3)) await rm(path, { force: true });
  }

  /** What goes wrong with processes and ledger while calls are open; all of it is over when this resolves. */
  async #disturb(): Promise<void> {
    const random = this.#random;
    const all: Promise<void>[] = [];
    if (random.chance(0.2)) all.push(this.#servers.kill(random.int(0, 60)));
    else if (random.chance(0.1)) all.push(this.#servers.suspend(random.int(0, 60)));
    if (random.chance(0.2)) {
      this.#figures.ledgerFaults += 1;
      const afterMs = random.int(0, 60);
      all.push(new Promise((resolve) => setTimeout(resolve, afterMs)).then(() => this.#place.upset(random)));
    }
    await Promise.all(all);
  }

  /** A call that makes nothing, and takes up what was left. */
  async #lookAround(): Promise<void> {
    const known = this.#asked.find(({ report }) => report !== undefined)?.report;
    const server = this.#servers.any();
    const id =
      known === undefined || this.#random.chance(0.5)
        ? server.begin("list_tasks", {})
        : server.begin("download_audio", { task_id: known.taskId });
    this.#figures.calls += 1;
    await this.#outcomeOf(server, id);
  }

  /** One call whose end does not matter: it may be cancelled, refused, or die with its process. */
  async #callOnce(asked: Asked): Promise<void> {
    const random = this.#random;
    this.#figures.calls += 1;
    const server = this.#servers.any();
    const token = random.chance(0.5) ? { progressToken: `p${this.#figures.calls}` } : undefined;
    const wait = random.pick([0, 0.02, 0.1, 0.5, 3]);
    const isCancelled = random.chance(0.15);
    const pauseMs = random.int(0, 40);
    const id = server.begin("generate_audio", argumentsOf(asked, wait), token);
    if (isCancelled) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      server.cancel(id);
      return;
    }
    const outcome = await this.#outcomeOf(server, id);
    if (outcome !== undefined) this.#note(asked, outcome);
  }

  /** A killed process answers nothing; a living one that does not answer is a fault. */
  async #outcomeOf(server: RawServer, id: number): Promise<Outcome | undefined> {
    try {
      return await server.outcomeOf(id);
    } catch (error) {
      if (server.child.exitCode === null && server.child.signalCode === null) this.#wrong.push(String(error));
      return undefined;
    }
  }

  /** Repeats the same call, as every error tells the assistant to, until the file is there. */
  async #settle(asked: Asked): Promise<void> {
    let last = "";
    for (let repeat = 0; repeat < MOST_REPEATS; repeat += 1) {
      this.#figures.calls += 1;
      const outcome = await this.#servers.any().call("generate_audio", argumentsOf(asked, SETTLE_SECONDS));
      if (this.#note(asked, outcome)) return;
      last = outcome.content[0]?.text ?? "";
    }
    this.#wrong.push(`${JSON.stringify(asked.input.prompt)} never came to a file: ${last}`);
  }

  /** @returns whether the audio is there */
  #note(asked: Asked, { structuredContent: task }: Outcome): boolean {
    const audio = Object(task?.["audio"] ?? {});
    const billing = Object(task?.["billing"] ?? {});
    if (task === undefined || typeof audio.path !== "string") return false;
    const taskId = String(task["task_id"]);
    const report = { taskId, chargedCredits: Number(billing.charged_credits), path: audio.path };
    const before = asked.report;
    if (before !== undefined && (before.taskId !== report.taskId || before.path !== report.path)) {
      const { prompt } = asked.input;
      this.#wrong.push(
        `${JSON.stringify(prompt)} was ${JSON.stringify(before)}, is ${JSON.stringify(report)}`,
      );
    }
    asked.report = report;
    return true;
  }

  async #compare(number: number): Promise<void> {
    const { stateDir } = this.#workplace;
    const { directUrl: storeUrl } = this.#place;
    const { baseUrl } = this.#service;
    const found = [
      ...(await compareLedger(this.#service, { stateDir, storeUrl, baseUrl, apiKeys: API_KEYS })),
      ...compareTasks(this.#asked, this.#service),
      ...(await compareDisk(this.#asked, this.#service, this.#workplace, this.#servers.kills > 0)),
    ];
    this.#wrong.push(...this.#servers.wrong.splice(0), ...found);
    if (this.isWrong) this.#wrong.unshift(`round ${number}:`);
    else {
      this.#wrong.push(...findKeysInOutput(API_KEYS, this.#servers.all));
      this.#wrong.push(...(await findKeysOnDisk(API_KEYS, this.#workplace)));
    }
  }

  get isWrong(): boolean {
    return this.#wrong.length > 0;
  }

  get wrong(): readonly string[] {
    return this.#wrong;
  }

  get figures(): Record<string, number> {
    const tasks = [...this.#service.tasks.values()];
    const { kills, suspensions } = this.#servers;
    return {
      ...this.#figures,
      faults: this.#trouble.count,
      tasks: tasks.length,
      failedTasks: tasks.filter(({ status }) => status === "failed").length,
      kills,
      suspensions,
      limited: this.#service.limited,
    };
  }

  async close(): Promise<void> {
    await this.#servers.close();
    this.#wrong.push(...this.#servers.wrong);
    await this.#service.stop();
    await this.#place.close();
    if (!this.isWrong) await this.#workplace.remove();
    else await this.#keepEvidence();
  }

  async #keepEvidence(): Promise<void> {
    const { root } = this.#workplace;
    for (const [index, { stderr }] of this.#servers.all.entries()) {
      await writeFile(join(root, `stderr-${index}.log`), stderr);
    }
    this.#wrong.push(`everything is left in ${root}`);
  }
}
