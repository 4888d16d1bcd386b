/** The tool `list_voices`: its schema, its words and its handler; needs no service and no configuration. */
import { z } from "zod";
import { LANGUAGES, VOICES, type Voice } from "../contract/voices.ts";
import { defineTool } from "./tool.ts";

const output = z.strictObject({
  voices: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      languages: z.array(z.string()),
      mixed: z.boolean(),
    }),
  ),
  count: z.int(),
});

function matches(voice: Voice, query: string): boolean {
  const haystack = `${voice.id} ${voice.name} ${voice.languages.join(" ")} ${voice.mixed ? "mixed" : ""}`;
  const words = query.toLowerCase().split(/\s+/);
  return words.every((word) => haystack.toLowerCase().includes(word));
}

export const listVoices = defineTool({
  name: "list_voices",
  title: "List voices",
  description:
    "The 21 voices and their languages; mixed voices switch language within a text. Free, offline.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    language: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(", ")}`).optional(),
    query: z
      .string("must be a string")
      .max(100, "must be at most 100 characters")
      .meta({ description: "Words in id or name" })
      .optional(),
  }),
  output,
  async handle({ language, query }) {
    const voices = VOICES.filter(
      (voice) =>
        (language === undefined || voice.languages.includes(language)) &&
        (query === undefined || matches(voice, query.trim())),
    );
    const lines = voices.map(
      ({ id, name, languages, mixed }) => `${id}: ${name}, ${languages.join(" ")}${mixed ? ", mixed" : ""}`,
    );
    const text =
      voices.length === 0 ? "No voice matches; call list_voices without filters." : lines.join("\n");
    return { structured: { voices, count: voices.length }, text };
  },
});
