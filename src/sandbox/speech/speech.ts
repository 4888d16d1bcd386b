/** Owns the speech engine that the sandbox sees: a queue before at most two worker threads; knows no sound. */
import { availableParallelism } from "node:os";
import type { SpeechRequest, SpokenAudio } from "./speech-request.ts";
import { SpeechWorker } from "./worker-handle.ts";

export type { SpeechRequest, SpokenAudio } from "./speech-request.ts";
export { UnspeakablePromptError } from "./speech-request.ts";

const WORKERS_MAX = Math.min(2, availableParallelism());

export interface SpeechEngine {
  /**
   * Speaks a prompt; requests beyond the number of threads wait their turn.
   *
   * @throws {UnspeakablePromptError} (as a rejection) when nothing speakable is in the prompt
   */
  speak(request: SpeechRequest): Promise<SpokenAudio>;
  /** Ends the threads. Whatever is pending, and whatever is asked from now on, is rejected. */
  close(): Promise<void>;
}

interface Waiting {
  readonly request: SpeechRequest;
  readonly resolve: (audio: Promise<SpokenAudio>) => void;
  readonly reject: (error: Error) => void;
}

class PooledSpeechEngine implements SpeechEngine {
  readonly #startWorker: () => SpeechWorker;
  readonly #waiting: Waiting[] = [];
  #workers: SpeechWorker[] = [];
  #isClosed = false;

  constructor(startWorker: () => SpeechWorker) {
    this.#startWorker = startWorker;
  }

  speak(request: SpeechRequest): Promise<SpokenAudio> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#serve();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closedError());
    await Promise.all(this.#workers.splice(0).map((worker) => worker.end(closedError())));
  }

  /** Hands out what waits, as far as there are threads. */
  #serve(): void {
    while (!this.#isClosed && this.#waiting.length > 0) {
      const worker = this.#idleWorker();
      const next = worker === undefined ? undefined : this.#waiting.shift();
      if (worker === undefined || next === undefined) return;
      const spoken = worker.speak(next.request);
      next.resolve(spoken);
      const serveNext = (): void => this.#serve();
      spoken.then(serveNext, serveNext);
    }
  }

  #idleWorker(): SpeechWorker | undefined {
    this.#workers = this.#workers.filter((worker) => !worker.isDead);
    const idle = this.#workers.find((worker) => worker.isIdle);
    if (idle !== undefined || this.#workers.length >= WORKERS_MAX) return idle;
    const started = this.#startWorker();
    this.#workers.push(started);
    return started;
  }
}

const closedError = (): Error => new Error("the speech engine is closed");

/**
 * A speech engine whose threads start with the first request and never keep the process alive while idle.
 *
 * @param startWorker for tests: another way to start a thread
 */
export function createSpeechEngine(startWorker: () => SpeechWorker = () => new SpeechWorker()): SpeechEngine {
  return new PooledSpeechEngine(startWorker);
}
