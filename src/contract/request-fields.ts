/**
 * Defines the table of request fields (docs/contract.md, AudioInput). The tools, the stored settings of narrations, the
 * idempotency key and the command line derive from this table, so a new optional field needs only one entry.
 */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "./audio-format.ts";
import { findNearestVoices } from "./nearest-names.ts";
import { boundedIntegerSchema, boundedNumberSchema, formatThousands } from "./numbers.ts";
import { findPublicUrlIssue } from "./public-url.ts";
import {
  MAX_AUDIO_REFERENCES,
  MAX_AUDIO_REFERENCES_WITH_VOICE,
  MAX_PROMPT_CODE_POINTS,
  MODEL,
} from "./service-limits.ts";
import { countCodePoints } from "./unicode.ts";
import { VOICE_IDS } from "./voices.ts";

interface RequestField {
  /** Validates the value, and contains a short description for models. */
  readonly schema: z.ZodType;
  /**
   * The tools that have the field. If `tools` is absent, `generate_audio`, `narrate` and the `narrate` command have the
   * field. In a narration, a field without `tools` applies to all parts.
   */
  readonly tools?: readonly "generate_audio"[];
  /**
   * The value in the canonical input if a request omits the field. A field that is added later must not have such a
   * value, because the value would change every idempotency key. All audio would then be paid for again.
   */
  readonly canonicalDefault?: unknown;
}

const describeChoices = (values: readonly (string | number)[]): string =>
  `must be one of ${values.join(", ")}`;

/**
 * Returns the message for an unknown voice. Lists all voices only if no voice is similar, because a long list hides the
 * right voice.
 */
function describeVoiceRule(given: unknown): string {
  const nearest = typeof given === "string" ? findNearestVoices(given) : [];
  return nearest.length === 0
    ? describeChoices(VOICE_IDS)
    : `must be the id or the name of a voice; nearest: ${nearest.join(", ")}`;
}

function findPromptIssue(prompt: string): string | null {
  const length = countCodePoints(prompt);
  if (length > MAX_PROMPT_CODE_POINTS) {
    return `must be at most ${MAX_PROMPT_CODE_POINTS} characters (this one has ${length}); narrate takes longer texts`;
  }
  // Test for Unicode's white space in addition to `trim`, because `trim` does not remove U+0085.
  if (/^\p{White_Space}*$/u.test(prompt.trim())) return "must contain more than white space";
  if (!prompt.isWellFormed()) return "must be well-formed Unicode (it holds half of a surrogate pair)";
  return null;
}

/** Builds the schema of a string that is valid if `findIssue` returns null. */
function stringSchema(findIssue: (value: string) => string | null) {
  return z.string("must be a string").superRefine((value, context) => {
    const message = findIssue(value);
    if (message !== null) context.addIssue({ code: "custom", message, input: value });
  });
}

const publicUrl = stringSchema(findPublicUrlIssue);

/** The request fields, in the order in which the tools publish them. All but the prompt are optional. */
export const REQUEST_FIELDS = {
  prompt: {
    schema: stringSchema(findPromptIssue).describe(
      `Spoken verbatim, at most ${formatThousands(MAX_PROMPT_CODE_POINTS)} characters. Leave out [directions]; NAME: and Markdown are for narrate`,
    ),
    tools: ["generate_audio"],
  },
  voice: {
    schema: z
      .enum(VOICE_IDS, { error: ({ input }) => describeVoiceRule(input) })
      .describe(
        `One id of ${VOICE_IDS.join(", ")}. It ends in the voice's languages; no tone or gender is published. Default: the service's choice, in no stated language`,
      ),
  },
  audio_references: {
    schema: z
      .array(publicUrl, "must be a list of URLs")
      .max(MAX_AUDIO_REFERENCES, `must contain at most ${MAX_AUDIO_REFERENCES} URLs`)
      .describe(
        `At most ${MAX_AUDIO_REFERENCES} public https URLs of audio, which the prompt may call @Audio1 to @Audio3; at most ${MAX_AUDIO_REFERENCES_WITH_VOICE} with a voice`,
      ),
    tools: ["generate_audio"],
    canonicalDefault: [],
  },
  image_url: {
    schema: publicUrl.describe("Public https URL of an image; excludes voice and audio_references"),
    tools: ["generate_audio"],
  },
  output_format: {
    schema: z
      .enum(OUTPUT_FORMATS, describeChoices(OUTPUT_FORMATS))
      .describe(`${OUTPUT_FORMATS.join(", ")}; default mp3`),
    canonicalDefault: "mp3",
  },
  sample_rate: {
    schema: z
      .literal(SAMPLE_RATES, describeChoices(SAMPLE_RATES))
      .describe(`Hz: ${SAMPLE_RATES.join(", ")}; default 24000`),
    canonicalDefault: 24000,
  },
  speed: { schema: boundedNumberSchema(0.5, 2).describe("Factor, 0.5 to 2, default 1"), canonicalDefault: 1 },
  volume: {
    schema: boundedNumberSchema(0.5, 2).describe("Factor, 0.5 to 2, default 1"),
    canonicalDefault: 1,
  },
  pitch: {
    schema: boundedIntegerSchema(-12, 12).describe("Semitones, -12 to 12, default 0"),
    canonicalDefault: 0,
  },
  multilingual: {
    schema: z.boolean("must be true or false").describe("For texts that mix languages; default false"),
    canonicalDefault: false,
  },
  model: { schema: z.literal(MODEL, describeChoices([MODEL])), tools: [], canonicalDefault: MODEL },
} as const satisfies Readonly<Record<string, RequestField>>;

type Fields = typeof REQUEST_FIELDS;
export type FieldName = keyof Fields;
/** A field that all parts of a narration share. */
export type NarrationSettingName = {
  [Name in FieldName]: Fields[Name] extends { tools: unknown } ? never : Name;
}[FieldName];

/** Returns the entry of a field. The return type has all optional properties, even those that this entry lacks. */
export const requestField = (name: FieldName): RequestField => REQUEST_FIELDS[name];

// The assertion is needed because `Object.keys` loses the type of the names.
export const FIELD_NAMES = Object.keys(REQUEST_FIELDS) as FieldName[];
export const NARRATION_SETTING_NAMES = FIELD_NAMES.filter(
  (name): name is NarrationSettingName => requestField(name).tools === undefined,
);

/** The settings that a speaker and a row of a sheet may have of their own, beside the voice. */
export const SPEAKER_SETTING_NAMES = ["speed", "pitch", "volume"] as const;
export type SpeakerSettingName = (typeof SPEAKER_SETTING_NAMES)[number];

/** Returns the schemas of the given fields by name. */
export function pickSchemas<Name extends FieldName>(names: readonly Name[]) {
  const schemas = names.map((name) => [name, REQUEST_FIELDS[name].schema]);
  // The assertion is needed because the type that `Object.fromEntries` returns does not say which schema belongs to
  // which name.
  return Object.fromEntries(schemas) as { [Each in Name]: Fields[Each]["schema"] };
}
