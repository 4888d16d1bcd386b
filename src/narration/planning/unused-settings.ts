/** Reports settings that a kind of text does not use, so that nobody waits for their effect. */
/** Default pause between paragraphs. */
export const DEFAULT_PAUSE_SECONDS = 0.6;

/** @param reason why the settings have no effect, as a clause after "because" */
export function unusedSettingsRemark(
  { pauseSeconds, files }: { readonly pauseSeconds: number; readonly files: "one" | "chapters" },
  reason: string,
): string[] {
  const unused = [
    ...(pauseSeconds === DEFAULT_PAUSE_SECONDS ? [] : ["pause_seconds"]),
    ...(files === "chapters" ? ["files"] : []),
  ];
  if (unused.length === 0) return [];
  return [`Not used: ${unused.join(" and ")}, because ${reason}.`];
}
