/** Applies pronunciations to a part. Returns the part with the text to send and with its estimate. */
import { chargeForSeconds } from "../../contract/billing.ts";
import { estimateSeconds } from "../../contract/estimate.ts";
import type { Pronunciation } from "../../pronunciation.ts";
import { respellInput } from "../../requests/respelled-input.ts";
import type { NarrationSettings, StoredPart } from "./stored-plan.ts";

export interface RespelledPart {
  readonly part: StoredPart;
  /** The words that are respelled. */
  readonly words: readonly string[];
}

/**
 * Applies the pronunciations to a part.
 *
 * @throws AudioError `invalid_request` if the pronunciations make the text longer than the service allows
 */
export function applyPronunciations(
  { respelledText: _, ...part }: Omit<StoredPart, "estimatedSeconds" | "estimatedCredits">,
  {
    settings,
    pronunciations = [],
  }: { readonly settings: NarrationSettings; readonly pronunciations?: readonly Pronunciation[] },
): RespelledPart {
  const { text } = part;
  const { input, words } = respellInput(
    { prompt: text, voice: part.voice ?? settings.voice },
    pronunciations,
  );
  const speed = part.settings?.speed ?? settings.speed ?? 1;
  const estimatedSeconds = estimateSeconds(input.prompt) / speed;
  const respelled = input.prompt === text ? {} : { respelledText: input.prompt };
  const estimatedCredits = chargeForSeconds(estimatedSeconds);
  return { part: { ...part, ...respelled, estimatedSeconds, estimatedCredits }, words };
}
