/** Runs the sandbox's speech engine: one queue of requests for at most two worker threads. */
import { availableParallelism } from "node:os";
import pLimit from "p-limit";
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

const closedError = (): Error => new Error("the speech engine is closed");

/**
 * Creates a speech engine. Its threads start when requests need them. Idle threads do not keep the process alive.
 *
 * @param startWorker starts a thread; tests replace it
 */
export function createSpeechEngine(startWorker: () => SpeechWorker = () => new SpeechWorker()): SpeechEngine {
  const limit = pLimit(MAX_WORKERS);
  let workers: SpeechWorker[] = [];
  let isClosed = false;
  const findOrStartWorker = (): SpeechWorker => {
    if (isClosed) throw closedError();
    workers = workers.filter((worker) => !worker.isDead);
    const idle = workers.find((worker) => worker.isIdle);
    if (idle !== undefined) return idle;
    const started = startWorker();
    workers.push(started);
    return started;
  };
  return {
    speak: (request, signal) =>
      limit(() => {
        signal?.throwIfAborted();
        return findOrStartWorker().speak(request);
      }),
    close: async () => {
      isClosed = true;
      await Promise.all(workers.map((worker) => worker.end(closedError())));
    },
  };
}
