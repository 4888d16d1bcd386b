/**
 * Downloads one audio file into a sink. Resumes after breaks, restarts if the partial bytes are useless, and gives up
 * if there is no progress.
 */
import type { Clock } from "../clock.ts";
import { runWithTimeout } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import type { ContentResponse } from "./content.ts";
import { findStaleBytesError } from "./network-error.ts";
import { computeDelayAfterBreakMs, decideAfterFailure } from "./retry.ts";

/** The destination of the bytes. */
export interface ByteSink {
  /** Number of bytes written since the start or the last restart. */
  readonly size: number;
  write(chunk: Uint8Array): Promise<void>;
  /** Truncates the sink to 0 bytes. */
  restart(): Promise<void>;
}

/** Opens the audio at an offset. An abort of `signal` ends the request and its body. */
export type OpenContent = (fromByte: number, signal: AbortSignal) => Promise<ContentResponse>;

/** The minimum speed that counts as progress. */
interface MinimumProgress {
  readonly bytes: number;
  readonly withinMs: number;
}

/**
 * Requires 1 KiB a second, measured over 64 s. Even a 2G link is four times as fast. The body of a slower peer, such as
 * one that sends single bytes, is aborted.
 */
const MIN_PROGRESS: MinimumProgress = { bytes: 64 * 1024, withinMs: 64_000 };

/**
 * Maximum number of failures in a row at one offset. A try that reaches a new offset and then fails is the first
 * failure at that offset.
 */
const MAX_FAILURES_AT_ONE_OFFSET = 5;
/**
 * Maximum number of failures while fewer than {@link MinimumProgress.bytes} new bytes arrive. When this many new bytes
 * have arrived, the count starts again.
 */
const MAX_SLOW_FAILURES = 30;

export interface DownloadOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The caller's signal. If it aborts, the download rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Minimum speed of a body. A slower body is aborted, and the rest of it is requested again. */
  readonly minProgress?: MinimumProgress;
  /**
   * Returns how long to wait after a break.
   *
   * @param failuresAtOneOffset number of failures in a row at the present offset, at least 1
   * @param error the cause of the break; a 503 may state how long to wait
   */
  readonly computeDelayMs?: (failuresAtOneOffset: number, error: AudioError) => number;
}

/**
 * Downloads the exact bytes of the whole audio, or throws. Does not limit the total time, because a download over a
 * slow link must succeed. Limits the time without progress (see {@link MinimumProgress}) and the number of breaks.
 *
 * @throws AudioError `too_large`, `timeout`, `network_error`, `unexpected_response`, permanent errors of `open`, or
 *   errors of the sink; the reason of the signal if it aborts
 */
export async function downloadInto(
  sink: ByteSink,
  open: OpenContent,
  options: DownloadOptions,
): Promise<{ sizeBytes: number }> {
  const { signal, clock } = options;
  signal.throwIfAborted();
  const transfer = new Transfer(sink, open, options);
  const delayMs =
    options.computeDelayMs ?? ((breaks, error) => computeDelayAfterBreakMs(error, breaks, Math.random));
  const progressBytes = (options.minProgress ?? MIN_PROGRESS).bytes;
  let failuresAtOneOffset = 0;
  let slowFailures = 0;
  let progressFromBytes = 0;
  for (;;) {
    const furthestBefore = transfer.furthestBytes;
    const failure = await transfer.requestRest();
    if (failure === null) return { sizeBytes: sink.size };
    const furthestAfter = transfer.furthestBytes;
    failuresAtOneOffset = furthestAfter > furthestBefore ? 1 : failuresAtOneOffset + 1;
    slowFailures += 1;
    if (furthestAfter - progressFromBytes >= progressBytes) {
      progressFromBytes = furthestAfter;
      slowFailures = 1;
    }
    if (failuresAtOneOffset > MAX_FAILURES_AT_ONE_OFFSET) throw failure;
    if (slowFailures > MAX_SLOW_FAILURES) throw failure;
    await clock.sleep(delayMs(failuresAtOneOffset, failure), signal);
  }
}

const temporaryError = (
  message: string,
  code: "network_error" | "timeout" | "unexpected_response" = "network_error",
): AudioError => new AudioError(code, message, { retryable: true });

const stalledError = (): AudioError =>
  temporaryError("The audio came too slowly to go on waiting for it.", "timeout");

/**
 * Whether an error is harmless once all bytes are received. A wrong range, surplus bytes and a 416 that states no size
 * are not harmless, because the received bytes may be wrong. Any other error, such as a broken connection, is harmless.
 */
function isHarmlessAtEnd(error: AudioError): boolean {
  const stale = findStaleBytesError(error);
  return stale === null || stale.totalBytes !== null;
}

/** The state that the requests of one download share. */
class Transfer {
  readonly #sink: ByteSink;
  readonly #open: OpenContent;
  readonly #options: DownloadOptions;
  /**
   * The highest offset that any request has reached. A restart does not lower it, because bytes that are received again
   * are not progress.
   */
  furthestBytes = 0;
  /** The size of the whole audio, once an answer has stated it; `null` before. */
  #totalBytes: number | null = null;
  /** The strong entity tag of the audio that the sink holds; `null` if no answer had one. */
  #etag: string | null = null;
  /**
   * The size at which a request ended without proof that the audio is complete. If the next request ends at the same
   * size, the audio counts as complete.
   */
  #unconfirmedBytes: number | null = null;

  constructor(sink: ByteSink, open: OpenContent, options: DownloadOptions) {
    this.#sink = sink;
    this.#open = open;
    this.#options = options;
  }

  /**
   * Sends one request for the bytes that the sink lacks.
   *
   * @returns `null` if the audio is now complete; otherwise an error after which another request may succeed
   * @throws permanent errors, errors of the sink, or the reason of the signal
   */
  async requestRest(): Promise<AudioError | null> {
    let response: ContentResponse;
    try {
      response = await this.#open(this.#sink.size, this.#options.signal);
    } catch (error) {
      return await this.#afterFailure(error);
    }
    try {
      this.#options.signal.throwIfAborted();
      if (!this.#continuesSink(response)) {
        if (this.#sink.size > 0) await this.#startOver();
        // The sink is now empty. Only a body that begins at offset 0 fits. For any other body, return an error, so that
        // another request follows.
        if (response.start !== 0)
          return temporaryError("The service sent another part of the audio than was asked for.");
      }
      this.#totalBytes = response.totalBytes ?? this.#totalBytes;
      this.#etag = response.etag ?? this.#etag;
      this.#refuseTooLarge(this.#totalBytes ?? 0);
      const failure = await this.#writeBody(response.body);
      if (failure !== null) return await this.#afterFailure(failure);
      return this.#checkComplete(response);
    } finally {
      response.discard();
    }
  }

  /**
   * Whether an answer begins at the end of the sink, and contradicts neither the total size nor the entity tag that an
   * earlier answer stated. The bytes behind another entity tag are those of another audio.
   */
  #continuesSink({ start, totalBytes, etag = null }: ContentResponse): boolean {
    const agrees = <T>(stated: T | null, known: T | null): boolean =>
      stated === null || known === null || stated === known;
    return start === this.#sink.size && agrees(totalBytes, this.#totalBytes) && agrees(etag, this.#etag);
  }

  /**
   * Writes the body of a response to the sink.
   *
   * @returns the error that broke the body, or `null` at its end
   * @throws errors of the sink, `too_large`, or the reason of the abort
   */
  async #writeBody(body: AsyncIterable<Uint8Array>): Promise<unknown> {
    const { clock, signal, minProgress = MIN_PROGRESS } = this.#options;
    const chunks = body[Symbol.asyncIterator]();
    let leftMs = minProgress.withinMs;
    let sinceBytes = 0;
    for (;;) {
      // Count only the time spent waiting for bytes, because the service does not cause the delay of a slow disk.
      const askedAtMs = clock.steadyMs();
      let step: IteratorResult<Uint8Array>;
      try {
        step = await runWithTimeout({ clock, timeoutMs: leftMs, timeoutError: stalledError }, () =>
          chunks.next(),
        );
      } catch (error) {
        signal.throwIfAborted();
        return error;
      }
      leftMs -= clock.steadyMs() - askedAtMs;
      if (step.done === true) return null;
      const sizeAfter = this.#sink.size + step.value.byteLength;
      this.#refuseTooLarge(sizeAfter);
      if (this.#totalBytes !== null && sizeAfter > this.#totalBytes) {
        await this.#startOver();
        return temporaryError("The service sent more bytes than it announced.");
      }
      await this.#sink.write(step.value);
      this.furthestBytes = Math.max(this.furthestBytes, this.#sink.size);
      sinceBytes += step.value.byteLength;
      if (sinceBytes >= minProgress.bytes) {
        leftMs = minProgress.withinMs;
        sinceBytes = 0;
      }
    }
  }

  #checkComplete(response: ContentResponse): AudioError | null {
    const sizeBytes = this.#sink.size;
    if (sizeBytes === 0) return temporaryError("The service sent empty audio.", "unexpected_response");
    if (this.#totalBytes !== null) {
      return sizeBytes === this.#totalBytes
        ? null
        : temporaryError("The audio ended before its announced length.");
    }
    if (response.isEndUnmarked !== true || this.#unconfirmedBytes === sizeBytes) return null;
    // Return an error, so that another request asks for the bytes after this end. A 416 that states this size then
    // shows that the audio is complete.
    this.#unconfirmedBytes = sizeBytes;
    return temporaryError("The end of the audio could not be distinguished from a broken connection.");
  }

  /**
   * Returns `null` if the audio is complete despite the error. Returns the error if another request may succeed.
   *
   * @throws a permanent error
   */
  async #afterFailure(error: unknown): Promise<AudioError | null> {
    this.#options.signal.throwIfAborted();
    if (!(error instanceof AudioError)) throw error;
    const stale = findStaleBytesError(error);
    const sizeBytes = this.#sink.size;
    const knownBytes = this.#totalBytes ?? stale?.totalBytes ?? null;
    // All bytes have been received, so a later failure of the socket is irrelevant.
    if (sizeBytes > 0 && knownBytes === sizeBytes && isHarmlessAtEnd(error)) return null;
    if (stale !== null) {
      if (sizeBytes > 0) await this.#startOver();
      return error;
    }
    const decision = decideAfterFailure(error, 1, Math.random);
    if (decision.kind === "retry" || decision.kind === "unavailable") return error;
    throw error;
  }

  async #startOver(): Promise<void> {
    await this.#sink.restart();
    this.#totalBytes = null;
    this.#etag = null;
  }

  #refuseTooLarge(sizeBytes: number): void {
    if (sizeBytes <= this.#options.maxBytes) return;
    const mebibytes = Math.floor(this.#options.maxBytes / (1024 * 1024));
    throw new AudioError("too_large", `The audio is larger than ${mebibytes} MiB, so it was not saved.`);
  }
}
