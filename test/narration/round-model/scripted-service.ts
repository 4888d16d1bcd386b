/** A service in the process whose answers a script decides. It keeps the books that promises are judged by. */
import type { ObservedTask } from "../../../src/api/parse-task.ts";
import type { ServiceClient } from "../../../src/api/service.ts";
import type { ErrorCode } from "../../../src/errors.ts";
import type { ManualClock } from "../../support/manual-clock.ts";
import type { WorkflowCode } from "./code-under-test.ts";

export interface BookedTask {
  readonly id: string;
  readonly key: string;
  readonly body: string;
  /** Every sample of its audio has this value, so that it is found in joined files. */
  readonly sound: number;
  readonly endsAtMs: number;
  readonly end: "succeeded" | "failed";
  readonly charge: number;
}

const SAMPLE_RATE_HZ = 24_000;
const SAMPLES = 240;
const LATENCY_MS = 40;

/** What becomes of a submission. Those after the end of the script are accepted, and their tasks succeed. */
const FATES = [
  ...["lost", "lost", "lost", "not_arrived", "not_arrived", "unsent", "refused", "too_many", "too_many"],
  ...["unavailable", "unavailable_after", "no_credits", "slow"],
] as const;
type Fate = (typeof FATES)[number] | "accepted";

const ENDS = [
  ...[{ end: "failed", charge: 0 } as const, { end: "failed", charge: 0 } as const],
  ...[{ end: "failed", charge: 20 } as const, { end: "succeeded", charge: 150 } as const],
  { end: "succeeded", charge: 75 } as const,
];

export class ScriptedService {
  readonly tasks: BookedTask[] = [];
  readonly #clock: ManualClock;
  readonly #code: WorkflowCode;
  readonly #script: number[];
  #isCalm = false;

  /** @param script numbers below 100, each of which decides one thing */
  constructor(code: WorkflowCode, clock: ManualClock, script: readonly number[]) {
    this.#code = code;
    this.#clock = clock;
    this.#script = [...script];
  }

  /** From now on everything is accepted and succeeds. */
  calmDown(): void {
    this.#isCalm = true;
  }

  costOf(task: BookedTask): number {
    return this.#clock.steadyMs() >= task.endsAtMs ? task.charge : 150;
  }

  /** @param thaw resolves when the calling process runs */
  clientOf(thaw: () => Promise<void>, onSubmit: (body: string, key: string) => void): ServiceClient {
    return {
      submit: async (body, key, signal) => {
        await thaw();
        onSubmit(body, key);
        const task = await this.#submit(body, key, signal);
        await thaw();
        return task;
      },
      query: async (taskId, signal) => {
        await thaw();
        await this.#clock.sleep(LATENCY_MS, signal);
        if (this.#next() > 94) throw this.#error("network_error", { retryable: true });
        await thaw();
        return this.#observe(this.#find(taskId));
      },
      openContent: async (taskId, fromByte, signal) => {
        await thaw();
        await this.#clock.sleep(LATENCY_MS, signal);
        const { sound } = this.#find(taskId);
        const bytes = new Uint8Array(new Int16Array(SAMPLES).fill(sound).buffer).subarray(fromByte);
        if (this.#next() > 94) throw this.#error("network_error", { retryable: true });
        await thaw();
        return {
          start: fromByte,
          totalBytes: 2 * SAMPLES,
          body: (async function* () {
            yield bytes;
          })(),
          discard: () => undefined,
        };
      },
      close: async () => undefined,
    };
  }

  async #submit(body: string, key: string, signal: AbortSignal): Promise<ObservedTask> {
    const fate = this.#chooseFate();
    if (fate === "unsent") {
      const cause = new this.#code.UnsentRequestError("no connection");
      throw this.#error("network_error", { retryable: true, cause });
    }
    await this.#clock.sleep(LATENCY_MS, signal);
    switch (fate) {
      case "not_arrived":
        throw this.#error("network_error", { retryable: true });
      case "refused":
        throw this.#error("invalid_request", { httpStatus: 400 });
      case "no_credits":
        throw this.#error("insufficient_credits", { httpStatus: 402 });
      case "too_many":
        throw this.#error("rate_limit", { httpStatus: 429, retryAfterSeconds: 10, retryable: true });
      case "unavailable":
        throw this.#error("api_unavailable", { httpStatus: 503, retryAfterSeconds: 5, retryable: true });
    }
    const task = this.tasks.find((each) => each.key === key) ?? this.#create(body, key);
    if (task.body !== body) throw this.#error("idempotency_conflict", { httpStatus: 409 });
    if (fate === "slow") await this.#clock.sleep(4000, signal);
    if (fate === "lost") throw this.#error("network_error", { retryable: true });
    if (fate === "unavailable_after")
      throw this.#error("api_unavailable", { httpStatus: 503, retryAfterSeconds: 5, retryable: true });
    return this.#observe(task);
  }

  #create(body: string, key: string): BookedTask {
    const n = this.#next();
    const { end, charge } = ENDS[n - 60] ?? ENDS[n - 65] ?? { end: "succeeded", charge: 10 };
    const task = {
      ...{ id: `task-${this.tasks.length + 1}`, key, body, end, charge },
      ...{ sound: this.tasks.length + 1, endsAtMs: this.#clock.steadyMs() + 300 + 30 * n },
    };
    this.tasks.push(task);
    return task;
  }

  #chooseFate(): Fate {
    return FATES[this.#next() - 70] ?? "accepted";
  }

  #next(): number {
    return this.#isCalm ? 0 : (this.#script.shift() ?? 0);
  }

  #find(taskId: string): BookedTask {
    const task = this.tasks.find(({ id }) => id === taskId);
    if (task === undefined) throw this.#error("not_found", { httpStatus: 404 });
    return task;
  }

  #observe({ id, endsAtMs, end, charge }: BookedTask): ObservedTask {
    const hasEnded = this.#clock.steadyMs() >= endsAtMs;
    const isSaved = hasEnded && end === "succeeded";
    const seconds = SAMPLES / SAMPLE_RATE_HZ;
    return {
      taskId: id,
      status: hasEnded ? end : "processing",
      billing: {
        reserved_credits: 150,
        charged_credits: hasEnded ? charge : null,
        refunded_credits: hasEnded ? 150 - charge : null,
      },
      audioSeconds: isSaved ? seconds : null,
      output: isSaved ? { format: "pcm", sampleRateHz: SAMPLE_RATE_HZ, durationSeconds: seconds } : null,
      error: hasEnded && end === "failed" ? { code: "generation_failed", message: "No voice." } : null,
      deviations: [],
    };
  }

  #error(code: ErrorCode, facts: ConstructorParameters<WorkflowCode["AudioError"]>[2]) {
    return new this.#code.AudioError(code, "As the script wants it.", facts);
  }
}

/** Lists the sounds of a file of raw samples, in order. Silence between them is passed over. */
export function listSounds(bytes: Buffer): number[] {
  const sounds: number[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    const sample = bytes.readInt16LE(at);
    if (sample !== 0 && sample !== sounds.at(-1)) sounds.push(sample);
  }
  return sounds;
}
