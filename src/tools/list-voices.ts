/** The tool `list_voices`: its schema, its words and its handler; needs no service and no configuration. */
import { z } from "zod";
import { nearestVoices } from "../contract/nearest-voices.ts";
import { holdsWords } from "../contract/search-words.ts";
import { LANGUAGE_NAMES, LANGUAGES, VOICES, type Voice } from "../contract/voices.ts";
import { defineTool, type ToolDeps } from "./tool.ts";

const output = z.strictObject({
  message: z.string(),
  voices: z.array(z.record(z.string(), z.unknown())),
  count: z.int(),
});

/** Whoever looks for a sound in these lists is told that it is not there, before more calls go into it. */
const WHAT_IS_KNOWN =
  "No tone, gender or age is published, only languages, in which each id ends; mixed voices switch language within a text.";

const searched = ({ id, name, languages, mixed }: Voice, note: string | undefined): string[] => [
  id,
  name,
  ...languages.map((code) => LANGUAGE_NAMES[code]),
  mixed ? "mixed" : "",
  note ?? "",
];

function nothingFound(query: string | undefined): string {
  const nearest = query === undefined ? [] : nearestVoices(query);
  const start = query === undefined ? "No voice matches." : `No voice '${query.trim()}'.`;
  const next =
    nearest.length > 0
      ? `Nearest: ${nearest.join(", ")}; say so if you take it.`
      : "Call list_voices without arguments.";
  return `${start} ${next} ${WHAT_IS_KNOWN}`;
}

function omitted({ defaultVoice }: ToolDeps): string {
  return defaultVoice === null
    ? "Without a voice the service uses its own default."
    : `Without a voice ${defaultVoice} is used (AUDIO_DEFAULT_VOICE).`;
}

export const listVoices = defineTool({
  name: "list_voices",
  title: "List voices",
  description:
    "The voices, their languages, and the user's own notes about them. How they sound is published nowhere. Free, offline.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    language: z
      .enum(LANGUAGES, `must be one of ${LANGUAGES.join(", ")}`)
      .meta({ description: `${LANGUAGES.join(", ")}, or its English name` })
      .optional(),
    query: z
      .string("must be a string")
      .max(100, "must be at most 100 characters")
      .meta({ description: "Words of id, name, language or note, in any order" })
      .optional(),
  }),
  output,
  async handle({ language, query }, deps) {
    const { voiceNotes } = deps;
    const voices = VOICES.filter(
      (voice) =>
        (language === undefined || voice.languages.includes(language)) &&
        (query === undefined || holdsWords(searched(voice, voiceNotes.get(voice.id)), query)),
    ).map((voice) => {
      const note = voiceNotes.get(voice.id);
      return { ...voice, ...(note === undefined ? {} : { note }) };
    });
    const message = voices.length === 0 ? nothingFound(query) : `${WHAT_IS_KNOWN} ${omitted(deps)}`;
    const lines = voices.map(({ id, note }) => (note === undefined ? id : `${id}: ${note}`));
    return {
      structured: { message, voices, count: voices.length },
      text: [message, ...lines].join("\n"),
    };
  },
});
