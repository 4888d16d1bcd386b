/** AudioInput, with every bound and every rule between fields (docs/contract.md, AudioInput). */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "./audio-format.ts";
import {
  AUDIO_REFERENCES_MAX,
  AUDIO_REFERENCES_MAX_WITH_VOICE,
  MODEL,
  PITCH_MAX,
  PITCH_MIN,
  PROMPT_MAX_CODE_POINTS,
  SPEED_MAX,
  SPEED_MIN,
  URL_MAX_CODE_POINTS,
  VOLUME_MAX,
  VOLUME_MIN,
} from "./limits.ts";
import { publicUrlFault } from "./public-url.ts";
import { withThousands } from "./thousands.ts";
import { codePointLength } from "./unicode.ts";
import { VOICE_IDS } from "./voices.ts";

const oneOf = (values: readonly (string | number)[]): string => `must be one of ${values.join(", ")}`;

function promptFault(prompt: string): string | null {
  const length = codePointLength(prompt);
  if (length > PROMPT_MAX_CODE_POINTS) {
    return `must be at most ${PROMPT_MAX_CODE_POINTS} characters (this one has ${length}); narrate takes longer texts`;
  }
  // All of Unicode's white space; `trim` leaves out U+0085.
  if (/^\p{White_Space}*$/u.test(prompt.trim())) return "must contain more than white space";
  if (!prompt.isWellFormed()) return "must be well-formed Unicode (it holds half of a surrogate pair)";
  return null;
}

/** A string checked by `fault`, with the bounds in the JSON Schema where a model can read them. */
function text(fault: (value: string) => string | null, meta: Record<string, unknown>) {
  return z
    .string("must be a string")
    .superRefine((value, context) => {
      const message = fault(value);
      if (message !== null) context.addIssue({ code: "custom", message, input: value });
    })
    .meta(meta);
}

function numberBetween(minimum: number, maximum: number) {
  const rule = `must be a number from ${minimum} to ${maximum}`;
  return z.number(rule).min(minimum, rule).max(maximum, rule);
}

const publicUrl = text(publicUrlFault, { maxLength: URL_MAX_CODE_POINTS, pattern: "^https://" });

const pitchRule = `must be a whole number from ${PITCH_MIN} to ${PITCH_MAX}`;

/** The fields of AudioInput, one schema each; descriptions are for the model and kept short. */
export const audioInputFields = {
  prompt: text(promptFault, {
    minLength: 1,
    maxLength: PROMPT_MAX_CODE_POINTS,
    description: `Text to speak, verbatim, at most ${withThousands(PROMPT_MAX_CODE_POINTS)} characters; line breaks are kept`,
  }),
  voice: z
    .enum(VOICE_IDS, oneOf(VOICE_IDS))
    .meta({
      description:
        "The id ends in its languages; no tone or gender is published. Omitted: the service's default",
    })
    .optional(),
  audio_references: z
    .array(publicUrl, "must be a list of URLs")
    .max(AUDIO_REFERENCES_MAX, `must hold at most ${AUDIO_REFERENCES_MAX} URLs`)
    .meta({
      description: `Public https audio, @Audio1 to @Audio3 in the prompt; at most ${AUDIO_REFERENCES_MAX_WITH_VOICE} with a voice`,
    })
    .optional(),
  image_url: publicUrl
    .meta({ description: "Public https image; excludes voice and audio_references" })
    .optional(),
  output_format: z
    .enum(OUTPUT_FORMATS, oneOf(OUTPUT_FORMATS))
    .meta({ description: "Default mp3" })
    .optional(),
  sample_rate: z
    .literal(SAMPLE_RATES, oneOf(SAMPLE_RATES))
    .meta({ description: `Hz: ${SAMPLE_RATES.join(", ")}; default 24000` })
    .optional(),
  speed: numberBetween(SPEED_MIN, SPEED_MAX)
    .meta({ description: `Factor, ${SPEED_MIN} to ${SPEED_MAX}, default 1` })
    .optional(),
  volume: numberBetween(VOLUME_MIN, VOLUME_MAX)
    .meta({ description: `Factor, ${VOLUME_MIN} to ${VOLUME_MAX}, default 1` })
    .optional(),
  pitch: z
    .int(pitchRule)
    .min(PITCH_MIN, pitchRule)
    .max(PITCH_MAX, pitchRule)
    .meta({ description: `Semitones, ${PITCH_MIN} to ${PITCH_MAX}, default 0` })
    .optional(),
  multilingual: z
    .boolean("must be true or false")
    .meta({ description: "For texts that mix languages; default false" })
    .optional(),
  model: z.literal(MODEL, oneOf([MODEL])).optional(),
};

interface CrossFields {
  readonly voice?: string | undefined;
  readonly audio_references?: readonly string[] | undefined;
  readonly image_url?: string | undefined;
}

/** A broken cross-field rule: the field to change, and the rule. */
export interface CrossFieldFault {
  readonly field: string;
  readonly message: string;
}

/** The rules between fields. */
export function crossFieldFaults(input: CrossFields): CrossFieldFault[] {
  const references = input.audio_references?.length ?? 0;
  const faults: CrossFieldFault[] = [];
  if (input.voice !== undefined && references > AUDIO_REFERENCES_MAX_WITH_VOICE) {
    faults.push({
      field: "audio_references",
      message: `must hold at most ${AUDIO_REFERENCES_MAX_WITH_VOICE} URLs when voice is given (a voice takes one slot)`,
    });
  }
  if (input.image_url !== undefined && input.voice !== undefined) {
    faults.push({ field: "voice", message: "must be absent when image_url is given" });
  }
  if (input.image_url !== undefined && references > 0) {
    faults.push({ field: "audio_references", message: "must be empty when image_url is given" });
  }
  return faults;
}

/** The request body of task creation: strict, so an unknown field is an issue (docs/contract.md, AudioInput). */
export const audioInputSchema = z.strictObject(audioInputFields).superRefine((input, context) => {
  for (const { field, message } of crossFieldFaults(input)) {
    context.addIssue({ code: "custom", path: [field], message, input });
  }
});

export type AudioInput = z.infer<typeof audioInputSchema>;

/** AudioInput with the contract's defaults spelled out; `voice` and `image_url` have none and may be absent. */
export type NormalizedAudioInput = {
  [Field in Exclude<keyof AudioInput, "voice" | "image_url">]-?: NonNullable<AudioInput[Field]>;
} & Pick<AudioInput, "voice" | "image_url">;

/** The contract's defaults filled in; nothing is trimmed or rewritten, absent optional fields stay absent. */
export function normalizeAudioInput(input: AudioInput): NormalizedAudioInput {
  return {
    model: input.model ?? MODEL,
    prompt: input.prompt,
    ...(input.voice === undefined ? {} : { voice: input.voice }),
    audio_references: input.audio_references ?? [],
    ...(input.image_url === undefined ? {} : { image_url: input.image_url }),
    output_format: input.output_format ?? "mp3",
    sample_rate: input.sample_rate ?? 24000,
    speed: input.speed ?? 1,
    volume: input.volume ?? 1,
    pitch: input.pitch ?? 0,
    multilingual: input.multilingual ?? false,
  };
}
