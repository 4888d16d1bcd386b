/** Owns what the speech worker's thread and the main thread say to each other; does neither's work. */
import { z } from "zod";
import { speechRequestSchema, spokenAudioSchema } from "./speech-request.ts";

/** To the worker: one at a time, the next after the answer. */
export const workerRequestSchema = speechRequestSchema;

/** From the worker. */
export const workerAnswerSchema = z.discriminatedUnion("outcome", [
  spokenAudioSchema.extend({ outcome: z.literal("spoken") }),
  z.object({ outcome: z.literal("unspeakable") }),
  z.object({ outcome: z.literal("failed"), message: z.string() }),
]);
export type WorkerAnswer = z.infer<typeof workerAnswerSchema>;
