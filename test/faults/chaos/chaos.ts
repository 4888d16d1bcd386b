/** Owns the rounds: random calls of random processes against a service in trouble, and the books after each; prints nothing. */

import { rm } from "node:fs/promises";
import type { CountingService } from "../../support/counting-service.ts";
import { createWorkplace, type Workplace } from "../../support/workplace.ts";
import { type Outcome, RawServer } from "../raw-server.ts";
import { compareDisk, compareTasks, findKey } from "./books.ts";
import { Random } from "./random.ts";
import { type Asked, anotherTake, argumentsOf, newRequest, type Report } from "./requests.ts";
import { startTroubledService, type Trouble } from "./troubled-service.ts";

export interface ChaosReport {
  readonly rounds: number;
  readonly calls: number;
  readonly exchanges: number;
  /** Exchanges that were made to go wrong. */
  readonly faults: number;
  readonly tasks: number;
  readonly failedTasks: number;
  readonly kills: number;
  readonly limited: number;
  /** Empty when everything holds; the round is named. */
  readonly wrong: readonly string[];
}

export interface ChaosOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly onRound?: (round: number) => void;
}

const SERVERS = 2;
/** A call may take this long; none of these comes near it. */
const SETTLE_SECONDS = 10;
const MOST_REPEATS = 40;

class Chaos {
  readonly #random: Random;
  readonly #trouble: Trouble;
  readonly #workplace: Workplace;
  readonly #service: CountingService;
  readonly #servers: RawServer[] = [];
  readonly #asked: Asked[] = [];
  readonly #wrong: string[] = [];
  #calls = 0;
  #exchanges = 0;
  #kills = 0;

  private constructor(random: Random, trouble: Trouble, workplace: Workplace, service: CountingService) {
    this.#random = random;
    this.#trouble = trouble;
    this.#workplace = workplace;
    this.#service = service;
  }

  static async open(seed: number): Promise<Chaos> {
    const random = new Random(seed);
    const trouble = { faults: 0, failures: 0, count: 0 };
    const chaos = new Chaos(
      random,
      trouble,
      await createWorkplace(),
      await startTroubledService(random, trouble),
    );
    for (let index = 0; index < SERVERS; index += 1) await chaos.#startServer(index);
    return chaos;
  }

  async #startServer(index: number): Promise<void> {
    const more = { AUDIO_TIME_SCALE: "0.001", AUDIO_LOG_LEVEL: "debug", AUDIO_WAIT_SECONDS: "5" };
    this.#servers[index] = await RawServer.start(this.#workplace.env(this.#service, more), {
      cwd: this.#workplace.root,
    });
  }

  async round(number: number): Promise<void> {
    const random = this.#random;
    this.#trouble.faults = random.pick([0, 0.2, 0.4, 0.7]);
    this.#trouble.failures = random.pick([0, 0, 0.2, 0.5]);
    const requests = Array.from({ length: random.int(1, 3) }, () => this.#choose(number));
    await this.#loseAFile(requests);
    const willKill = random.chance(0.2);
    const calls = requests.flatMap((asked) =>
      Array.from({ length: random.int(1, 2) }, () => this.#callOnce(asked)),
    );
    if (willKill) await this.#kill(random.int(0, SERVERS - 1), random.int(0, 60));
    await Promise.all(calls);
    this.#trouble.faults = random.pick([0, 0.1]);
    this.#trouble.failures = 0;
    await Promise.all([...new Set(requests)].map((asked) => this.#settle(asked)));
    await this.#compare(number);
    this.#exchanges += this.#service.exchanges.splice(0).length;
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

  #server(): RawServer {
    const server = this.#servers[this.#random.int(0, SERVERS - 1)];
    if (server === undefined) throw new Error("no server runs");
    return server;
  }

  /** One call whose end does not matter: it may be cancelled, refused, or die with its process. */
  async #callOnce(asked: Asked): Promise<void> {
    this.#calls += 1;
    const server = this.#server();
    const token = this.#random.chance(0.5) ? { progressToken: `p${this.#calls}` } : undefined;
    const wait = this.#random.pick([0, 0.02, 0.1, 0.5, 3]);
    const isCancelled = this.#random.chance(0.15);
    const pauseMs = this.#random.int(0, 40);
    const id = server.begin("generate_audio", argumentsOf(asked, wait), token);
    if (isCancelled) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      server.cancel(id);
      return;
    }
    try {
      this.#note(asked, await server.outcomeOf(id));
    } catch (error) {
      // A killed process answers nothing; a living one that does not answer is a fault.
      if (server.child.exitCode === null && server.child.signalCode === null) this.#wrong.push(String(error));
    }
  }

  async #kill(index: number, afterMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const server = this.#servers[index];
    if (server === undefined) return;
    server.child.kill("SIGKILL");
    await server.exited;
    this.#kills += 1;
    this.#wrong.push(...(await findKey(this.#service.apiKey, this.#workplace, [server])));
    await this.#startServer(index);
  }

  /** Repeats the same call, as every error tells the assistant to, until the file is there. */
  async #settle(asked: Asked): Promise<void> {
    let last = "";
    for (let repeat = 0; repeat < MOST_REPEATS; repeat += 1) {
      this.#calls += 1;
      const outcome = await this.#server().call("generate_audio", argumentsOf(asked, SETTLE_SECONDS));
      if (this.#note(asked, outcome)) return;
      last = outcome.content[0]?.text ?? "";
    }
    this.#wrong.push(`${JSON.stringify(asked.input.prompt)} never came to a file: ${last}`);
  }

  /** @returns whether the audio is there */
  #note(asked: Asked, outcome: Outcome): boolean {
    const task = outcome.structuredContent;
    if (task === undefined) return false;
    const audio = Object(task["audio"] ?? {});
    const billing = Object(task["billing"] ?? {});
    if (typeof audio.path !== "string") return false;
    const report: Report = {
      taskId: String(task["task_id"]),
      reservedCredits: Number(billing.reserved_credits),
      chargedCredits: Number(billing.charged_credits),
      path: audio.path,
      sha256: String(audio.sha256),
    };
    const before = asked.report;
    if (before !== undefined && (before.taskId !== report.taskId || before.path !== report.path)) {
      this.#wrong.push(`${JSON.stringify(asked.input.prompt)} was ${before.path} and became ${report.path}`);
    }
    asked.report = report;
    return true;
  }

  async #compare(number: number): Promise<void> {
    const found = [
      ...compareTasks(this.#asked, this.#service),
      ...(await compareDisk(this.#asked, this.#service, this.#workplace, this.#kills > 0)),
      ...(await findKey(this.#service.apiKey, this.#workplace, this.#servers)),
    ];
    this.#wrong.push(...found.map((what) => `round ${number}: ${what}`));
  }

  get isWrong(): boolean {
    return this.#wrong.length > 0;
  }

  report(rounds: number): ChaosReport {
    const tasks = [...this.#service.tasks.values()];
    return {
      rounds,
      calls: this.#calls,
      exchanges: this.#exchanges,
      faults: this.#trouble.count,
      tasks: tasks.length,
      failedTasks: tasks.filter(({ status }) => status === "failed").length,
      kills: this.#kills,
      limited: this.#service.limited,
      wrong: this.#wrong,
    };
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      const { code } = await server.end();
      if (code !== 0) this.#wrong.push(`a server ended with ${code}`);
    }
    await this.#service.stop();
    await this.#workplace.remove();
  }
}

/** Runs rounds until they are done or the first one whose books do not agree. */
export async function runChaos({ rounds, seed, onRound }: ChaosOptions): Promise<ChaosReport> {
  const chaos = await Chaos.open(seed);
  let done = 0;
  try {
    while (done < rounds && !chaos.isWrong) {
      done += 1;
      await chaos.round(done);
      onRound?.(done);
    }
  } finally {
    await chaos.close();
  }
  return chaos.report(done);
}
