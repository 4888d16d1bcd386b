/** Takes a task from queued to its end: when, with what audio, or why it fails (docs/contract.md, States). */
import { chargeForSeconds } from "../../contract/billing.ts";
import { RECOVERY_WINDOW_SECONDS } from "../../contract/limits.ts";
import type { SandboxClock } from "../clock.ts";
import { type SpeechEngine, type SpeechRequest, UnspeakablePromptError } from "../speech/speech.ts";
import type { AudioShelf } from "./audio-shelf.ts";
import type { Books } from "./books.ts";
import { renditionOf } from "./rendition.ts";
import { inputOf, type TaskRecord } from "./task.ts";

/** The share of the processing time that a task is seen queued. */
const QUEUED_SHARE = 0.25;

/** A failure that the client may read about: site-level words only. */
class GenerationFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const failed = (): GenerationFailure =>
  new GenerationFailure("generation_failed", "The audio could not be generated.");

function requestOf(task: TaskRecord): SpeechRequest {
  const { prompt, voice, output_format, sample_rate, speed, volume, pitch } = inputOf(task);
  return {
    prompt,
    voice,
    outputFormat: output_format,
    sampleRate: sample_rate,
    speed,
    volume,
    pitch,
    rendition: renditionOf(task.id),
  };
}

/** Audio that is on disk, and its price. */
interface ProducedAudio {
  readonly chargedCredits: number;
  readonly audioSeconds: number;
  readonly audioBytes: number;
}

export interface GeneratorOptions {
  readonly clock: SandboxClock;
  readonly engine: SpeechEngine;
  readonly shelf: AudioShelf;
  readonly books: Books;
  /** From creation to the end, when speech is quicker than that; it may take longer, never less. */
  readonly processingSeconds: number;
  /** Told of what the client must not read: an engine that broke, a disk that is full. */
  readonly onFault: (error: unknown) => void;
}

export class Generator {
  readonly #options: GeneratorOptions;
  readonly #stopping = new AbortController();
  readonly #runs = new Set<Promise<void>>();

  constructor(options: GeneratorOptions) {
    this.#options = options;
  }

  /** Takes a queued task, or one that a stopped sandbox left behind, to its end. Returns at once. */
  start(task: TaskRecord): void {
    const run = this.#run(task).finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  /** Leaves unfinished tasks as they are, for the next start to resume; no file is being written when it resolves. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#runs);
  }

  /** Never rejects: every error ends as the task's failure, or, when stopping, as nothing. */
  async #run(task: TaskRecord): Promise<void> {
    const { clock, books, processingSeconds, onFault } = this.#options;
    const stop = this.#stopping.signal;
    const totalMs = processingSeconds * 1000;
    let producing: Promise<ProducedAudio> | undefined;
    try {
      await clock.sleep(totalMs * QUEUED_SHARE, stop);
      books.tasks.markProcessing(task.id);
      producing = this.#produce(task);
      const [audio] = await Promise.all([producing, clock.sleep(totalMs * (1 - QUEUED_SHARE), stop)]);
      books.endTask(task, { status: "succeeded", ...audio });
    } catch (error) {
      if (stop.aborted) {
        // The sleep gives up at once; a file that is being written is waited for.
        await producing?.catch(() => undefined);
        return;
      }
      if (!(error instanceof GenerationFailure)) onFault(error);
      const { code, message } = error instanceof GenerationFailure ? error : failed();
      try {
        books.endTask(task, { status: "failed", code, message });
      } catch (storeError) {
        // The task stays open on disk, and a restart resumes it.
        onFault(storeError);
      }
    }
  }

  /** Speaks the prompt and stores the audio; only what is on disk counts as produced. */
  async #produce(task: TaskRecord): Promise<ProducedAudio> {
    if (task.doomed === 1) throw failed();
    const { bytes, audioSeconds } = await this.#speakInTime(task);
    if (!Number.isFinite(audioSeconds) || audioSeconds <= 0 || bytes.byteLength === 0) {
      throw new GenerationFailure("unreliable_duration", "The duration of the audio could not be measured.");
    }
    await this.#options.shelf.store(task.id, bytes);
    return { chargedCredits: chargeForSeconds(audioSeconds), audioSeconds, audioBytes: bytes.byteLength };
  }

  /** Recovery of a task lasts up to 60 minutes from its creation, across restarts (docs/contract.md, Polling). */
  async #speakInTime(task: TaskRecord): ReturnType<SpeechEngine["speak"]> {
    const { clock, engine } = this.#options;
    const remainingMs = task.created_ms + RECOVERY_WINDOW_SECONDS * 1000 - clock.wallMs();
    const expired = new GenerationFailure("recovery_expired", "The audio could not be generated in time.");
    if (remainingMs <= 0) throw expired;
    const spoken = new AbortController();
    try {
      return await Promise.race([
        engine.speak(requestOf(task), spoken.signal),
        clock.sleep(remainingMs, AbortSignal.any([this.#stopping.signal, spoken.signal])).then(() => {
          throw expired;
        }),
      ]);
    } catch (error) {
      if (!(error instanceof UnspeakablePromptError)) throw error;
      throw new GenerationFailure("unreliable_duration", "The prompt holds nothing that can be spoken.");
    } finally {
      spoken.abort();
    }
  }
}
