/** Makes random requests, and new takes and repeats of earlier requests. Sends nothing. */
import { rm } from "node:fs/promises";
import type { AudioInput } from "../../../src/contract/audio-input.ts";
import { VOICE_IDS } from "../../../src/contract/voices.ts";
import { deriveIdempotencyKey } from "../../../src/ledger/identity.ts";
import { canonicalizeInput } from "../../../src/requests/canonical-input.ts";
import type { Random } from "../../support/random.ts";

export interface ChaosRequest {
  readonly input: AudioInput;
  readonly take: number;
  readonly fileName: string | undefined;
  /** What a tool last reported about the finished request. */
  report: Report | undefined;
  /** Whether the budget refused the last call for the request. */
  isOverBudget: boolean;
}

/** The facts that a tool reported about a finished request. */
export interface Report {
  readonly taskId: string;
  readonly chargedCredits: number;
  readonly path: string;
}

/** Returns the idempotency key of one attempt at a request. */
export function keyOf(request: ChaosRequest, attempt: number): string {
  return deriveIdempotencyKey(canonicalizeInput(request.input), request.take, attempt);
}

const WORDS = [
  "north",
  "🎧",
  "río",
  "天気",
  "one two",
  "\nline",
  "\ttab",
  'quote "x"',
  "a\\b",
  "Ünïcode",
  "…",
] as const;

function prompt(random: Random, round: number): string {
  const words = Array.from({ length: random.int(1, 6) }, () => random.pick(WORDS));
  return `Round ${round}-${random.int(0, 1e9)}: ${words.join(" ")}`;
}

/** Returns a new request. Each optional field is present at random. */
function newRequest(random: Random, round: number): ChaosRequest {
  const input: AudioInput = {
    prompt: prompt(random, round),
    ...(random.chance(0.5) ? { voice: random.pick(VOICE_IDS) } : {}),
    ...(random.chance(0.5) ? { output_format: random.pick(["mp3", "wav", "pcm", "ogg_opus"]) } : {}),
    ...(random.chance(0.3) ? { sample_rate: random.pick([8000, 16000, 24000, 48000]) } : {}),
    ...(random.chance(0.3) ? { speed: random.pick([0.5, 1, 1.25, 2]) } : {}),
    ...(random.chance(0.3) ? { pitch: random.int(-12, 12) } : {}),
    ...(random.chance(0.2) ? { multilingual: random.chance(0.5) } : {}),
  };
  const fileName = random.chance(0.3) ? `chosen ${round} ${random.int(0, 1e9)}` : undefined;
  const take = random.chance(0.2) ? random.int(2, 999) : 1;
  return { input, take, fileName, report: undefined, isOverBudget: false };
}

/** Returns a request for another take of the same input: the lowest take that no request has. */
function anotherTake(request: ChaosRequest, all: readonly ChaosRequest[]): ChaosRequest {
  const takes = all.filter(({ input }) => input === request.input).map(({ take }) => take);
  let take = 1;
  while (takes.includes(take)) take += 1;
  return { input: request.input, take, fileName: undefined, report: undefined, isOverBudget: false };
}

/** Returns the arguments of `generate_audio` for a request. */
export function argumentsOf(request: ChaosRequest, waitSeconds: number): Record<string, unknown> {
  return {
    ...request.input,
    ...(request.take === 1 ? {} : { take: request.take }),
    ...(request.fileName === undefined ? {} : { file_name: request.fileName }),
    wait_seconds: waitSeconds,
  };
}

/** Returns what a result says about a finished request; `null` if there is no audio yet. */
export function reportOf(task: Record<string, unknown> | undefined): Report | null {
  const path: unknown = Object(task?.["audio"]).path;
  const charged: unknown = Object(task?.["billing"]).charged_credits;
  if (typeof path !== "string") return null;
  return { taskId: String(task?.["task_id"]), chargedCredits: Number(charged), path };
}

/** Returns mostly a new request, sometimes an earlier one, which must lead to the same task and file. */
export function chooseRequest(random: Random, round: number, all: ChaosRequest[]): ChaosRequest {
  const earlier = all[random.int(0, Math.max(0, all.length - 1))];
  if (earlier !== undefined && random.chance(0.25)) return earlier;
  const isAnotherTake = earlier !== undefined && random.chance(0.2);
  const request = isAnotherTake ? anotherTake(earlier, all) : newRequest(random, round);
  all.push(request);
  return request;
}

/**
 * Sometimes deletes audio that is about to be requested again, like a person. The audio must come back, free of charge
 * and under the same name.
 */
export async function removeRandomFile(random: Random, requests: readonly ChaosRequest[]): Promise<void> {
  const path = requests.find(({ report }) => report !== undefined)?.report?.path;
  if (path !== undefined && random.chance(0.3)) await rm(path, { force: true });
}
