/** Messages from the speech worker to the main thread. */
import { z } from "zod";
import { spokenAudioSchema } from "./speech-request.ts";

/** The worker posts one answer for each request, before the next request. */
export const workerAnswerSchema = z.discriminatedUnion("outcome", [
  spokenAudioSchema.extend({ outcome: z.literal("spoken") }),
  z.object({ outcome: z.literal("unspeakable") }),
  z.object({ outcome: z.literal("failed"), message: z.string() }),
]);
export type WorkerAnswer = z.infer<typeof workerAnswerSchema>;
