/** Decodes percent-encoded texts, such as passwords in URLs. */

/**
 * Returns the decoded text. Keeps a percent sign that encodes nothing, because people paste passwords without encoding
 * them.
 */
export const decodePercent = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
