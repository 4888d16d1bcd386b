/** Runs in the planning thread: plans one text, posts the plan or the refusal, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { AudioError } from "../../../errors.ts";
import { planByKind } from "../plan-by-kind.ts";
import type { PlanAnswer } from "./plan-thread.ts";

async function answer(): Promise<PlanAnswer> {
  try {
    return { isPlanned: true, plan: await planByKind(workerData.source, workerData.options) };
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    return { isPlanned: false, message: error.message, remedy: error.remedy };
  }
}

parentPort?.postMessage(await answer());
