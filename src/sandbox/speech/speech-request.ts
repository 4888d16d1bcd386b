/** Defines the request and the result of the speech engine, and how its threads answer. */
import { z } from "zod";
import { REQUEST_FIELDS } from "../../contract/request-fields.ts";

/** Variation of one take: large enough to hear, but too small to sound like another voice. */
const variationSchema = z.object({
  /** Factor of the speaking rate: 1.02 is 2 % faster. */
  tempo: z.number().min(0.9).max(1.1),
  semitones: z.number().min(-1).max(1),
});
export type SpeechVariation = z.infer<typeof variationSchema>;

/** The fields of AudioInput that the engine obeys, and the variation of the take. */
export const speechRequestSchema = z.object({
  prompt: z.string(),
  /** The voice preset; absent for the default voice of the engine. */
  voice: REQUEST_FIELDS.voice.schema.optional(),
  output_format: REQUEST_FIELDS.output_format.schema,
  sample_rate: REQUEST_FIELDS.sample_rate.schema,
  speed: REQUEST_FIELDS.speed.schema,
  volume: REQUEST_FIELDS.volume.schema,
  pitch: REQUEST_FIELDS.pitch.schema,
  /** Without it, all takes sound the same. */
  variation: variationSchema.optional(),
});
export type SpeechRequest = z.infer<typeof speechRequestSchema>;

const spokenAudioSchema = z.object({
  bytes: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  /** Exact duration of the audio in the file: its samples divided by its sample rate. */
  audioSeconds: z.number().positive(),
});
export type SpokenAudio = z.infer<typeof spokenAudioSchema>;

/** The answer that a worker thread posts to each request. The main thread waits for it before the next request. */
export const workerAnswerSchema = z.discriminatedUnion("outcome", [
  spokenAudioSchema.extend({ outcome: z.literal("spoken") }),
  z.object({ outcome: z.literal("unspeakable") }),
  z.object({ outcome: z.literal("failed"), message: z.string() }),
]);
export type WorkerAnswer = z.infer<typeof workerAnswerSchema>;

/** Thrown if nothing in the prompt can be spoken, for example because it contains only emoji. */
export class UnspeakablePromptError extends Error {
  override readonly name = "UnspeakablePromptError";

  constructor() {
    super("nothing in the prompt can be spoken");
  }
}
