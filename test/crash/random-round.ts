/** Owns one round of random crashes: processes that die at drawn moments on one ledger, then one that lives; knows no count of rounds. */
import { setTimeout as sleep } from "node:timers/promises";
import { killHard } from "../support/processes.ts";
import { Scene } from "./scene.ts";

/** Numbers in [0, 1) that the seed determines (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface RoundPlan {
  readonly round: number;
  readonly processingMs: number;
  readonly audioBytes: number;
  /** Milliseconds between two halves of each answer of the service. */
  readonly answerMs: number;
  /** When each doomed process dies, counted from its call. */
  readonly deathsAtMs: readonly number[];
  /** Two processes make the call at once; only one of them dies. */
  readonly hasWitness: boolean;
}

/** A generation takes about this long here: deaths are drawn from a little more. */
const LONGEST_DEATH_MS = 450;

export function drawPlan(round: number, random: () => number): RoundPlan {
  return {
    round,
    processingMs: Math.floor(random() * 150),
    audioBytes: 1000 + Math.floor(random() ** 3 * 4_000_000),
    answerMs: random() < 0.5 ? 0 : Math.floor(random() * 40),
    deathsAtMs: Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
      Math.floor(random() * LONGEST_DEATH_MS),
    ),
    hasWitness: random() < 0.25,
  };
}

const CALL = { prompt: "Killed at some moment", speed: 1.5 };

/** Answers arrive in two pieces, so that a process can die between them. */
function dawdle(scene: Scene, answerMs: number): void {
  if (answerMs === 0) return;
  scene.service.intercept = async (_exchange, response) => {
    await sleep(answerMs);
    const end = response.end.bind(response);
    const late = (body: unknown): typeof response => {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : "");
      response.write(bytes.subarray(0, bytes.length / 2));
      setTimeout(() => end(bytes.subarray(bytes.length / 2)), answerMs);
      return response;
    };
    Object.assign(response, { end: late });
    return false;
  };
}

/**
 * Runs one plan and judges what is left.
 *
 * @throws Error naming everything that is not one task, one reservation, one whole file
 */
export async function runRound(plan: RoundPlan): Promise<void> {
  const scene = await Scene.set({ processingMs: plan.processingMs, audioBytes: plan.audioBytes });
  try {
    dawdle(scene, plan.answerMs);
    const witness = plan.hasWitness ? await scene.start() : undefined;
    const seen = witness?.call("generate_audio", CALL);
    for (const deathAtMs of plan.deathsAtMs) {
      const doomed = await scene.start();
      void doomed.call("generate_audio", CALL).catch(() => undefined);
      await sleep(deathAtMs);
      await killHard(doomed.pid);
      await scene.expectOnlyWholeFiles();
    }
    await seen;
    scene.service.intercept = undefined;
    await scene.ageLeftovers();
    const heir = await scene.start();
    await scene.judge(await heir.call("generate_audio", CALL));
    const keys = new Set(scene.service.exchanges.flatMap(({ key }) => key ?? []));
    if (keys.size !== 1) throw new Error(`${keys.size} idempotency keys were sent`);
  } finally {
    await scene.strike();
  }
}
