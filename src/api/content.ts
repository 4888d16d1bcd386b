/** Owns the reading of an answer of the content endpoint (contract 4.3); knows no file and repeats nothing. */
import { AudioError } from "../errors.ts";
import { StaleBytes } from "./causes.ts";
import { parseContentLength, parseContentRange } from "./content-range.ts";
import type { HttpResponse } from "./transport.ts";

/** One stretch of audio bytes on its way. */
export interface ContentResponse {
  /** Offset of the first byte of `body`: 0 for a 200. */
  readonly start: number;
  /** Size of the whole audio; `null` when the answer does not say. */
  readonly totalBytes: number | null;
  /** Ends early: throws AudioError `network_error` or `timeout`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Nothing in the answer says where the audio ends (no length, no chunks): a cut cannot be told from an end. */
  readonly isEndUnmarked?: boolean;
  discard(): void;
}

/** Metadata of the audio, from a HEAD. */
export interface ContentInfo {
  readonly totalBytes: number | null;
}

const refuse = (response: HttpResponse, message: string, cause?: Error): AudioError => {
  response.discard();
  return new AudioError("unexpected_response", message, {
    httpStatus: response.status,
    retryable: true,
    ...(cause === undefined ? {} : { cause }),
  });
};

/** A page of a gateway or an error body under a 200: it would be saved as audio where the format has no signature. */
const NOT_AUDIO = /^\s*(text\/html|application\/(problem\+)?json)\b/i;

function refuseForeign(response: HttpResponse): void {
  const encoding = response.header("content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw refuse(response, "The audio came compressed, which was not asked for.");
  }
  if (NOT_AUDIO.test(response.header("content-type") ?? "")) {
    throw refuse(response, "The service answered the download with a page or a message instead of audio.");
  }
}

/** Passes a body on and complains about bytes beyond its announced length, before they get to anybody. */
async function* atMost(body: AsyncIterable<Uint8Array>, lengthBytes: number, onSurplus: () => AudioError) {
  let seenBytes = 0;
  for await (const chunk of body) {
    seenBytes += chunk.byteLength;
    if (seenBytes > lengthBytes) throw onSurplus();
    yield chunk;
  }
}

/**
 * Reads a 200 or a 206.
 *
 * @param fromByte what was asked for; 0 means that no Range was sent
 * @throws AudioError `unexpected_response`; with {@link StaleBytes} as its cause when the range does not fit
 */
export function readContent(response: HttpResponse, fromByte: number): ContentResponse {
  refuseForeign(response);
  const lengthBytes = parseContentLength(response.header("content-length"));
  const discard = (): void => response.discard();
  if (response.status === 200) {
    const isEndUnmarked = lengthBytes === null && response.header("transfer-encoding") === undefined;
    return { start: 0, totalBytes: lengthBytes, body: response.body, isEndUnmarked, discard };
  }
  const range = parseContentRange(response.header("content-range"));
  const misfit = "The service sent another part of the audio than was asked for.";
  if (range === null || range.firstByte !== fromByte) {
    throw refuse(response, misfit, new StaleBytes("Content-Range does not fit the request"));
  }
  const rangeBytes = range.lastByte - range.firstByte + 1;
  if (lengthBytes !== null && lengthBytes !== rangeBytes) {
    throw refuse(response, misfit, new StaleBytes("Content-Range contradicts Content-Length"));
  }
  const body = atMost(response.body, rangeBytes, () =>
    refuse(response, "The service sent more bytes than it announced.", new StaleBytes("surplus bytes")),
  );
  const { firstByte, totalBytes } = range;
  return { start: firstByte, totalBytes, body, isEndUnmarked: totalBytes === null, discard };
}
