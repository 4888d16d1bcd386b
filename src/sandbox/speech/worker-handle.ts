/** Starts and ends a worker thread, and runs one request at a time on it with a time limit. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { parse } from "node:path";
import { Worker } from "node:worker_threads";
import {
  type SpeechRequest,
  type SpokenAudio,
  UnspeakablePromptError,
  workerAnswerSchema,
} from "./speech-request.ts";

/**
 * Time limit of a request, in case the thread hangs. The longest prompts take a tenth of this time on an idle machine.
 */
const SPEAK_TIMEOUT_MS = 180_000;

/** Leaves the working folder if it was removed, because no thread starts in such a folder. */
function leaveRemovedFolder(): void {
  try {
    // Node remembers the folder, so its path may lead nowhere.
    if (existsSync(process.cwd())) return;
  } catch {
    // The folder was already removed when the process started.
  }
  process.chdir(parse(process.execPath).root);
}

/** Returns the worker's script: worker.ts when running from source, otherwise a separate file of the bundle. */
function buildWorkerUrl(): URL {
  const name = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./speech-worker.js";
  return new URL(name, import.meta.url);
}

/** A thread that keeps the process alive only during a request. Once {@link isDead}, it accepts no requests. */
export class SpeechWorker {
  readonly #timeoutMs: number;
  readonly #worker: Worker;
  /** Aborts with the reason when the thread ends. */
  readonly #death = new AbortController();
  #isBusy = false;

  /**
   * Starts the thread.
   *
   * @param timeoutMs time limit of a request; the first request's limit includes the start of the thread
   */
  constructor(url: URL = buildWorkerUrl(), timeoutMs: number = SPEAK_TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
    leaveRemovedFolder();
    // The thread must not inherit flags of this process, such as a test runner's loader.
    this.#worker = new Worker(url, { execArgv: [] });
    this.#worker.unref();
    this.#worker.on("error", (error) => this.#die(new Error("the speech worker crashed", { cause: error })));
    this.#worker.on("exit", (code) => this.#die(new Error(`the speech worker ended with code ${code}`)));
  }

  get isIdle(): boolean {
    return !this.#isBusy && !this.isDead;
  }

  get isDead(): boolean {
    return this.#death.signal.aborted;
  }

  /** Runs a request. Call this only while {@link isIdle}. Rejects if the thread ends, hangs or reports a failure. */
  async speak(request: SpeechRequest): Promise<SpokenAudio> {
    if (!this.isIdle) throw new Error("the speech worker is busy or dead");
    this.#isBusy = true;
    const timer = setTimeout(() => {
      this.#die(new Error(`the speech worker took longer than ${this.#timeoutMs / 1000} s`));
    }, this.#timeoutMs);
    this.#worker.ref();
    this.#worker.postMessage(request);
    try {
      const [message] = await once(this.#worker, "message", { signal: this.#death.signal });
      return this.#toAudio(message);
    } catch (error) {
      throw this.isDead ? this.#death.signal.reason : error;
    } finally {
      clearTimeout(timer);
      this.#isBusy = false;
      this.#worker.unref();
    }
  }

  /** Ends the thread, and rejects its current request with `reason`. */
  async end(reason: Error): Promise<void> {
    this.#die(reason);
    await this.#worker.terminate();
  }

  /** Returns the audio of an answer. An answer that cannot be read ends the thread. */
  #toAudio(message: unknown): SpokenAudio {
    const { data: answer, error } = workerAnswerSchema.safeParse(message);
    switch (answer?.outcome) {
      case "spoken":
        return { bytes: answer.bytes, audioSeconds: answer.audioSeconds };
      case "unspeakable":
        throw new UnspeakablePromptError();
      case "failed":
        throw new Error(`speech synthesis failed: ${answer.message}`);
      case undefined: {
        const reason = new Error("the speech worker gave no intelligible answer", { cause: error });
        this.#die(reason);
        throw reason;
      }
    }
  }

  #die(reason: Error): void {
    this.#death.abort(reason);
    void this.#worker.terminate();
  }
}
