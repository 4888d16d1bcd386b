/** Builds one part of a plan from its text and its speaker. */
import { chargeForSeconds } from "../../contract/billing.ts";
import { SPEAKER_SETTING_NAMES } from "../../contract/request-fields.ts";
import type { PartText } from "./cutting/split.ts";
import type { PlannedPart, Speaker } from "./plan-types.ts";

/** What the position of a part in its text decides. */
export type PartPosition = Pick<PlannedPart, "chapterIndex" | "pauseAfterSeconds" | "startSeconds" | "cue">;

/** Returns the speed of a speaker's parts. */
export const chooseSpeed = (speaker: Speaker | null | undefined, narrationSpeed: number): number =>
  speaker?.speed ?? narrationSpeed;

/**
 * Builds a part with the settings of its speaker, and estimates its length and charge.
 *
 * @param speaker the speaker of the text; `null` or `undefined` if the narration's own settings apply
 */
export function buildPlannedPart(
  { text, speechMs }: Pick<PartText, "text" | "speechMs">,
  speaker: Speaker | null | undefined,
  narrationSpeed: number,
  position: PartPosition,
): PlannedPart {
  const voice = speaker?.voice;
  const settings = Object.fromEntries(
    SPEAKER_SETTING_NAMES.flatMap((name) => (speaker?.[name] === undefined ? [] : [[name, speaker[name]]])),
  );
  const estimatedSeconds = speechMs / 1000 / chooseSpeed(speaker, narrationSpeed);
  return {
    text,
    ...(voice === undefined ? {} : { voice }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...position,
    estimatedSeconds,
    estimatedCredits: chargeForSeconds(estimatedSeconds),
  };
}
