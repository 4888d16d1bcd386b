/** The languages of the service are recognised in texts, and named where people read them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SAMPLE_SENTENCES } from "../../src/contract/voice-samples.ts";
import { LANGUAGES } from "../../src/contract/voices.ts";
import { guessTextLanguage } from "../../src/text-language.ts";

const NUMBER_WORDS = ["five", "six", "seven", "eight", "nine", "ten"];
const FIRST_NUMBER = 5;

describe("a language of the service", () => {
  it.each(LANGUAGES)("(%s) is never reported as one that no voice speaks", (code) => {
    const language = guessTextLanguage(`${SAMPLE_SENTENCES[code]} `.repeat(5));
    // A sentence may be too short for a decision.
    expect([code, undefined]).toContain(language?.code);
  });

  it("counts in the manifest", () => {
    const manifest = readFileSync(join(import.meta.dirname, "..", "..", "manifest.json"), "utf8");
    expect(manifest).toContain(`Voices in ${NUMBER_WORDS[LANGUAGES.length - FIRST_NUMBER]} languages`);
  });
});
