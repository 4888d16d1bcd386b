/**
 * Defines one sample sentence per language, so that every sample of a voice has the same idempotency key and is paid
 * for once.
 */
import type { AudioInput } from "./audio-input.ts";
import type { Language, Voice } from "./voices.ts";

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
export const buildSampleInput = (voice: Voice, wanted: Language | null = null): AudioInput => ({
  prompt: SAMPLE_SENTENCES[chooseSampleLanguage(voice, wanted)],
  voice: voice.id,
});
