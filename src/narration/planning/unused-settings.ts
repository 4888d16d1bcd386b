/** Reports settings that a kind of text does not use, so that nobody waits for their effect. */
import { DEFAULT_PAUSE_SECONDS } from "../text/plan-types.ts";

/**
 * Builds a remark that names the unused settings. Returns an empty list if the call kept their defaults.
 *
 * @param reason why the settings have no effect, as a clause after "because"
 */
export function buildUnusedSettingsRemarks(
  { pauseSeconds, fileLayout }: { readonly pauseSeconds: number; readonly fileLayout: "one" | "chapters" },
  reason: string,
): string[] {
  const unused = [
    ...(pauseSeconds === DEFAULT_PAUSE_SECONDS ? [] : ["pauses between paragraphs"]),
    ...(fileLayout === "chapters" ? ["a file for each chapter"] : []),
  ];
  if (unused.length === 0) return [];
  return [`Not used: ${unused.join(" and ")}, because ${reason}.`];
}
