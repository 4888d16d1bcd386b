/** Plans a long text in a worker thread, because a book or a hostile file would block every other call for seconds. */
import { existsSync } from "node:fs";
import { parse } from "node:path";
import { Worker } from "node:worker_threads";
import pLimit from "p-limit";
import { z } from "zod";
import { AudioError, internalError } from "../../../errors.ts";
import { getSystemCode } from "../../../files/file-error.ts";
import type { NarrationInput } from "../../../files/input-format.ts";
import { wordingSchema } from "../../../ledger/stored-error.ts";
import type { PlanOptions } from "../build-stored-plan.ts";
import { type StoredPlan, storedPlanSchema } from "../stored-plan.ts";

/** The thread's answer: a plan, or the reason why there is none. */
const planAnswerSchema = z.discriminatedUnion("isPlanned", [
  z.object({ isPlanned: z.literal(true), plan: storedPlanSchema }),
  z.object({ isPlanned: z.literal(false), message: z.string(), remedy: wordingSchema.optional() }),
]);
export type PlanAnswer = z.input<typeof planAnswerSchema>;

/**
 * Maximum time for planning. Five novels take 3 s, and the rest is a reserve for busy machines. The limit is below 20
 * s, the minimum time limit of a call.
 */
const PLAN_TIMEOUT_MS = 15_000;
const MEMORY_MIB = 1024;

/**
 * Returns the URL of the worker. In the bundle, this code is in a chunk file, and the worker's file is one folder above
 * it.
 */
const buildWorkerUrl = (): URL =>
  new URL(import.meta.url.endsWith(".ts") ? "./plan-worker.ts" : "../plan-worker.js", import.meta.url);

function tooMuchError(what: string, cause?: unknown): AudioError {
  return new AudioError("invalid_request", `Planning the text ${what}. Nothing was sent.`, {
    remedy:
      "Split the file into several, by chapters, and narrate each; a text of this size without chapters or paragraphs may not be prose.",
    cause,
  });
}

/**
 * Allows two planning threads at a time. Each thread may take {@link MEMORY_MIB} MiB of memory, so further texts wait
 * until a thread is free.
 */
const limitThreads = pLimit(2);

/**
 * Plans an input in a worker thread, with limits of time and memory.
 *
 * @throws AudioError any error of planning; `invalid_request` if planning takes too long or too much memory
 * @throws Error `ERR_ACCESS_DENIED` if `node --permission` forbids worker threads
 */
export const planInThread = (source: NarrationInput, options: PlanOptions): Promise<StoredPlan> =>
  limitThreads(async () => {
    leaveRemovedFolder();
    const worker = new Worker(buildWorkerUrl(), {
      workerData: { source, options },
      // Start the worker without the command-line flags of this process, such as the flag for the loader of a test
      // runner.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
    });
    try {
      const answer = planAnswerSchema.parse(await waitForAnswer(worker));
      if (answer.isPlanned) return answer.plan;
      throw new AudioError("invalid_request", answer.message, { remedy: answer.remedy });
    } finally {
      await worker.terminate();
    }
  });

async function waitForAnswer(worker: Worker): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  return await new Promise<unknown>((resolve, reject) => {
    timer = setTimeout(
      () => reject(tooMuchError(`took longer than ${PLAN_TIMEOUT_MS / 1000} s`)),
      PLAN_TIMEOUT_MS,
    );
    worker.on("message", resolve);
    worker.on("error", (error) => {
      const isMemory = getSystemCode(error) === "ERR_WORKER_OUT_OF_MEMORY";
      reject(
        isMemory ? tooMuchError(`took more than ${MEMORY_MIB} MiB of memory`, error) : internalError(error),
      );
    });
    worker.on("exit", (code) => reject(internalError(new Error(`the planning thread ended with ${code}`))));
  }).finally(() => clearTimeout(timer));
}

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
