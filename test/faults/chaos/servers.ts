/**
 * The processes of a chaos run. Each may be killed, suspended, or restarted with another key of the same account.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../support/random.ts";
import { RawServer } from "../raw-server.ts";

/** Longer than a lease, which lasts 3 s at this time scale. */
const PAST_THE_LEASE_MS = 3300;

export interface ServersOptions {
  readonly random: Random;
  readonly count: number;
  readonly cwd: string;
  /** The settings of a process that uses this key. */
  readonly env: (apiKey: string) => Record<string, string>;
  readonly apiKeys: readonly string[];
  /** Whether processes with different keys may run at the same time. */
  readonly mixesKeys: boolean;
  /** Called for each process that has ended, to check its output. */
  readonly onGone: (server: RawServer) => void;
}

export class Servers {
  readonly all: RawServer[] = [];
  /** The settings of each process. */
  readonly envs: Record<string, string>[] = [];
  readonly problems: string[] = [];
  kills = 0;
  suspensions = 0;
  keyChanges = 0;
  readonly #options: ServersOptions;
  #apiKey: string;

  get hasSeveralKeys(): boolean {
    return this.#options.mixesKeys || this.keyChanges > 0;
  }

  constructor(options: ServersOptions) {
    this.#options = options;
    this.#apiKey = options.random.pick(this.#keys());
  }

  #keys(): readonly [string, ...string[]] {
    const [first = "", ...rest] = this.#options.apiKeys;
    return [first, ...rest];
  }

  async start(): Promise<void> {
    for (let index = 0; index < this.#options.count; index += 1) await this.#startOne(index);
  }

  async #startOne(index: number): Promise<void> {
    const { random, mixesKeys, env, cwd } = this.#options;
    const apiKey = mixesKeys ? random.pick(this.#keys()) : this.#apiKey;
    const settings = env(apiKey);
    this.envs[index] = settings;
    this.all[index] = await RawServer.start(settings, { cwd });
  }

  any(): RawServer {
    return this.#at(this.#options.random.int(0, this.all.length - 1));
  }

  #at(index: number): RawServer {
    const server = this.all[index];
    if (server === undefined) throw new Error("no server runs");
    return server;
  }

  /** Kills a random process, like a crash, and starts another one instead. */
  async kill(afterMs: number): Promise<void> {
    const index = this.#options.random.int(0, this.all.length - 1);
    await sleep(afterMs);
    const server = this.#at(index);
    server.child.kill("SIGKILL");
    await server.exited;
    this.kills += 1;
    this.#options.onGone(server);
    await this.#startOne(index);
  }

  /** Suspends a random process for a while, like a laptop that sleeps or a machine that is short of memory. */
  async suspend(afterMs: number): Promise<void> {
    const { random } = this.#options;
    const server = this.any();
    const forMs = random.chance(0.1) ? PAST_THE_LEASE_MS : random.int(5, 400);
    await sleep(afterMs);
    server.child.kill("SIGSTOP");
    this.suspensions += 1;
    await sleep(forMs);
    server.child.kill("SIGCONT");
  }

  /** Restarts each server with another key of the account, like clients after a person has changed the settings. */
  async changeKey(afterMs: number): Promise<void> {
    await sleep(afterMs);
    const others = this.#keys().filter((key) => key !== this.#apiKey);
    this.#apiKey = others[0] ?? this.#apiKey;
    this.keyChanges += 1;
    for (const [index, server] of this.all.entries()) {
      await this.#end(server);
      this.#options.onGone(server);
      await this.#startOne(index);
    }
  }

  async #end(server: RawServer): Promise<void> {
    const { code } = await server.end();
    if (code !== 0) this.problems.push(`a server ended with ${code}`);
  }

  async close(): Promise<void> {
    for (const server of this.all) {
      server.child.kill("SIGCONT");
      await this.#end(server);
    }
  }

  /** Writes the stderr of each process into the folder. Returns a line that names the folder. */
  async keepEvidence(folder: string): Promise<string> {
    for (const [index, { stderr }] of this.all.entries()) {
      await writeFile(join(folder, `stderr-${index}.log`), stderr);
    }
    return `everything is left in ${folder}`;
  }
}
