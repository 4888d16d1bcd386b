/** The planning thread: takes one text, answers with its plan or the refusal, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import type { z } from "zod";
import { AudioError } from "../errors.ts";
import { makePlan } from "./make-plan.ts";
import type { planAnswerSchema } from "./plan-answer.ts";

function answer(): z.input<typeof planAnswerSchema> {
  try {
    return { isPlanned: true, plan: makePlan(workerData.source, workerData.settings) };
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    return { isPlanned: false, message: error.message, remedy: error.remedy };
  }
}

parentPort?.postMessage(answer());
