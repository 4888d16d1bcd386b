/**
 * Defines the voice presets (docs/contract.md, Voices). The service does not publish how they sound, so each voice has a
 * sample sentence in its language, always the same, which is paid for once.
 */

export const LANGUAGES = ["en", "zh", "ja", "es", "id", "pt"] as const;
export type Language = (typeof LANGUAGES)[number];

let englishNames: Intl.DisplayNames | undefined;

/** Returns the English name of a language, also of one that no voice speaks. */
export function nameLanguage(code: string): string {
  englishNames ??= new Intl.DisplayNames(["en"], { type: "language" });
  return englishNames.of(code) ?? code;
}

export const VOICE_IDS = [
  "stokie_en",
  "vivi_mixed_en_zh_ja_es_id",
  "mindy_en_es_id_pt_zh",
  "kian_en_zh",
  "cedric_en_zh",
  "sophie_en_zh",
  "jean_en_zh",
  "magnus_en_zh",
  "mabel_en_zh",
  "nadia_en_zh",
  "opal_en_zh",
  "pearl_en_zh",
  "quentin_en_zh",
  "corinne_mixed_en_zh",
  "esther_mixed_en_zh",
  "lyla_mixed_en_zh",
  "tracy_es_zh",
  "sandy_es_mixed_en_zh",
  "felix_zh",
  "celeste_zh",
  "monkey_king_zh",
] as const;
export type VoiceId = (typeof VOICE_IDS)[number];

/** A voice preset. A `mixed` voice can switch languages inside one prompt. */
export interface Voice {
  readonly id: VoiceId;
  readonly name: string;
  readonly languages: readonly Language[];
  readonly canMixLanguages: boolean;
}

/**
 * Returns whether a text is the code of a language that voices speak, such as `en`. Returns `false` for a name such as
 * `English`.
 */
export const isLanguage = (text: string): text is Language => (LANGUAGES as readonly string[]).includes(text);

/**
 * Derives a voice from its id. The id consists of the words of the name, the language codes and, if the voice can
 * switch languages, `mixed`.
 */
function buildVoice(id: VoiceId): Voice {
  const parts = id.split("_");
  const nameWords = parts.filter((part) => !isLanguage(part) && part !== "mixed");
  return {
    id,
    name: nameWords.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" "),
    languages: parts.filter(isLanguage),
    canMixLanguages: parts.includes("mixed"),
  };
}

export const VOICES: readonly Voice[] = VOICE_IDS.map(buildVoice);

export const SAMPLE_SENTENCES: Readonly<Record<Language, string>> = {
  en: "The old clock on the wall had stopped, but nobody in the house seemed to mind.",
  zh: "墙上的旧钟早就停了,可是屋里好像没有人在意。",
  ja: "壁の古い時計は止まっていたが、家の誰も気にしていないようだった。",
  es: "El viejo reloj de la pared se había parado, pero a nadie de la casa parecía importarle.",
  id: "Jam tua di dinding itu sudah berhenti, tetapi tak seorang pun di rumah itu peduli.",
  pt: "O velho relógio da parede tinha parado, mas ninguém na casa parecia se importar.",
};

/** Returns the language of a voice's sample: the wanted one if the voice speaks it, else the first one in its id. */
export const chooseSampleLanguage = (
  { languages }: Pick<Voice, "languages">,
  wanted: Language | null = null,
): Language => (wanted !== null && languages.includes(wanted) ? wanted : (languages[0] ?? "en"));

/** Returns the request for a voice's sample. All other fields keep their defaults. */
export const buildSampleInput = (
  voice: Voice,
  wanted: Language | null = null,
): { prompt: string; voice: VoiceId } => ({
  prompt: SAMPLE_SENTENCES[chooseSampleLanguage(voice, wanted)],
  voice: voice.id,
});
