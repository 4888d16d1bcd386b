/** Runs the sandbox's speech engine: one queue of requests for at most two worker threads. */
import { availableParallelism } from "node:os";
import type { SpeechRequest, SpokenAudio } from "./speech-request.ts";
import { SpeechWorker } from "./worker-handle.ts";

export type { SpeechRequest, SpeechVariation, SpokenAudio } from "./speech-request.ts";
export { UnspeakablePromptError } from "./speech-request.ts";

const MAX_WORKERS = Math.min(2, availableParallelism());

export interface SpeechEngine {
  /**
   * Speaks a prompt. Requests wait in a queue while all threads are busy.
   *
   * @param signal cancels the request while it waits in the queue, but not after a thread has started it
   * @throws {UnspeakablePromptError} (as a rejection) if the prompt contains nothing that can be spoken
   */
  speak(request: SpeechRequest, signal?: AbortSignal): Promise<SpokenAudio>;
  /** Ends the threads. Rejects pending and later requests. */
  close(): Promise<void>;
}

interface QueuedRequest {
  readonly request: SpeechRequest;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (audio: Promise<SpokenAudio>) => void;
  readonly reject: (reason: unknown) => void;
}

class PooledSpeechEngine implements SpeechEngine {
  readonly #startWorker: () => SpeechWorker;
  readonly #waiting: QueuedRequest[] = [];
  #workers: SpeechWorker[] = [];
  #isClosed = false;

  constructor(startWorker: () => SpeechWorker) {
    this.#startWorker = startWorker;
  }

  speak(request: SpeechRequest, signal?: AbortSignal): Promise<SpokenAudio> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, signal, resolve, reject });
      this.#serve();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closedError());
    await Promise.all(this.#workers.splice(0).map((worker) => worker.end(closedError())));
  }

  /** Starts requests from the queue as long as threads are free. */
  #serve(): void {
    while (!this.#isClosed) {
      const [next] = this.#waiting;
      if (next?.signal?.aborted) {
        this.#waiting.shift();
        next.reject(next.signal.reason);
        continue;
      }
      const worker = next === undefined ? undefined : this.#findOrStartWorker();
      if (next === undefined || worker === undefined) return;
      this.#waiting.shift();
      const spoken = worker.speak(next.request);
      next.resolve(spoken);
      const serveNext = (): void => this.#serve();
      spoken.then(serveNext, serveNext);
    }
  }

  #findOrStartWorker(): SpeechWorker | undefined {
    this.#workers = this.#workers.filter((worker) => !worker.isDead);
    const idle = this.#workers.find((worker) => worker.isIdle);
    if (idle !== undefined || this.#workers.length >= MAX_WORKERS) return idle;
    const started = this.#startWorker();
    this.#workers.push(started);
    return started;
  }
}

const closedError = (): Error => new Error("the speech engine is closed");

/**
 * Creates a speech engine. Its threads start when requests need them. Idle threads do not keep the process alive.
 *
 * @param startWorker starts a thread; tests replace it
 */
export function createSpeechEngine(startWorker: () => SpeechWorker = () => new SpeechWorker()): SpeechEngine {
  return new PooledSpeechEngine(startWorker);
}
