/** Defines the messages from the speech worker to the main thread. */
import { z } from "zod";
import { spokenAudioSchema } from "./speech-request.ts";

/** The worker posts exactly one answer per request. The main thread waits for it before the next request. */
export const workerAnswerSchema = z.discriminatedUnion("outcome", [
  spokenAudioSchema.extend({ outcome: z.literal("spoken") }),
  z.object({ outcome: z.literal("unspeakable") }),
  z.object({ outcome: z.literal("failed"), message: z.string() }),
]);
export type WorkerAnswer = z.infer<typeof workerAnswerSchema>;
