/** Starts and ends a worker thread, and runs one request at a time on it with a time limit. */
import { existsSync } from "node:fs";
import { parse } from "node:path";
import { Worker } from "node:worker_threads";
import { type SpeechRequest, type SpokenAudio, UnspeakablePromptError } from "./speech-request.ts";
import { type WorkerAnswer, workerAnswerSchema } from "./worker-messages.ts";

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

interface WorkerRequest {
  readonly resolve: (audio: SpokenAudio) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A thread that keeps the process alive only during a request. Once {@link isDead}, it accepts no requests. */
export class SpeechWorker {
  readonly #timeoutMs: number;
  readonly #worker: Worker;
  #job: WorkerRequest | undefined;
  #isDead = false;

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
    this.#worker.on("message", (message: unknown) => this.#receive(message));
    this.#worker.on("error", (error) => this.#die(new Error("the speech worker crashed", { cause: error })));
    this.#worker.on("exit", (code) => this.#die(new Error(`the speech worker ended with code ${code}`)));
  }

  get isIdle(): boolean {
    return this.#job === undefined && !this.#isDead;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Runs a request. Call this only while {@link isIdle}. Rejects if the thread ends, hangs or reports a failure. */
  speak(request: SpeechRequest): Promise<SpokenAudio> {
    if (!this.isIdle) throw new Error("the speech worker is busy or dead");
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#die(new Error(`the speech worker took longer than ${this.#timeoutMs / 1000} s`));
      }, this.#timeoutMs);
      this.#job = { resolve, reject, timer };
      this.#worker.ref();
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread, and rejects its current request with `reason`. */
  async end(reason: Error): Promise<void> {
    this.#die(reason);
    await this.#worker.terminate();
  }

  #receive(message: unknown): void {
    const answer = workerAnswerSchema.safeParse(message);
    if (answer.success) this.#answer(answer.data);
    else this.#die(new Error("the speech worker gave no intelligible answer", { cause: answer.error }));
  }

  #answer(answer: WorkerAnswer): void {
    const job = this.#endJob();
    switch (answer.outcome) {
      case "spoken":
        job?.resolve({ bytes: answer.bytes, audioSeconds: answer.audioSeconds });
        break;
      case "unspeakable":
        job?.reject(new UnspeakablePromptError());
        break;
      case "failed":
        job?.reject(new Error(`speech synthesis failed: ${answer.message}`));
        break;
    }
  }

  #endJob(): WorkerRequest | undefined {
    const job = this.#job;
    this.#job = undefined;
    clearTimeout(job?.timer);
    this.#worker.unref();
    return job;
  }

  #die(reason: Error): void {
    this.#isDead = true;
    this.#endJob()?.reject(reason);
    void this.#worker.terminate();
  }
}
