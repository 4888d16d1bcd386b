/** Reads an answer of the content endpoint: whether it is audio at all, which part of it, and where the whole ends. */
import { AudioError } from "../errors.ts";
import { StaleBytes } from "./causes.ts";
import type { HttpResponse } from "./transport.ts";

/** One stretch of audio bytes on its way. */
export interface ContentResponse {
  /** Offset of the first byte of `body`: 0 for a 200. */
  readonly start: number;
  /** Size of the whole audio; `null` when the answer does not say. */
  readonly totalBytes: number | null;
  /** Ends early: throws AudioError `network_error` or `timeout`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The answer does not say where the audio ends (no length, no chunks), so a cut looks like an end. */
  readonly isEndUnmarked?: boolean;
  discard(): void;
}

interface ContentRange {
  readonly firstByte: number;
  readonly lastByte: number;
  readonly totalBytes: number | null;
}

function readInteger(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

/** A `Content-Length` in bytes; `null` when absent or not a plain number. */
export function parseContentLength(header: string | undefined): number | null {
  return readInteger(header?.trim());
}

/** `bytes 0-99/200` or `bytes 0-99/*`; `null` for anything else, also for a range that contradicts itself. */
export function parseContentRange(header: string | undefined): ContentRange | null {
  const match = /^bytes[ \t]+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header?.trim() ?? "");
  const firstByte = readInteger(match?.[1]);
  const lastByte = readInteger(match?.[2]);
  if (firstByte === null || lastByte === null || lastByte < firstByte) return null;
  const totalBytes = readInteger(match?.[3]);
  return totalBytes !== null && lastByte >= totalBytes ? null : { firstByte, lastByte, totalBytes };
}

/** The size that a 416 states: `bytes * /200` without the blank; `null` when it states none. */
export function parseUnsatisfiedRange(header: string | undefined): number | null {
  return readInteger(/^bytes[ \t]+\*\/(\d{1,15})$/i.exec(header?.trim() ?? "")?.[1]);
}

const refuse = (response: HttpResponse, message: string, cause?: Error): AudioError => {
  response.discard();
  return new AudioError("unexpected_response", message, {
    httpStatus: response.status,
    retryable: true,
    ...(cause === undefined ? {} : { cause }),
  });
};

/** One type, with or without parameters: several would be several claims about the same bytes. */
const AUDIO_TYPE = /^\s*(?:application\/octet-stream|audio\/[\w.+-]+)\s*(?:;[^,]*)?$/i;

/** Transfer codings that leave the bytes as they are. Chunks mark the end only where they come last. */
const PLAIN_CODINGS = /^\s*(?:(?:chunked|identity)\s*(?:,\s*|$))*$/i;
const ENDS_IN_CHUNKS = /(?:^|[\s,])chunked\s*$/i;

/**
 * Only what is said to be audio counts as audio. A page of a gateway under a 200 would otherwise be kept for the
 * audio that was paid for: raw pcm has no signature that could distinguish the two later.
 */
function refuseForeign(response: HttpResponse): void {
  const encoding = response.header("content-encoding");
  const isEncoded = encoding !== undefined && encoding.trim().toLowerCase() !== "identity";
  if (isEncoded || !PLAIN_CODINGS.test(response.header("transfer-encoding") ?? "")) {
    throw refuse(response, "The audio came compressed, which was not asked for.");
  }
  if (!AUDIO_TYPE.test(response.header("content-type") ?? "")) {
    throw refuse(response, "The service answered the download with something that is not said to be audio.");
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
    const isChunked = ENDS_IN_CHUNKS.test(response.header("transfer-encoding") ?? "");
    const isEndUnmarked = lengthBytes === null && !isChunked;
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

/** A 416, with the size that it states behind it. */
export function unsatisfiedRange(response: HttpResponse, taskId: string): AudioError {
  const totalBytes = parseUnsatisfiedRange(response.header("content-range"));
  response.discard();
  return new AudioError("unexpected_response", "The service has no such part of the audio (HTTP 416).", {
    httpStatus: response.status,
    retryable: true,
    taskId,
    cause: new StaleBytes("range not satisfiable", totalBytes),
  });
}
