/** Respells the prompt of a request and checks that it stays within the service's bounds. */
import type { AudioInput } from "../contract/audio-input.ts";
import { formatThousands } from "../contract/numbers.ts";
import { MAX_PROMPT_CODE_POINTS } from "../contract/service-limits.ts";
import { countCodePoints } from "../contract/unicode.ts";
import { AudioError } from "../errors.ts";
import { type Pronunciation, respell, selectRules } from "../pronunciation.ts";

export interface RespelledInput {
  readonly input: AudioInput;
  /** The words that pronunciation rules replaced. */
  readonly words: readonly string[];
}

/**
 * Applies the pronunciation rules for the input's voice.
 *
 * @throws AudioError `invalid_request` if the prompt becomes too long
 */
export function respellInput(input: AudioInput, rules: readonly Pronunciation[]): RespelledInput {
  const { text, replacedWords } = respell(input.prompt, selectRules(rules, input.voice));
  if (text === input.prompt) return { input, words: [] };
  const length = countCodePoints(text);
  if (length > MAX_PROMPT_CODE_POINTS) {
    throw new AudioError(
      "invalid_request",
      `With the pronunciations of ${replacedWords.slice(0, 5).join(", ")} the text becomes ${formatThousands(length)} characters; the service takes at most ${formatThousands(MAX_PROMPT_CODE_POINTS)}. Nothing was sent.`,
      { remedy: "Shorten the pronunciations, or the text." },
    );
  }
  return { input: { ...input, prompt: text }, words: replacedWords };
}
