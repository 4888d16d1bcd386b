/** Builds the canonical JSON of a request, which is hashed and sent. */
import { type AudioInput, normalizeAudioInput } from "../contract/audio-input.ts";
import { MAX_REQUEST_BODY_BYTES } from "../contract/service-limits.ts";
import { AudioError } from "../errors.ts";

/**
 * Fills in defaults and sorts keys. Trims the text, because white space at its ends is not spoken. Equal requests give
 * equal bytes, and therefore equal idempotency keys.
 *
 * @throws AudioError `request_too_large` if the body exceeds 32 KiB; nothing is sent
 */
export function canonicalizeInput(input: AudioInput): string {
  const prompt = input.prompt.trim();
  const sorted = Object.entries(normalizeAudioInput({ ...input, prompt })).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const body = JSON.stringify(Object.fromEntries(sorted));
  const sizeBytes = Buffer.byteLength(body);
  if (sizeBytes > MAX_REQUEST_BODY_BYTES) {
    throw new AudioError(
      "request_too_large",
      `The request is ${sizeBytes} bytes; the service takes at most ${MAX_REQUEST_BODY_BYTES}. Nothing was sent.`,
    );
  }
  return body;
}
