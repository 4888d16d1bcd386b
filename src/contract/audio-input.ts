/** AudioInput, the body of a create request: its fields and the rules between them (docs/contract.md, AudioInput). */
import { z } from "zod";
import { FIELD_NAMES, type FieldName, REQUEST_FIELDS, requestField, schemasOf } from "./request-fields.ts";
import { AUDIO_REFERENCES_MAX_WITH_VOICE } from "./service-limits.ts";

const fields = z
  .strictObject(schemasOf(FIELD_NAMES))
  .partial()
  .extend({ prompt: REQUEST_FIELDS.prompt.schema });

/** The fields of AudioInput, one schema each; all but the prompt are optional. */
export const audioInputFields = fields.shape;
export type AudioInput = z.infer<typeof fields>;

/** Checks the rules between fields. */
export function checkFieldRules(input: AudioInput, context: z.RefinementCtx<unknown>): void {
  const complain = (field: FieldName, message: string): void =>
    context.addIssue({ code: "custom", path: [field], message, input });
  const references = input.audio_references?.length ?? 0;
  if (input.voice !== undefined && references > AUDIO_REFERENCES_MAX_WITH_VOICE) {
    const rule = `must hold at most ${AUDIO_REFERENCES_MAX_WITH_VOICE} URLs when voice is given`;
    complain("audio_references", `${rule} (a voice takes one slot)`);
  }
  if (input.image_url === undefined) return;
  if (input.voice !== undefined) complain("voice", "must be absent when image_url is given");
  if (references > 0) complain("audio_references", "must be empty when image_url is given");
}

/** The request body of a create. Strict, so an unknown field is an error. */
export const audioInputSchema = fields.superRefine(checkFieldRules);

type Defaulted = {
  [Name in FieldName]: (typeof REQUEST_FIELDS)[Name] extends { keyDefault: unknown } ? Name : never;
}[FieldName];

/** AudioInput with the defaults of the table spelled out. */
export type NormalizedAudioInput = AudioInput & { [Name in Defaulted]-?: NonNullable<AudioInput[Name]> };

/** Fills in the defaults of the table; nothing is trimmed or rewritten, other absent fields stay absent. */
export function normalizeAudioInput(input: AudioInput): NormalizedAudioInput {
  const values = FIELD_NAMES.map((name) => [name, input[name] ?? requestField(name).keyDefault] as const);
  // `Object.fromEntries` loses which value has which name.
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as NormalizedAudioInput;
}
