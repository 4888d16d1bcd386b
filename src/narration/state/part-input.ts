/** Builds the input of the task that speaks a part. */
import type { AudioInput } from "../../contract/audio-input.ts";
import type { StoredPart, StoredPlan } from "./narration-state.ts";

/** Returns the part's text, voice and settings. The part's own settings replace the narration's settings. */
export function buildPartInput({ settings }: Pick<StoredPlan, "settings">, part: StoredPart): AudioInput {
  return {
    ...settings,
    ...part.settings,
    prompt: part.respelledText ?? part.text,
    voice: part.voice ?? settings.voice,
  };
}
