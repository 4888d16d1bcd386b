/** The one spelling of a request that is hashed and sent. */
import { type AudioInput, normalizeAudioInput } from "../contract/audio-input.ts";
import { REQUEST_BODY_MAX_BYTES } from "../contract/service-limits.ts";
import { AudioError } from "../errors.ts";

/**
 * Canonical JSON of an input: defaults filled in, keys sorted, white space around the text taken off, because nobody
 * hears it. The same request always gives the same bytes, so it always gives the same idempotency key.
 *
 * @throws AudioError `request_too_large` when the body would pass 32 KiB: it is not sent
 */
export function canonicalInput(input: AudioInput): string {
  const prompt = input.prompt.trim();
  const sorted = Object.entries(normalizeAudioInput({ ...input, prompt })).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const body = JSON.stringify(Object.fromEntries(sorted));
  const sizeBytes = Buffer.byteLength(body);
  if (sizeBytes > REQUEST_BODY_MAX_BYTES) {
    throw new AudioError(
      "request_too_large",
      `The request is ${sizeBytes} bytes; the service takes at most ${REQUEST_BODY_MAX_BYTES}. Nothing was sent.`,
    );
  }
  return body;
}
