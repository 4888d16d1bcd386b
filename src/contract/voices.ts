/** Defines the voice presets (docs/contract.md, Voices). The service does not publish how they sound. */

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
