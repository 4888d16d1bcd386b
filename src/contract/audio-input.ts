/**
 * Defines AudioInput, the body of a submission: its fields and the rules between them (docs/contract.md, AudioInput).
 */
import { z } from "zod";
import { FIELD_NAMES, type FieldName, pickSchemas, REQUEST_FIELDS, requestField } from "./request-fields.ts";
import { MAX_AUDIO_REFERENCES_WITH_VOICE } from "./service-limits.ts";

const fields = z
  .strictObject(pickSchemas(FIELD_NAMES))
  .partial()
  .extend({ prompt: REQUEST_FIELDS.prompt.schema });

/** The schemas of AudioInput's fields by name. All fields but the prompt are optional. */
export const audioInputFields = fields.shape;
export type AudioInput = z.infer<typeof fields>;

/** Checks the rules that involve several fields. */
export function reportFieldIssues(input: AudioInput, context: z.RefinementCtx<unknown>): void {
  const reportIssue = (field: FieldName, message: string): void =>
    context.addIssue({ code: "custom", path: [field], message, input });
  const references = input.audio_references?.length ?? 0;
  if (input.voice !== undefined && references > MAX_AUDIO_REFERENCES_WITH_VOICE) {
    const rule = `must contain at most ${MAX_AUDIO_REFERENCES_WITH_VOICE} URLs when voice is given`;
    reportIssue("audio_references", `${rule} (a voice counts as one of them)`);
  }
  if (input.image_url === undefined) return;
  if (input.voice !== undefined) reportIssue("voice", "must be absent when image_url is given");
  if (references > 0) reportIssue("audio_references", "must be empty when image_url is given");
}

/** The body of a submission request. An unknown field is an error. */
export const audioInputSchema = fields.superRefine(reportFieldIssues);

type Defaulted = {
  [Name in FieldName]: (typeof REQUEST_FIELDS)[Name] extends { canonicalDefault: unknown } ? Name : never;
}[FieldName];

/** AudioInput after {@link normalizeAudioInput}: fields with a default are always present. */
export type NormalizedAudioInput = AudioInput & { [Name in Defaulted]-?: NonNullable<AudioInput[Name]> };

/** Fills in the defaults of {@link REQUEST_FIELDS}. Changes no value; absent fields without a default stay absent. */
export function normalizeAudioInput(input: AudioInput): NormalizedAudioInput {
  const values = FIELD_NAMES.map(
    (name) => [name, input[name] ?? requestField(name).canonicalDefault] as const,
  );
  // The assertion is needed because the type that `Object.fromEntries` returns does not say which value belongs to
  // which name.
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as NormalizedAudioInput;
}
