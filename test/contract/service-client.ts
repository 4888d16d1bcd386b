/**
 * Sends the requests of the suite, with plain HTTP and within the service's limits. Creates the task that most rules
 * check.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type AudioTask, audioTaskSchema } from "../../src/contract/audio-task.ts";
import { serviceErrorBody } from "../../src/contract/service-errors.ts";
import { GENERATIONS_PATH } from "../../src/contract/wire.ts";
import type { ContractTarget } from "./target.ts";

/**
 * How long a request that is answered with 429 is sent again: longer than a concurrency slot or a limit window should
 * stay occupied, on a busy machine too. After this time, the client returns that answer.
 */
const PATIENCE_MS = 2 * 60_000;
/** Maximum time of polling. The contract allows a task over 60 minutes, but a task of a few words ends much sooner. */
const FINISH_DEADLINE_MS = 10 * 60_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface RequestOptions {
  /** Default: the target's key. `null` sends no Authorization header. */
  readonly apiKey?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Whether to wait after a 429 and send the request again. Default: true. */
  readonly patient?: boolean;
}

export interface CreateOptions extends RequestOptions {
  /** The idempotency key. Default: a new one. `null` sends none. */
  readonly key?: string | null;
}

export const jsonOf = (answer: Answer): unknown => JSON.parse(new TextDecoder().decode(answer.bytes));

/** Returns the code of an error response, which must have the shape of docs/contract.md, Errors. */
export function errorCodeOf(answer: Answer): string {
  return serviceErrorBody.parse(jsonOf(answer)).error.code;
}

export function expectError(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: errorCodeOf(answer) }).toEqual({ status, code });
}

/** Returns the task in a response. Throws if it does not have the shape of the contract. */
export const answeredTaskOf = (answer: Answer): AudioTask => audioTaskSchema.parse(jsonOf(answer));

export const newKey = (): string => `contract-suite-${randomUUID()}`;

/** The input of most tests: a few words, so that a task has the minimum cost. */
export const SHORT_INPUT = { prompt: "Hello.\nThis is a test." };

export class ServiceClient {
  readonly target: ContractTarget;
  /** Ids of the tasks of the target's own account, for reporting the cost of the run. */
  readonly createdIds = new Set<string>();
  /** The idempotency key of the main task. Another input under this key is a conflict, which costs nothing. */
  readonly mainKey = newKey();
  #main: Promise<AudioTask> | undefined;

  constructor(target: ContractTarget) {
    this.target = target;
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { apiKey = this.target.apiKey, body, patient = true } = options;
    const endMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const response = await fetch(`${this.target.baseUrl}${path}`, {
        method,
        redirect: "manual",
        headers: {
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          ...options.headers,
        },
        ...(body === undefined ? {} : { body }),
      });
      const answer: Answer = {
        status: response.status,
        headers: response.headers,
        bytes: new Uint8Array(await response.arrayBuffer()),
      };
      if (answer.status !== 429 || !patient || performance.now() > endMs) return answer;
      const waitMs =
        method !== "HEAD" && errorCodeOf(answer) === "concurrency_limit"
          ? this.target.pollIntervalMs
          : this.target.limitWindowMs;
      await sleep(waitMs);
    }
  }

  /** Sends a create. Its body is `input` as JSON, unless `options.body` is given. */
  async create(input: unknown, options: CreateOptions = {}): Promise<Answer> {
    const { key = newKey() } = options;
    const answer = await this.send("POST", GENERATIONS_PATH, {
      body: JSON.stringify(input),
      ...options,
      headers: {
        "content-type": "application/json",
        ...(key === null ? {} : { "idempotency-key": key }),
        ...options.headers,
      },
    });
    if (answer.status === 202 && (options.apiKey ?? this.target.apiKey) === this.target.apiKey) {
      this.createdIds.add(answeredTaskOf(answer).id);
    }
    return answer;
  }

  /** Sends a create that must be accepted. */
  async created(input: unknown, options: CreateOptions = {}): Promise<AudioTask> {
    const answer = await this.create(input, options);
    expect(answer.status, new TextDecoder().decode(answer.bytes)).toBe(202);
    return answeredTaskOf(answer);
  }

  async query(id: string, options: RequestOptions = {}): Promise<Answer> {
    return await this.send("GET", `${GENERATIONS_PATH}/${id}`, options);
  }

  async content(id: string, options: RequestOptions & { method?: "GET" | "HEAD" } = {}): Promise<Answer> {
    return await this.send(options.method ?? "GET", `${GENERATIONS_PATH}/${id}/content`, options);
  }

  /** Polls at the target's interval until the task has succeeded or failed, and returns the task. */
  async finished(id: string, options: RequestOptions = {}): Promise<AudioTask> {
    const deadlineMs = performance.now() + FINISH_DEADLINE_MS;
    for (;;) {
      const answer = await this.query(id, options);
      expect(answer.status).toBe(200);
      const task = answeredTaskOf(answer);
      if (task.status === "succeeded" || task.status === "failed") return task;
      expect(performance.now(), "the task takes too long").toBeLessThan(deadlineMs);
      await sleep(this.target.pollIntervalMs);
    }
  }

  /** Returns the succeeded task that most rules check. The first call creates it. */
  async mainTask(): Promise<AudioTask> {
    this.#main ??= this.created(SHORT_INPUT, { key: this.mainKey }).then(({ id }) => this.finished(id));
    const task = await this.#main.catch((error: unknown) => {
      this.#main = undefined;
      throw error;
    });
    expect(task.status).toBe("succeeded");
    return task;
  }

  /**
   * Asserts that an input is valid, without creating a task for it. Sends the input under the idempotency key of the
   * main task. The service answers 409 to a valid input that differs from the main task's, and 400 to an invalid one.
   */
  async expectValid(input: Record<string, unknown>): Promise<void> {
    await this.mainTask();
    expectError(await this.create(input, { key: this.mainKey }), 409, "idempotency_conflict");
  }

  /** Waits until no task of this client is in flight and no limit window contains a request. */
  async quiet(): Promise<void> {
    for (const id of this.createdIds) await this.finished(id);
    await sleep(this.target.limitWindowMs * 1.1);
  }
}
