/** A machine with a few processes that share one ledger, a service that answers, and the facts about all of it. */
import { sql } from "kysely";
import type { Clock } from "../../../src/clock.ts";
import type { Database } from "../../../src/ledger/database.ts";
import type { Ledger } from "../../../src/ledger/ledger.ts";
import { type RequestRow, TABLE_NAMES } from "../../../src/ledger/schema.ts";
import { createLog } from "../../../src/log.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import type { CodeUnderTest } from "./code-under-test.ts";
import { type Asker, type Facts, newFacts } from "./facts.ts";

export const BASE_URL = "https://service.test";
export const TEXTS = ["text1", "text2", "text3", "text4"] as const;
export const KEYS = ["key1", "key2"] as const;
export const NARRATIONS = ["narration1", "narration2"] as const;

export interface Actor extends Asker {
  readonly ledger: Ledger;
}

/** What a driver in a process knows about its request. It may have lost the lease. */
export interface Job {
  readonly actor: Actor;
  readonly requestId: string;
  row: RequestRow;
  /** The send that was admitted and has no answer; `null` if there is none. */
  sendId: string | null;
  mayHaveSent: boolean;
}

export interface ServiceTask {
  readonly id: string;
  /** How it has ended, and what it was charged; `null` while it runs. */
  end: { readonly status: "succeeded" | "failed"; readonly charged: number | null } | null;
}

export interface WorldOptions {
  /** The budget of every process; `null` for none. */
  readonly budget: number | null;
  /** Whether both API keys belong to one account. */
  readonly isOneAccount: boolean;
  /**
   * `hurried`: little time passes and many sends are refused, so that the limit of the minute is reached. `silent`: many
   * sends are never answered.
   */
  readonly mood: "calm" | "hurried" | "silent";
}

/** The code under test with an open database. Each scenario empties the database. */
export interface Bench {
  readonly code: CodeUnderTest;
  readonly clock: BenchClock;
  /** The connections of processes, which take turns if there is one. */
  readonly databases: readonly Database[];
}

const log = createLog("silent", (text) => text);

/** A manual clock that each scenario begins anew. */
class BenchClock implements Clock {
  manual = new ManualClock();
  wallMs = (): number => this.manual.wallMs();
  steadyMs = (): number => this.manual.steadyMs();
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => this.manual.sleep(ms, signal);
}

export async function openBench(code: CodeUnderTest, stateDir: string, connections = 1): Promise<Bench> {
  const clock = new BenchClock();
  const databases: Database[] = [];
  for (let n = 0; n < connections; n += 1)
    databases.push(await code.database.openDatabase({ config: { stateDir, storeUrl: null }, log, clock }));
  return { code, clock, databases };
}

export const closeBench = async ({ databases }: Bench): Promise<void> => {
  for (const database of databases) await database.close();
};

export class World {
  readonly bench: Bench;
  readonly options: WorldOptions;
  facts: Facts;
  readonly actors: Actor[] = [];
  /** By process and request. */
  readonly jobs = new Map<string, Job>();
  /** The tasks of the service, by account and idempotency key. */
  readonly tasks = new Map<string, ServiceTask>();
  #counter = 0;

  constructor(bench: Bench, options: WorldOptions) {
    this.bench = bench;
    this.options = options;
    bench.clock.manual = new ManualClock();
    this.facts = newFacts(bench.clock.wallMs(), bench.clock.steadyMs());
    this.startProcess(0, "key1");
    this.startProcess(1, "key1");
    this.startProcess(2, "key2");
  }

  async empty(): Promise<void> {
    await this.anyLedger.database.tx(async (tx) => {
      for (const table of TABLE_NAMES) await sql`DELETE FROM ${sql.table(table)}`.execute(tx);
      for (const [at, id] of NARRATIONS.entries()) {
        await tx
          .insertInto("agm_narration")
          .values({
            ...{ id, base_url: BASE_URL, api_key_id: KEYS[0], plan_hash: id, title: id, status: "planned" },
            ...{ max_credits: 0, run: 0, revision: 0, problem: null, file_name: null, skip_failed: 0 },
            ...{ heard_part: 0 },
            ...{ predecessor: null, told: "[]", started_at_ms: 0, owner: null, lease_until_steady_ms: 0 },
            created_at_ms: 0,
          })
          .execute();
        const parts = TEXTS.slice(at, at + 3);
        this.facts.narrations[id] = { status: "planned", limit: 0, run: 0, parts: [...parts] };
        for (const [position, fingerprint] of parts.entries())
          await tx
            .insertInto("agm_part")
            .values({
              ...{ narration: id, position, input: fingerprint, loose: fingerprint, fingerprint, take: 1 },
              ...{ speed: null, problem: null },
            })
            .execute();
      }
    });
  }

  get anyLedger(): Ledger {
    return this.actor(0).ledger;
  }

  actor(at: number): Actor {
    const actor = this.actors[at % this.actors.length];
    if (actor === undefined) throw new Error("there is no process");
    return actor;
  }

  /** A new name that no scenario has given before. */
  newName(kind: string): string {
    this.#counter += 1;
    return `${kind}${this.#counter}`;
  }

  /** Starts a process in the place of another one, which is dead: it says nothing any more, and what it has taken stays. */
  startProcess(at: number, key: string): void {
    const { clock, databases } = this.bench;
    const database = databases[at % databases.length];
    if (database === undefined) throw new Error("there is no database");
    const dead = this.actors[at]?.id;
    for (const [name, job] of this.jobs) if (job.actor.id === dead) this.jobs.delete(name);
    const id = this.newName("process");
    this.actors[at] = {
      id,
      key,
      ledger: {
        database,
        identity: { baseUrl: BASE_URL, apiKeyId: key, processId: id, machineId: "this" },
        clock,
        log,
        timeScale: 1,
        creditBudget: this.options.budget,
      },
    };
  }

  /** The service makes one task for one idempotency key of an account. */
  findTask(key: string, fingerprint: string, attempt: number): ServiceTask {
    const account = this.options.isOneAccount ? "account" : key;
    const name = `${account} ${fingerprint}#${attempt}`;
    const task = this.tasks.get(name) ?? { id: this.newName("task"), end: null };
    this.tasks.set(name, task);
    return task;
  }
}
