/** Request and result of the speech engine. */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../../contract/audio-format.ts";
import { REQUEST_FIELDS } from "../../contract/request-fields.ts";
import { VOICE_IDS } from "../../contract/voices.ts";

/** How a take differs from the engine's plain reading: audibly, but without sounding like another voice. */
const renditionSchema = z.object({
  /** 1.02 is 2 % faster. */
  pace: z.number().min(0.9).max(1.1),
  semitones: z.number().min(-1).max(1),
});
export type Rendition = z.infer<typeof renditionSchema>;

export const speechRequestSchema = z.object({
  prompt: z.string(),
  /** Absent: the engine's own default voice. */
  voice: z.enum(VOICE_IDS).or(z.undefined()),
  outputFormat: z.enum(OUTPUT_FORMATS),
  /** In Hz. */
  sampleRate: z.literal(SAMPLE_RATES),
  /** 2 is twice as fast. */
  speed: REQUEST_FIELDS.speed.schema,
  /** Gain: 2 is twice the amplitude. */
  volume: REQUEST_FIELDS.volume.schema,
  /** In semitones. */
  pitch: REQUEST_FIELDS.pitch.schema,
  /** Absent: the plain reading. */
  rendition: renditionSchema.optional(),
});
export type SpeechRequest = z.infer<typeof speechRequestSchema>;

export const spokenAudioSchema = z.object({
  bytes: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  /** Exact length of the audio in the file: samples divided by rate. */
  audioSeconds: z.number().positive(),
});
export type SpokenAudio = z.infer<typeof spokenAudioSchema>;

/** Nothing in the prompt can be spoken, such as in one of emoji only. */
export class UnspeakablePromptError extends Error {
  override readonly name = "UnspeakablePromptError";

  constructor() {
    super("nothing in the prompt can be spoken");
  }
}
