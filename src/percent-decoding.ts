/** Decodes percent-encoded texts, such as passwords in URLs. */

/**
 * Returns the decoded text. If the encoding is invalid, returns the text unchanged, because people paste passwords
 * without encoding them.
 */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
