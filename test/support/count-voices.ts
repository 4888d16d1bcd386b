/** Counts the voices that tests expect in a list, so that a new voice changes no test. */
import { type Language, VOICES } from "../../src/contract/voices.ts";

/** Returns the number of voices that speak a language. */
export const countVoices = (language: Language): number =>
  VOICES.filter(({ languages }) => languages.includes(language)).length;
