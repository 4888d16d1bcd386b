/** The languages of the service are recognised in texts, and named where people read them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LANGUAGES, SAMPLE_SENTENCES } from "../../src/contract/voices.ts";
import { guessTextLanguage } from "../../src/text-language.ts";

const NUMBER_WORDS = ["five", "six", "seven", "eight", "nine", "ten"];
const FIRST_NUMBER = 5;

it.each(LANGUAGES)("a language of the service (%s) is recognised in its sample sentence", (code) => {
  expect(guessTextLanguage(`${SAMPLE_SENTENCES[code]} `.repeat(5))?.code).toBe(code);
});

it("a language of the service counts in the manifest", () => {
  const manifest = readFileSync(join(import.meta.dirname, "..", "..", "manifest.json"), "utf8");
  expect(manifest).toContain(`Voices in ${NUMBER_WORDS[LANGUAGES.length - FIRST_NUMBER]} languages`);
});
