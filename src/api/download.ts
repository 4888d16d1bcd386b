/** Brings one audio into a sink: resumes after every break, starts over where it must, and stops where nothing moves. */
import type { Clock } from "../clock.ts";
import { withDeadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { staleBytes } from "./causes.ts";
import type { ContentResponse } from "./content.ts";
import { decideRead, pauseAfterBreakMs } from "./retry.ts";

/** Where the bytes go. */
export interface ByteSink {
  /** Bytes written since the start or the last restart. */
  readonly size: number;
  write(chunk: Uint8Array): Promise<void>;
  /** Back to 0 bytes. */
  restart(): Promise<void>;
}

/** Opens the audio at an offset. An abort of `signal` ends the request, and the body that it gave. */
export type OpenContent = (fromByte: number, signal: AbortSignal) => Promise<ContentResponse>;

/** The least that counts as coming forward. */
interface LeastProgress {
  readonly bytes: number;
  readonly withinMs: number;
}

/**
 * 1 KiB a second, measured over a minute. Every link that people still use (2G brings four times as much) gets
 * through however long it takes, and a peer that hands out single bytes does not.
 */
const MIN_PROGRESS: LeastProgress = { bytes: 64 * 1024, withinMs: 64_000 };

/** How often in a row an attempt may end without a byte that no attempt before it had brought. */
const MAX_BREAKS_AT_ONE_BYTE = 5;
/** How often in a row attempts may break before they have together brought {@link LeastProgress.bytes}. */
const MAX_BREAKS_WITHIN_A_STRETCH = 30;

export interface DownloadOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The caller's: aborts with its reason. */
  readonly signal: AbortSignal;
  /** A body that brings fewer bytes than these in this time is broken off, and asked for again from there. */
  readonly leastProgress?: LeastProgress;
  /**
   * How long to wait after a break.
   *
   * @param breaks 1 for the first in a row that brought nothing new
   * @param error what the break was: a 503 may say how long to wait
   */
  readonly pauseMs?: (breaks: number, error: AudioError) => number;
}

/**
 * Brings the whole audio into the sink, or throws: exact bytes or an error. There is no limit on the whole time,
 * because a slow link must get through; what is limited is standing still (see {@link LeastProgress}) and the
 * number of breaks.
 *
 * @throws AudioError `too_large`, `timeout`, `network_error`, `unexpected_response`, whatever `open` throws that a
 *   repeat would not mend, or what the sink throws; the reason of the signal when it aborts
 */
export async function downloadInto(
  sink: ByteSink,
  open: OpenContent,
  options: DownloadOptions,
): Promise<{ sizeBytes: number }> {
  const { signal, clock } = options;
  signal.throwIfAborted();
  const transfer = new Transfer(sink, open, options);
  const pauseMs = options.pauseMs ?? ((breaks, error) => pauseAfterBreakMs(error, breaks, Math.random));
  const stretchBytes = (options.leastProgress ?? MIN_PROGRESS).bytes;
  let breaksAtOneByte = 0;
  let breaksWithinStretch = 0;
  let stretchFrom = 0;
  for (;;) {
    const furthestBefore = transfer.furthestBytes;
    const failure = await transfer.attempt();
    if (failure === null) return { sizeBytes: sink.size };
    const furthest = transfer.furthestBytes;
    breaksAtOneByte = furthest > furthestBefore ? 1 : breaksAtOneByte + 1;
    breaksWithinStretch += 1;
    if (furthest - stretchFrom >= stretchBytes) {
      stretchFrom = furthest;
      breaksWithinStretch = 1;
    }
    if (breaksAtOneByte > MAX_BREAKS_AT_ONE_BYTE) throw failure;
    if (breaksWithinStretch > MAX_BREAKS_WITHIN_A_STRETCH) throw failure;
    await clock.sleep(pauseMs(breaksAtOneByte, failure), signal);
  }
}

const broken = (message: string): AudioError => new AudioError("network_error", message, { retryable: true });

const stalled = (): AudioError =>
  new AudioError("timeout", "The audio came too slowly to go on waiting for it.", { retryable: true });

const emptyAudio = (): AudioError =>
  new AudioError("unexpected_response", "The service sent an empty audio.", { retryable: true });

/** A break of the connection, or a 416 for what comes after the last byte; surplus bytes are no such thing. */
function isHarmlessAtEnd(error: AudioError): boolean {
  const stale = staleBytes(error);
  return stale === null || stale.totalBytes !== null;
}

/** The state that a download keeps between attempts. */
class Transfer {
  readonly #sink: ByteSink;
  readonly #open: OpenContent;
  readonly #options: DownloadOptions;
  /** The most bytes that any attempt got to: starting over is no progress. */
  furthestBytes = 0;
  /** Size of the whole, as soon as an answer states it. */
  #totalBytes: number | null = null;
  /** Size of a whole body whose end nothing confirmed; the same size twice is believed. */
  #unconfirmedBytes: number | null = null;

  constructor(sink: ByteSink, open: OpenContent, options: DownloadOptions) {
    this.#sink = sink;
    this.#open = open;
    this.#options = options;
  }

  /**
   * One request, from where the sink ends.
   *
   * @returns `null` when everything is here, else what broke and another attempt may mend
   * @throws what another attempt would not mend
   */
  async attempt(): Promise<AudioError | null> {
    let response: ContentResponse;
    try {
      response = await this.#open(this.#sink.size, this.#options.signal);
    } catch (error) {
      return await this.#afterFailure(error);
    }
    try {
      this.#options.signal.throwIfAborted();
      if (!this.#fits(response)) {
        if (this.#sink.size > 0) await this.#startOver();
        // A body that begins at 0 is of use as it is; any other has to be asked for again.
        if (response.start !== 0)
          return broken("The service sent another part of the audio than was asked for.");
      }
      this.#totalBytes = response.totalBytes ?? this.#totalBytes;
      this.#refuseTooLarge(this.#totalBytes ?? 0);
      const failure = await this.#pour(response.body);
      if (failure !== null) return await this.#afterFailure(failure);
      return this.#judgeEnd(response);
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

  /**
   * Writes a body to the sink.
   *
   * @returns what broke the body, or `null` at its end
   * @throws whatever the sink throws, `too_large`, or the reason of the abort
   */
  async #pour(body: AsyncIterable<Uint8Array>): Promise<unknown> {
    const { clock, signal, leastProgress = MIN_PROGRESS } = this.#options;
    const chunks = body[Symbol.asyncIterator]();
    let leftMs = leastProgress.withinMs;
    let sinceBytes = 0;
    for (;;) {
      // Only the waiting counts: the service is not to blame for the time that the disk takes.
      const askedAtMs = clock.steadyMs();
      let step: IteratorResult<Uint8Array>;
      try {
        step = await withDeadline({ clock, ms: leftMs, late: stalled }, () => chunks.next());
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
        return broken("The service sent more bytes than it announced.");
      }
      await this.#sink.write(step.value);
      this.furthestBytes = Math.max(this.furthestBytes, this.#sink.size);
      sinceBytes += step.value.byteLength;
      if (sinceBytes >= leastProgress.bytes) {
        leftMs = leastProgress.withinMs;
        sinceBytes = 0;
      }
    }
  }

  #judgeEnd(response: ContentResponse): AudioError | null {
    const sizeBytes = this.#sink.size;
    if (sizeBytes === 0) return emptyAudio();
    if (this.#totalBytes !== null) {
      return sizeBytes === this.#totalBytes ? null : broken("The audio ended before its announced length.");
    }
    if (response.isEndUnmarked !== true || this.#unconfirmedBytes === sizeBytes) return null;
    // Only a request for the bytes behind it distinguishes an end from a cut: a 416 states the size.
    this.#unconfirmedBytes = sizeBytes;
    return broken("The end of the audio could not be told from a broken connection.");
  }

  /** Sorts a failure: everything is here all the same (`null`), worth another attempt, or final (thrown). */
  async #afterFailure(error: unknown): Promise<AudioError | null> {
    this.#options.signal.throwIfAborted();
    if (!(error instanceof AudioError)) throw error;
    const stale = staleBytes(error);
    const sizeBytes = this.#sink.size;
    const knownBytes = this.#totalBytes ?? stale?.totalBytes ?? null;
    // All bytes are here: what the socket did afterwards does not matter.
    if (sizeBytes > 0 && knownBytes === sizeBytes && isHarmlessAtEnd(error)) return null;
    if (stale !== null) {
      if (sizeBytes > 0) await this.#startOver();
      return error;
    }
    const decision = decideRead(error, 1, Math.random);
    if (decision.kind === "retry" || decision.kind === "unavailable") return error;
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
}
