/** Owns hammering a sandbox with many clients and counting its credits afterwards; knows the contract, not the insides. */
import { randomInt, randomUUID } from "node:crypto";
import { Agent, request } from "undici";
import { audioTaskSchema } from "../../src/contract/audio-task.ts";
import { serviceErrorBody } from "../../src/contract/errors.ts";
import { GENERATIONS_PATH } from "../../src/contract/wire.ts";
import type { RunningSandbox } from "../../src/sandbox/sandbox.ts";

/** Far above any answer's time; a request without one by then counts as unanswered. */
const ANSWER_DEADLINE_MS = 10_000;

export interface HammerOptions {
  readonly sandbox: RunningSandbox;
  /** One key per account, in the order of the accounts. */
  readonly keys: readonly string[];
  readonly clients: number;
  readonly seconds: number;
  /** Fits the audio's length to a prompt; default 0.01 to 130 seconds as the scripted engine understands them. */
  readonly prompt?: () => string;
}

export interface HammerReport {
  readonly requests: number;
  /** Requests per answer, such as `202` or `429 rate_limit`. */
  readonly answers: Readonly<Record<string, number>>;
  /** Requests that got no answer, an answer cut short or one that was not the contract's. */
  readonly unanswered: readonly string[];
  readonly slowestMs: number;
  readonly tasks: number;
  /** Every way in which the credits do not add up; empty when they do. */
  readonly wrongBalances: readonly string[];
}

interface Known {
  readonly key: string;
  readonly taskIds: Set<string>;
  readonly creations: Array<{ idempotencyKey: string; body: string; id: string }>;
}

const pick = <Item>(items: readonly Item[]): Item | undefined => items[randomInt(Math.max(1, items.length))];

class Hammer {
  readonly #options: HammerOptions;
  readonly #agent: Agent;
  readonly answers: Record<string, number> = {};
  readonly unanswered: string[] = [];
  slowestMs = 0;
  requests = 0;

  constructor(options: HammerOptions) {
    this.#options = options;
    this.#agent = new Agent({ connections: options.clients, headersTimeout: ANSWER_DEADLINE_MS });
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }

  /** One request; its answer is checked for shape and counted. */
  async send(
    key: string,
    method: "GET" | "POST" | "HEAD",
    path: string,
    extra: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<{ status: number; json: unknown } | undefined> {
    this.requests += 1;
    const startMs = performance.now();
    try {
      const { statusCode, headers, body } = await request(`${this.#options.sandbox.baseUrl}${path}`, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(ANSWER_DEADLINE_MS),
        headers: { authorization: `Bearer ${key}`, ...extra.headers },
        ...(extra.body === undefined ? {} : { body: extra.body }),
      });
      const bytes = Buffer.from(await body.arrayBuffer());
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startMs);
      const isJson = String(headers["content-type"]).startsWith("application/json") && bytes.byteLength > 0;
      const json: unknown = isJson ? JSON.parse(bytes.toString()) : undefined;
      const refused = statusCode >= 400 && method !== "HEAD";
      const name = refused ? `${statusCode} ${serviceErrorBody.parse(json).error.code}` : String(statusCode);
      this.answers[name] = (this.answers[name] ?? 0) + 1;
      return { status: statusCode, json };
    } catch (error) {
      this.unanswered.push(`${method} ${path}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  async create(account: Known, idempotencyKey: string, body: string): Promise<void> {
    const answer = await this.send(account.key, "POST", GENERATIONS_PATH, {
      headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
      body,
    });
    if (answer?.status !== 202) return;
    const { id } = audioTaskSchema.parse(answer.json);
    const earlier = account.creations.find((creation) => creation.idempotencyKey === idempotencyKey);
    if (earlier === undefined) account.creations.push({ idempotencyKey, body, id });
    else if (earlier.id !== id) this.unanswered.push(`the replay of ${earlier.id} was ${id}`);
    account.taskIds.add(id);
  }
}

/** What a client does next: mostly reads and repeats, as real ones do, and now and then nonsense. */
async function step(hammer: Hammer, account: Known, other: Known, prompt: () => string): Promise<void> {
  const known = pick(account.creations);
  const id = known?.id ?? "aud_none";
  const taskPath = `${GENERATIONS_PATH}/${id}`;
  const dice = randomInt(100);
  if (dice < 30) return await hammer.create(account, randomUUID(), JSON.stringify({ prompt: prompt() }));
  if (dice < 40 && known !== undefined) return await hammer.create(account, known.idempotencyKey, known.body);
  if (dice < 45 && known !== undefined) {
    return await hammer.create(account, known.idempotencyKey, '{"prompt":"something else"}');
  }
  if (dice < 65) await hammer.send(account.key, "GET", taskPath);
  else if (dice < 75) await hammer.send(account.key, "GET", `${taskPath}/content`);
  else if (dice < 82) {
    await hammer.send(account.key, "GET", `${taskPath}/content`, { headers: { range: "bytes=10-19" } });
  } else if (dice < 87) await hammer.send(account.key, "HEAD", `${taskPath}/content`);
  else if (dice < 91) await hammer.send(other.key, "GET", taskPath);
  else if (dice < 94) await hammer.send("sk-nobody", "GET", taskPath);
  else if (dice < 97) await hammer.create(account, randomUUID(), "x".repeat(40_000));
  else await hammer.create(account, randomUUID(), '{"prompt":""}');
}

/** Asks for every task until it has ended, and returns what they were charged together. */
async function chargesOf(hammer: Hammer, account: Known): Promise<number> {
  let charged = 0;
  for (const id of account.taskIds) {
    for (;;) {
      const answer = await hammer.send(account.key, "GET", `${GENERATIONS_PATH}/${id}`);
      const task = answer?.status === 200 ? audioTaskSchema.parse(answer.json) : undefined;
      if (task?.billing.charged_credits != null) {
        charged += task.billing.charged_credits;
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  return charged;
}

/**
 * Hammers for a while with `clients` at once, waits until every task has ended, and compares what the tasks say
 * they were charged with what the accounts say they have.
 */
export async function hammerSandbox(options: HammerOptions): Promise<HammerReport> {
  const { sandbox, clients, seconds, keys } = options;
  const prompt = options.prompt ?? (() => `[${randomInt(1, 13_000) / 100}s]`);
  const hammer = new Hammer(options);
  const accounts = keys.map((key): Known => ({ key, taskIds: new Set(), creations: [] }));
  const endMs = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const account = accounts[index % accounts.length];
      const other = accounts[(index + 1) % accounts.length];
      if (account === undefined || other === undefined) throw new Error("a hammer needs accounts");
      while (performance.now() < endMs) await step(hammer, account, other, prompt);
    }),
  );
  const requests = hammer.requests;
  const charges = await Promise.all(accounts.map((account) => chargesOf(hammer, account)));
  const wrongBalances = sandbox.balances().flatMap((balance, index) => {
    const { accountId, granted, available, reserved, charged } = balance;
    const isRight = reserved === 0 && charged === charges[index] && available === granted - charged;
    return isRight ? [] : [`${accountId}: ${JSON.stringify(balance)}, its tasks say ${charges[index]}`];
  });
  await hammer.close();
  return {
    requests,
    answers: hammer.answers,
    unanswered: hammer.unanswered,
    slowestMs: hammer.slowestMs,
    tasks: accounts.reduce((sum, account) => sum + account.taskIds.size, 0),
    wrongBalances,
  };
}

/** Accounts that a hammer can run dry: three grants each, one of them a gift, keys `sk-hammer-0` and on. */
export function hammerAccounts(count: number, credits: number) {
  return {
    accounts: Array.from({ length: count }, (_, index) => ({
      id: `account-${index}`,
      keys: [{ key: `sk-hammer-${index}` }],
      grants: [
        { kind: "pack" as const, credits },
        { kind: "subscription" as const, credits: 170, expires_at: "2999-01-01T00:00:00Z" },
        { kind: "gift" as const, credits: 70, expires_at: "2998-01-01T00:00:00Z" },
      ],
    })),
  };
}
