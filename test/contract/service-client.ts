/**
 * The requests of the suite: plain HTTP within the service's limits, and the task that most rules check. Asserts
 * nothing.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type AudioTask, audioTaskSchema } from "../../src/contract/audio-task.ts";
import { serviceErrorBody } from "../../src/contract/service-errors.ts";
import { GENERATIONS_PATH } from "../../src/contract/wire.ts";
import type { ContractTarget } from "./target.ts";

/**
 * Maximum number of sends of one request. They take longer than a wait for a slot or a limit window should. After them,
 * the 429 is returned.
 */
const PATIENT_ATTEMPTS = 40;
/** Maximum polling time. The contract allows over 60 minutes, but tasks of a few words end much sooner. */
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
  /** Waits after a 429 and sends the request again (default); false returns the 429. */
  readonly patient?: boolean;
}

export interface CreateOptions extends RequestOptions {
  /** Default: a new key. Null sends none. */
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

/** Returns a task of the contract's shape, or fails the assertion. */
export const answeredTaskOf = (answer: Answer): AudioTask => audioTaskSchema.parse(jsonOf(answer));

export const newKey = (): string => `contract-suite-${randomUUID()}`;

/** The input of most tests: a few words, so that a task has the minimum cost. */
export const SHORT_INPUT = { prompt: "Hello.\nThis is a test." };

export class ServiceClient {
  readonly target: ContractTarget;
  /** Ids of the tasks of the target's own account, for reporting the cost of the run. */
  readonly createdIds = new Set<string>();
  /** The key that created the main task. With another input it conflicts, which costs nothing. */
  readonly mainKey = newKey();
  #main: Promise<AudioTask> | undefined;

  constructor(target: ContractTarget) {
    this.target = target;
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { apiKey = this.target.apiKey, body, patient = true } = options;
    for (let attempt = 1; ; attempt += 1) {
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
      if (answer.status !== 429 || !patient || attempt === PATIENT_ATTEMPTS) return answer;
      const waitMs =
        method !== "HEAD" && errorCodeOf(answer) === "concurrency_limit"
          ? this.target.pollIntervalMs
          : this.target.limitWindowMs;
      await sleep(waitMs);
    }
  }

  /** POSTs a create. `input` is sent as JSON unless `body` is given. */
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

  /** Polls at the prescribed rate until the task is terminal. */
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

  /** The one succeeded task that most rules check. The first caller creates it. */
  async mainTask(): Promise<AudioTask> {
    this.#main ??= this.created(SHORT_INPUT, { key: this.mainKey }).then(({ id }) => this.finished(id));
    const task = await this.#main;
    expect(task.status).toBe("succeeded");
    return task;
  }

  /**
   * Whether the service accepts an input, at no cost: with the main task's key, another valid input is a conflict
   * (409), and an invalid one is 400.
   */
  async expectValid(input: Record<string, unknown>): Promise<void> {
    await this.mainTask();
    expectError(await this.create(input, { key: this.mainKey }), 409, "idempotency_conflict");
  }

  /** Waits until no window contains a request and nothing is in flight. */
  async quiet(): Promise<void> {
    for (const id of this.createdIds) await this.finished(id);
    await sleep(this.target.limitWindowMs * 1.1);
  }
}
