/** Moves a task from queued to its final state, with audio or with an error (docs/contract.md, States). */
import { createHash } from "node:crypto";
import { chargeForSeconds } from "../../contract/billing.ts";
import { RECOVERY_WINDOW_SECONDS } from "../../contract/service-limits.ts";
import type { SandboxClock } from "../clock.ts";
import type { SpeechEngine, SpeechRequest, SpeechVariation } from "../speech/speech.ts";
import { speechRequestSchema, UnspeakablePromptError } from "../speech/speech-request.ts";
import type { Task, TaskEnding } from "./task.ts";
import type { TaskRegistry } from "./task-registry.ts";

/** A task stays queued for this share of `processingSeconds`. */
const QUEUED_SHARE = 0.25;

/** A failure with a message that clients may read. The message reveals no internals. */
class ProcessingError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const processingFailedError = (): ProcessingError =>
  new ProcessingError("generation_failed", "The audio could not be generated.");

const buildSpeechRequest = ({ id, input }: Task): SpeechRequest =>
  speechRequestSchema.parse({ ...input, variation: deriveVariation(id) });

export interface TaskProcessorOptions {
  readonly clock: SandboxClock;
  readonly engine: SpeechEngine;
  readonly tasks: TaskRegistry;
  /** Minimum time from a task's creation to its success. A failed task may end sooner. */
  readonly processingSeconds: number;
  /** Receives internal errors, such as a broken engine, which clients must not see. */
  readonly onInternalError: (error: unknown) => void;
}

/**
 * Processes tasks: renders their speech, and ends each task with its audio or with an error. Several tasks may be in
 * progress at a time.
 */
export class TaskProcessor {
  readonly #options: TaskProcessorOptions;
  readonly #stopping = new AbortController();
  readonly #processing = new Set<Promise<void>>();

  constructor(options: TaskProcessorOptions) {
    this.#options = options;
  }

  /** Starts to process a queued task, and returns without waiting for its end. */
  start(task: Task): void {
    const done = this.#process(task).finally(() => this.#processing.delete(done));
    this.#processing.add(done);
  }

  /** Stops processing. Unfinished tasks keep their state. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#processing);
  }

  /**
   * Processes a task to its end. Never rejects: an error makes the task fail. Errors are ignored after `stop`.
   */
  async #process(task: Task): Promise<void> {
    const { clock, tasks, processingSeconds, onInternalError } = this.#options;
    const stop = this.#stopping.signal;
    const totalMs = processingSeconds * 1000;
    try {
      await clock.sleep(totalMs * QUEUED_SHARE, stop);
      task.state = { status: "processing" };
      const [ending] = await Promise.all([
        this.#produce(task),
        clock.sleep(totalMs * (1 - QUEUED_SHARE), stop),
      ]);
      tasks.end(task, ending);
    } catch (error) {
      if (stop.aborted) return;
      if (!(error instanceof ProcessingError)) onInternalError(error);
      const { code, message } = error instanceof ProcessingError ? error : processingFailedError();
      tasks.end(task, { status: "failed", code, message });
    }
  }

  async #produce(task: Task): Promise<TaskEnding> {
    if (task.mustFail) throw processingFailedError();
    const { bytes, audioSeconds } = await this.#speakInTime(task);
    if (!Number.isFinite(audioSeconds) || audioSeconds <= 0 || bytes.byteLength === 0) {
      throw new ProcessingError("unreliable_duration", "The duration of the audio could not be measured.");
    }
    const chargedCredits = chargeForSeconds(audioSeconds);
    return { status: "succeeded", chargedCredits, audioSeconds, audio: bytes };
  }

  /** Renders a task's speech, or fails 60 minutes after the task's creation (docs/contract.md, Polling). */
  async #speakInTime(task: Task): ReturnType<SpeechEngine["speak"]> {
    const { clock, engine } = this.#options;
    const remainingMs = task.createdAtMs + RECOVERY_WINDOW_SECONDS * 1000 - clock.wallMs();
    const speaking = new AbortController();
    try {
      return await Promise.race([
        engine.speak(buildSpeechRequest(task), speaking.signal),
        clock.sleep(remainingMs, AbortSignal.any([this.#stopping.signal, speaking.signal])).then(() => {
          throw new ProcessingError("recovery_expired", "The audio could not be generated in time.");
        }),
      ]);
    } catch (error) {
      if (!(error instanceof UnspeakablePromptError)) throw error;
      throw new ProcessingError("unreliable_duration", "The prompt holds nothing that can be spoken.");
    } finally {
      speaking.abort();
    }
  }
}

const TEMPO_SPREAD = 0.03;
const PITCH_SPREAD_SEMITONES = 0.3;

/** Converts four bytes of a digest to a number from -1 to 1. */
const computeSpread = (digest: Buffer, offset: number): number =>
  (digest.readUInt32BE(offset) / 0xffff_ffff) * 2 - 1;

/** Derives the variation from the task's id, so that it is fixed for each task. */
export function deriveVariation(taskId: string): SpeechVariation {
  const digest = createHash("sha256").update(`rendition of ${taskId}`).digest();
  return {
    tempo: 1 + TEMPO_SPREAD * computeSpread(digest, 0),
    semitones: PITCH_SPREAD_SEMITONES * computeSpread(digest, 4),
  };
}
