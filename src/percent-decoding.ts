/** Decodes percent-encoded texts, such as passwords in URLs. */

/** Returns the decoded text. Returns an invalid encoding unchanged, because people paste passwords as they are. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
