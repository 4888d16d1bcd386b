/** The tool `list_voices`: voices and their samples. Needs no service and no configuration. */
import { z } from "zod";
import { findNearestVoices } from "../contract/nearest-names.ts";
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { findLanguage } from "../contract/value-names.ts";
import {
  buildSampleInput,
  chooseSampleLanguage,
  LANGUAGES,
  type Language,
  nameLanguage,
  SAMPLE_SENTENCES,
  VOICES,
  type Voice,
} from "../contract/voices.ts";
import { AudioError } from "../errors.ts";
import { createSearches, type Search } from "../search-words.ts";
import { optional, stringSchema } from "./shared-fields.ts";
import { omitNullish } from "./task-output.ts";
import { defineTool, type ToolDeps } from "./tool.ts";

const MAX_SHOWN_CODE_POINTS = 60;

const output = z.strictObject({
  message: z.string(),
  sample_sentences: z.record(z.string(), z.string()),
  voices: z.array(z.record(z.string(), z.unknown())),
  count: z.int(),
});

/**
 * Says what is known about the voices. Without this sentence, assistants would call again to search for tone, gender or
 * age.
 */
const KNOWN_FACTS =
  "No tone, gender or age is published, only languages, in which each id ends; mixed voices switch language within a text.";

const listSearchedTexts = (
  { id, name, languages, canMixLanguages }: Voice,
  note: string | undefined,
): string[] => [id, name, ...languages.map(nameLanguage), canMixLanguages ? "mixed" : "", note ?? ""];

/**
 * Finds the voices that a query means: that have its words, with languages under any of their names (`español`,
 * `es-MX`), or else that speak the language that it names.
 */
function findVoices(query: string, deps: Pick<ToolDeps, "voiceNotes">): readonly Voice[] {
  const toName = (language: Language | null): string | null => language && nameLanguage(language);
  const named = query.split(/\s+/).map((word) => toName(findLanguage(word)) ?? word);
  const meanings = [query, named.join(" "), toName(findLanguage(query)) ?? query];
  const find = (search: Search): Voice[] =>
    VOICES.filter((voice) => search(listSearchedTexts(voice, deps.voiceNotes.get(voice.id))));
  const searches = meanings.flatMap((meaning) => createSearches(meaning).slice(0, 2));
  return searches.map(find).find((voices) => voices.length > 0) ?? [];
}

/** @throws AudioError `invalid_request` for a language that no voice speaks */
function parseLanguage(name: string): Language {
  const language = findLanguage(name);
  if (language !== null) return language;
  const shown = JSON.stringify(takeFirstCodePoints(name, MAX_SHOWN_CODE_POINTS));
  throw new AudioError(
    "invalid_request",
    `language must be one of ${LANGUAGES.join(", ")}; no voice speaks another language (got ${shown}).`,
    {
      remedy:
        "Tell the user that no voice speaks this language, and ask before one of another language reads it. Nothing was sent or charged.",
    },
  );
}

function describeNothingFound(query: string | undefined): string {
  const nearest = query === undefined ? [] : findNearestVoices(query);
  const start = query === undefined ? "No voice matches." : `No voice '${query.trim()}'.`;
  const next =
    nearest.length > 0
      ? `Nearest: ${nearest.join(", ")}; say so if you take it.`
      : "Notes of the user are searched, too. Ask which language, and call list_voices with it alone; then let the user hear samples.";
  return `${start} ${next} ${KNOWN_FACTS}`;
}

function describeDefaultVoice({ defaultVoice }: ToolDeps): string {
  return defaultVoice === null
    ? "Without a voice the service uses its own default."
    : `Without a voice ${defaultVoice} is used (AUDIO_DEFAULT_VOICE).`;
}

/** Finds the saved samples. Returns an empty map if nothing is set up yet or the ledger cannot be read. */
async function findSavedSamples(
  voices: readonly Voice[],
  wanted: Language | null,
  deps: ToolDeps,
): Promise<ReadonlyMap<string, string>> {
  try {
    const requests = await deps.openExistingRequests();
    if (requests === null) return new Map();
    const samples = await Promise.all(
      voices.map(async (voice) => {
        const path = await requests.findSavedPath(buildSampleInput(voice, wanted));
        return [voice.id, path ?? (await requests.findSavedPath(buildSampleInput(voice)))] as const;
      }),
    );
    return new Map(samples.flatMap(([id, path]) => (path === null ? [] : [[id, path] as const])));
  } catch (error) {
    if (error instanceof AudioError) return new Map();
    throw error;
  }
}

const describeSamples = (sentenceCount: number): string =>
  `A sample: generate_audio with nothing but the voice and the sentence${sentenceCount === 1 ? "" : " of its first language"} in sample_sentences; each is paid once.`;

export const listVoicesTool = defineTool({
  name: "list_voices",
  title: "List voices",
  description:
    "The voices, their languages, and the user's own notes about them. How they sound is published nowhere. Free.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    language: optional(stringSchema, `${LANGUAGES.join(", ")}, or a name`),
    query: optional(
      stringSchema.max(100, "must be at most 100 characters"),
      "Words of id, name, language or note, in any order",
    ),
  }),
  output,
  async run({ language: languageName, query }, deps) {
    const language = languageName === undefined ? undefined : parseLanguage(languageName);
    const found = query === undefined ? VOICES : findVoices(query, deps);
    const matchingVoices = found.filter(
      ({ languages }) => language === undefined || languages.includes(language),
    );
    const wanted = language ?? (query === undefined ? null : findLanguage(query));
    const samples = await findSavedSamples(matchingVoices, wanted, deps);
    const voices = matchingVoices.map(({ id, name, languages, canMixLanguages }) => ({
      ...{ id, name, languages, mixed: canMixLanguages },
      ...omitNullish({ note: deps.voiceNotes.get(id), sample_path: samples.get(id) }),
    }));
    const languages = [...new Set(matchingVoices.map((voice) => chooseSampleLanguage(voice, wanted)))];
    const sentences = Object.fromEntries(languages.map((code) => [code, SAMPLE_SENTENCES[code]]));
    const message =
      voices.length === 0
        ? describeNothingFound(query)
        : `${KNOWN_FACTS} ${describeDefaultVoice(deps)} ${describeSamples(languages.length)}`;
    const lines = voices.map(({ id, note, sample_path: sample }) =>
      [id, ...(note === undefined ? [] : [note]), ...(sample === undefined ? [] : [`sample ${sample}`])].join(
        ": ",
      ),
    );
    const texts = Object.entries(sentences).map(([code, sentence]) => `Sample in ${code}: ${sentence}`);
    return {
      structured: { message, sample_sentences: sentences, voices, count: voices.length },
      text: [message, ...texts, ...lines].join("\n"),
    };
  },
});
