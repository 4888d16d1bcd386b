/**
 * Parses an answer of the content endpoint: whether the answer is audio, which bytes it has, and how long the whole
 * audio is.
 */
import type { AudioError } from "../errors.ts";
import { StaleBytesError } from "./network-error.ts";
import { unexpectedResponseError } from "./service-error.ts";
import type { HttpResponse } from "./transport.ts";

/** A range of audio bytes that is being received. */
export interface ContentResponse {
  /** Offset of the first byte of `body` in the whole audio; 0 for a 200. */
  readonly start: number;
  /** The size of the whole audio; `null` if the answer does not state it. */
  readonly totalBytes: number | null;
  /** The strong entity tag of the audio; `null` if the answer has none, or a weak one. */
  readonly etag?: string | null;
  /**
   * The bytes. Reading them throws AudioError: `network_error` or `timeout` if the body ends early, and
   * `unexpected_response` if the body of a 206 exceeds its range.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Whether the body may end before the audio ends. True for a 200 that has neither Content-Length nor chunked coding,
   * because a broken connection looks like the end of such a body. Also true for a 206 that does not state the total
   * size, because more audio may follow its range.
   */
  readonly isEndUnmarked?: boolean;
  discard(): void;
}

interface ContentRange {
  readonly firstByte: number;
  readonly lastByte: number;
  readonly totalBytes: number | null;
}

function parseInteger(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

/** Parses `Content-Length` in bytes; `null` if absent or not a plain number. */
function parseContentLength(header: string | undefined): number | null {
  return parseInteger(header?.trim());
}

/** Parses `bytes 0-99/200` or `bytes 0-99/*`; `null` for anything else, including contradictory ranges. */
function parseContentRange(header: string | undefined): ContentRange | null {
  const match = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header?.trim() ?? "");
  const firstByte = parseInteger(match?.[1]);
  const lastByte = parseInteger(match?.[2]);
  if (firstByte === null || lastByte === null || lastByte < firstByte) return null;
  const totalBytes = parseInteger(match?.[3]);
  return totalBytes !== null && lastByte >= totalBytes ? null : { firstByte, lastByte, totalBytes };
}

/** Parses a strong entity tag (RFC 9110, 8.8.3); `null` if the header is absent, weak or no entity tag. */
function parseStrongEtag(header: string | undefined): string | null {
  return /^"[^"]*"$/.exec(header?.trim() ?? "")?.[0] ?? null;
}

/** Parses the total size in the Content-Range of a 416; `null` if the header does not state it. */
function parseUnsatisfiedRange(header: string | undefined): number | null {
  return parseInteger(/^bytes[ \t]+\*\/(\d{1,15})$/i.exec(header?.trim() ?? "")?.[1]);
}

/**
 * Matches a Content-Type that names one audio type or a type of any bytes, with or without parameters. Object stores
 * write `binary/octet-stream`. A header that names several types is refused, because they contradict each other.
 */
const AUDIO_TYPE =
  /^\s*(?:(?:application|binary)\/octet-stream|application\/ogg|audio\/[\w.+-]+)\s*(?:;[^,]*)?$/i;

/** Matches content codings that do not change the bytes. Object stores keep `aws-chunked` from an upload. */
const PLAIN_ENCODING = /^\s*(?:identity|aws-chunked)\s*$/i;
/** Matches transfer codings that do not change the bytes. */
const PLAIN_CODINGS = /^\s*(?:(?:chunked|identity)\s*(?:,\s*|$))*$/i;
/** Matches transfer codings whose last one is `chunked`. Chunked coding marks the end of the body. */
const ENDS_IN_CHUNKS = /(?:^|[\s,])chunked\s*$/i;

/**
 * Refuses an answer that is compressed or not of an audio type. Otherwise an error page that a gateway sends with
 * status 200 could be saved as paid audio. Without a type, the bytes decide (files/save-audio.ts).
 */
function assertIsAudio(response: HttpResponse): void {
  const encoding = response.header("content-encoding");
  const isEncoded = encoding !== undefined && !PLAIN_ENCODING.test(encoding);
  if (isEncoded || !PLAIN_CODINGS.test(response.header("transfer-encoding") ?? "")) {
    throw unexpectedResponseError(response, "The audio came compressed, which was not asked for.");
  }
  const type = response.header("content-type");
  if (type !== undefined && !AUDIO_TYPE.test(type)) {
    throw unexpectedResponseError(
      response,
      "The service answered the download with something that is not said to be audio.",
    );
  }
}

/**
 * Yields the chunks of a body. Throws at the first chunk that exceeds the announced length, and does not yield that
 * chunk.
 */
async function* limitBytes(
  body: AsyncIterable<Uint8Array>,
  lengthBytes: number,
  onSurplus: () => AudioError,
) {
  let seenBytes = 0;
  for await (const chunk of body) {
    seenBytes += chunk.byteLength;
    if (seenBytes > lengthBytes) throw onSurplus();
    yield chunk;
  }
}

/**
 * Parses a 200 or a 206.
 *
 * @param fromByte the requested offset; 0 means that no Range header was sent
 * @throws AudioError `unexpected_response`. If the Content-Range of a 206 is unreadable, begins at another offset than
 *   `fromByte` or contradicts Content-Length, the cause of the error is {@link StaleBytesError}.
 */
export function parseContent(response: HttpResponse, fromByte: number): ContentResponse {
  assertIsAudio(response);
  const lengthBytes = parseContentLength(response.header("content-length"));
  const discard = (): void => response.discard();
  const etag = parseStrongEtag(response.header("etag"));
  if (response.status === 200) {
    const isChunked = ENDS_IN_CHUNKS.test(response.header("transfer-encoding") ?? "");
    const isEndUnmarked = lengthBytes === null && !isChunked;
    return { start: 0, totalBytes: lengthBytes, etag, body: response.body, isEndUnmarked, discard };
  }
  const range = parseContentRange(response.header("content-range"));
  const refuse = (message: string, reason: string): AudioError =>
    unexpectedResponseError(response, message, { cause: new StaleBytesError(reason) });
  const wrongRangeMessage = "The service sent another part of the audio than was asked for.";
  if (range === null || range.firstByte !== fromByte)
    throw refuse(wrongRangeMessage, "Content-Range does not fit the request");
  const rangeBytes = range.lastByte - range.firstByte + 1;
  if (lengthBytes !== null && lengthBytes !== rangeBytes)
    throw refuse(wrongRangeMessage, "Content-Range contradicts Content-Length");
  const body = limitBytes(response.body, rangeBytes, () =>
    refuse("The service sent more bytes than it announced.", "surplus bytes"),
  );
  const { firstByte, totalBytes } = range;
  return { start: firstByte, totalBytes, etag, body, isEndUnmarked: totalBytes === null, discard };
}

/** Creates the error for a 416. If the answer states the size of the whole audio, the error's cause has this size. */
export function unsatisfiedRangeError(response: HttpResponse, taskId: string): AudioError {
  const totalBytes = parseUnsatisfiedRange(response.header("content-range"));
  const cause = new StaleBytesError("range not satisfiable", totalBytes);
  const words = "The service has no such part of the audio (HTTP 416).";
  return unexpectedResponseError(response, words, { taskId, cause });
}
