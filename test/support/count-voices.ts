/** The voices that the tests expect of a list, so that another voice changes no test. */
import { type Language, VOICES } from "../../src/contract/voices.ts";

/** Number of voices that speak a language. */
export const countVoices = (language: Language): number =>
  VOICES.filter(({ languages }) => languages.includes(language)).length;
