/** How long the service takes, as the newest tasks of this ledger tell it, whichever process watched them. */
import { estimateSeconds } from "../../contract/estimate.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { storedInput } from "../saved-files.ts";
import { PollAim, type Took } from "./poll-aim.ts";

/** About a chapter: more would only keep alive how fast the service was some time ago. */
const LOOKED_AT = 24;

/** Poll intervals between two looks: often enough to follow what other processes see, and no second look for one text. */
const LOOK_EVERY = 2;

export class ServicePace {
  readonly #deps: Pick<GenerationDeps, "ledger" | "log" | "clock" | "timing">;
  readonly #aim: PollAim;
  #lookedAtMs: number | null = null;

  constructor(deps: Pick<GenerationDeps, "ledger" | "log" | "clock" | "timing">) {
    this.#deps = deps;
    this.#aim = new PollAim(deps.timing.pollIntervalMs, deps.timing.scale);
  }

  /** The aim, which knows what has been seen by now. Never fails: what cannot be read is not worth an error. */
  async aim(): Promise<PollAim> {
    const { ledger, log, clock, timing } = this.#deps;
    const nowMs = clock.steadyMs();
    if (this.#lookedAtMs !== null && nowMs - this.#lookedAtMs < LOOK_EVERY * timing.pollIntervalMs)
      return this.#aim;
    this.#lookedAtMs = nowMs;
    try {
      const records = await ledger.list({ accounts: "own", status: "succeeded", limit: LOOKED_AT });
      this.#aim.learn(records.flatMap(took).sort((a, b) => a.endedAtMs - b.endedAtMs));
    } catch (error) {
      log.debug(`polls were not aimed by the ledger: ${String(error)}`);
    }
    return this.#aim;
  }
}

/** How long the audio of a record is estimated to be. */
export function speechSecondsOf(record: TaskRecord): number {
  const { prompt, speed } = storedInput(record) ?? { prompt: "", speed: 1 };
  return estimateSeconds(prompt) / speed;
}

function took(record: TaskRecord): Array<Took & { endedAtMs: number }> {
  const { taskId, acceptedAtMs, seenRunningAtMs, finishedAtMs, input } = record;
  if (taskId === null || input === null || acceptedAtMs === null || finishedAtMs === null) return [];
  return [
    {
      taskId,
      speechSeconds: speechSecondsOf(record),
      afterMs: (seenRunningAtMs ?? acceptedAtMs) - acceptedAtMs,
      byMs: finishedAtMs - acceptedAtMs,
      endedAtMs: finishedAtMs,
    },
  ];
}
