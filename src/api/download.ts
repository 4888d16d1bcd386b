/** Owns the transfer of one audio into a sink: resuming, starting over, counting; knows neither sockets nor files. */
import type { Clock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import { staleBytes } from "./causes.ts";
import type { ContentResponse } from "./content.ts";
import { releaseBytes } from "./release-bytes.ts";
import { backoffMs, decideRead } from "./retry.ts";

/** Where the bytes go. */
export interface ByteSink {
  /** Bytes written since the start or the last restart. */
  readonly size: number;
  write(chunk: Uint8Array): Promise<void>;
  /** Back to 0 bytes. */
  restart(): Promise<void>;
}

/** Opens the audio at an offset; `signal` aborts when the download's own deadline passes. */
export type OpenContent = (fromByte: number, signal: AbortSignal) => Promise<ContentResponse>;

export interface DownloadOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The caller's: aborts with its reason. */
  readonly signal: AbortSignal;
  /** For everything, waits included. */
  readonly totalDeadlineMs: number;
  /** How often in a row an attempt may end without getting further than any before it. Default 5. */
  readonly maxBreaks?: number;
  /** How long to wait after the n-th such break (1 is the first). Default: jittered, 1 s to 30 s. */
  readonly pauseMs?: (breaks: number) => number;
}

const DEFAULT_MAX_BREAKS = 5;

/**
 * Brings the whole audio into the sink, or throws: exact bytes or an error (design 6.7).
 *
 * @throws AudioError `too_large`, `timeout`, `network_error`, `unexpected_response`, whatever `open` throws that a
 *   repeat would not mend, or what the sink throws; the reason of the signal when it aborts
 */
export async function downloadInto(
  sink: ByteSink,
  open: OpenContent,
  options: DownloadOptions,
): Promise<{ sizeBytes: number }> {
  options.signal.throwIfAborted();
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(options.signal.reason);
  options.signal.addEventListener("abort", onAbort, { once: true });
  const timer = new AbortController();
  options.clock.sleep(options.totalDeadlineMs, timer.signal).then(
    () => stop.abort(overdue(options.totalDeadlineMs)),
    () => {},
  );
  try {
    return await new Transfer(sink, open, options, stop.signal).run();
  } finally {
    timer.abort();
    options.signal.removeEventListener("abort", onAbort);
    // Anything still under way on our behalf ends with us.
    stop.abort(new AudioError("network_error", "The download is over."));
  }
}

function overdue(totalDeadlineMs: number): AudioError {
  const minutes = Math.max(1, Math.round(totalDeadlineMs / 60_000));
  return new AudioError("timeout", `The audio could not be transferred within ${minutes} min.`, {
    retryable: true,
  });
}

const broken = (message: string): AudioError => new AudioError("network_error", message, { retryable: true });

/** What ended one attempt: everything is here, or a failure that another attempt may mend. */
type Outcome = { readonly kind: "complete" } | { readonly kind: "broken"; readonly error: AudioError };

class Transfer {
  readonly #sink: ByteSink;
  readonly #open: OpenContent;
  readonly #options: DownloadOptions;
  readonly #signal: AbortSignal;
  readonly #aborted: Promise<never>;
  /** Size of the whole, as soon as an answer has told it. */
  #totalBytes: number | null = null;
  /** The most bytes that any attempt got to. */
  #furthestBytes = 0;
  /** Size of a whole body whose end nothing confirmed; the same size twice is believed. */
  #unconfirmedBytes: number | null = null;

  constructor(sink: ByteSink, open: OpenContent, options: DownloadOptions, signal: AbortSignal) {
    this.#sink = sink;
    this.#open = open;
    this.#options = options;
    this.#signal = signal;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    this.#aborted.catch(() => {});
  }

  async run(): Promise<{ sizeBytes: number }> {
    let breaks = 0;
    for (;;) {
      const furthestBefore = this.#furthestBytes;
      const outcome = await this.#attempt();
      if (outcome.kind === "complete") return { sizeBytes: this.#sink.size };
      breaks = this.#furthestBytes > furthestBefore ? 1 : breaks + 1;
      if (breaks > (this.#options.maxBreaks ?? DEFAULT_MAX_BREAKS)) throw outcome.error;
      const pauseMs = this.#options.pauseMs?.(breaks) ?? backoffMs(breaks, Math.random);
      await this.#unlessAborted(this.#options.clock.sleep(pauseMs, this.#signal));
    }
  }

  async #attempt(): Promise<Outcome> {
    let response: ContentResponse;
    try {
      response = await this.#openAtEnd();
    } catch (error) {
      return await this.#afterFailure(error);
    }
    try {
      if (!this.#fits(response)) {
        if (this.#sink.size > 0) await this.#startOver();
        // A body that begins at 0 is of use as it is; any other has to be asked for again.
        if (response.start !== 0) {
          return {
            kind: "broken",
            error: broken("The service sent another part of the audio than was asked for."),
          };
        }
      }
      this.#totalBytes = response.totalBytes ?? this.#totalBytes;
      this.#refuseTooLarge(this.#totalBytes ?? 0);
      const failure = await this.#pour(response.body);
      if (failure !== null) return await this.#afterFailure(failure);
      return await this.#judgeEnd(response);
    } finally {
      response.discard();
    }
  }

  /** Whether an answer goes on exactly where the sink ends, in an audio of the size known so far. */
  #fits(response: ContentResponse): boolean {
    const isSameAudio =
      response.totalBytes === null || this.#totalBytes === null || response.totalBytes === this.#totalBytes;
    return response.start === this.#sink.size && isSameAudio;
  }

  /** Opens; an answer that comes after the end of the download is dropped. */
  async #openAtEnd(): Promise<ContentResponse> {
    const opening = this.#open(this.#sink.size, this.#signal);
    opening.then(
      (late) => this.#signal.aborted && late.discard(),
      () => {},
    );
    return await this.#unlessAborted(opening);
  }

  /**
   * Writes a body to the sink.
   *
   * @returns what broke the body, or `null` at its end
   * @throws whatever the sink throws, `too_large`, or the reason of the abort
   */
  async #pour(body: AsyncIterable<Uint8Array>): Promise<unknown> {
    const chunks = body[Symbol.asyncIterator]();
    for (;;) {
      let step: IteratorResult<Uint8Array>;
      try {
        step = await this.#unlessAborted(chunks.next());
      } catch (error) {
        this.#signal.throwIfAborted();
        return error;
      }
      if (step.done === true) return null;
      const sizeAfter = this.#sink.size + step.value.byteLength;
      this.#refuseTooLarge(sizeAfter);
      if (this.#totalBytes !== null && sizeAfter > this.#totalBytes) {
        await this.#startOver();
        return broken("The service sent more bytes than it announced.");
      }
      await this.#sink.write(step.value);
      releaseBytes(step.value);
      this.#furthestBytes = Math.max(this.#furthestBytes, this.#sink.size);
    }
  }

  async #judgeEnd(response: ContentResponse): Promise<Outcome> {
    const sizeBytes = this.#sink.size;
    if (sizeBytes === 0) return { kind: "broken", error: emptyAudio() };
    if (this.#totalBytes !== null) {
      if (sizeBytes === this.#totalBytes) return { kind: "complete" };
      return { kind: "broken", error: broken("The audio ended before its announced length.") };
    }
    if (response.isEndUnmarked !== true || this.#unconfirmedBytes === sizeBytes) return { kind: "complete" };
    // Only asking for what comes after can tell an end from a cut: a 416 states the size.
    this.#unconfirmedBytes = sizeBytes;
    return {
      kind: "broken",
      error: broken("The end of the audio could not be told from a broken connection."),
    };
  }

  /** Sorts a failure of the network: done all the same, worth another attempt, or final (thrown). */
  async #afterFailure(error: unknown): Promise<Outcome> {
    this.#signal.throwIfAborted();
    if (!(error instanceof AudioError)) throw error;
    const stale = staleBytes(error);
    const sizeBytes = this.#sink.size;
    const knownBytes = this.#totalBytes ?? stale?.totalBytes ?? null;
    // All bytes are here: what the socket did afterwards does not matter.
    if (sizeBytes > 0 && knownBytes === sizeBytes && isHarmlessAtEnd(error)) return { kind: "complete" };
    if (stale !== null) {
      if (sizeBytes > 0) await this.#startOver();
      return { kind: "broken", error };
    }
    const decision = decideRead(error, 1, Math.random);
    if (decision.kind === "retry" || decision.kind === "unavailable") return { kind: "broken", error };
    throw error;
  }

  async #startOver(): Promise<void> {
    await this.#sink.restart();
    this.#totalBytes = null;
  }

  #refuseTooLarge(sizeBytes: number): void {
    if (sizeBytes <= this.#options.maxBytes) return;
    const mebibytes = Math.floor(this.#options.maxBytes / (1024 * 1024));
    throw new AudioError("too_large", `The audio is larger than ${mebibytes} MiB, so it was not saved.`, {
      remedy:
        "The task and its audio are kept by the service: fetch the content endpoint of this task id with another program.",
    });
  }

  #unlessAborted<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#aborted]);
  }
}

const emptyAudio = (): AudioError =>
  new AudioError("unexpected_response", "The service sent an empty audio.", { retryable: true });

/** A break of the connection, or a 416 for what comes after the last byte; surplus bytes are no such thing. */
function isHarmlessAtEnd(error: AudioError): boolean {
  const stale = staleBytes(error);
  return stale === null || stale.totalBytes !== null;
}
