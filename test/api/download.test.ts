/** Downloads against handwritten and random responses: the result is the exact bytes, or an error. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ContentResponse } from "../../src/api/content.ts";
import { type DownloadOptions, downloadInto } from "../../src/api/download.ts";
import { StaleBytesError } from "../../src/api/network-error.ts";
import { systemClock } from "../../src/clock.ts";
import { AudioError } from "../../src/errors.ts";
import { failureOf } from "./failure.ts";
import { never } from "./loopback.ts";
import { MemorySink } from "./memory-sink.ts";

const options = (changes: Partial<DownloadOptions> = {}): DownloadOptions => ({
  maxBytes: 64 * 1024 * 1024,
  clock: systemClock,
  signal: never(),
  computeDelayMs: () => 0,
  ...changes,
});

const AUDIO = Buffer.from("ID3 0123456789 abcdefghij");
const reset = (): AudioError => new AudioError("network_error", "reset", { retryable: true });
const stale = (totalBytes: number | null = null): AudioError =>
  new AudioError("unexpected_response", "416", {
    retryable: true,
    cause: new StaleBytesError("416", totalBytes),
  });

async function* bodyOf(bytes: Uint8Array, failure?: unknown, pieceBytes = 7): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  if (failure !== undefined) throw failure;
}

function part(
  start: number,
  bytes: Uint8Array,
  changes: Partial<ContentResponse> & { failure?: unknown } = {},
) {
  const { failure, ...rest } = changes;
  return { start, totalBytes: AUDIO.byteLength, body: bodyOf(bytes, failure), discard: () => {}, ...rest };
}

type Step = (fromByte: number) => ContentResponse;

/** Returns an `open` that plays one step a call, repeats the last step, and records the requested offsets. */
function script(...steps: Step[]): {
  open: (fromByte: number) => Promise<ContentResponse>;
  requestedStarts: number[];
} {
  const requestedStarts: number[] = [];
  const open = async (fromByte: number): Promise<ContentResponse> => {
    requestedStarts.push(fromByte);
    const step = steps[Math.min(requestedStarts.length, steps.length) - 1];
    if (step === undefined) throw new Error("nothing scripted");
    return step(fromByte);
  };
  return { open, requestedStarts };
}

const throwing =
  (make: () => unknown): Step =>
  () => {
    throw make();
  };
const rest: Step = (fromByte) => part(fromByte, AUDIO.subarray(fromByte));
const cutAt =
  (end: number): Step =>
  (fromByte) =>
    part(fromByte, AUDIO.subarray(fromByte, end), { failure: reset() });

describe("a download", () => {
  it.each([
    ["another offset", part(7, AUDIO.subarray(7))],
    ["another total", part(10, AUDIO.subarray(10), { totalBytes: 1000 })],
  ])("starts over after a range of %s", async (_what, misfit) => {
    const sink = new MemorySink();
    const { open, requestedStarts } = script(cutAt(10), () => misfit, rest);
    await downloadInto(sink, open, options());
    expect(sink.bytes.equals(AUDIO)).toBe(true);
    expect(requestedStarts).toEqual([0, 10, 0]);
  });

  it("starts over if the rest has another entity tag, because it is the rest of another audio", async () => {
    const sink = new MemorySink();
    const tagged: Step = (from) => part(from, AUDIO.subarray(from, 10), { failure: reset(), etag: '"a"' });
    const other: Step = (from) => part(from, AUDIO.subarray(from), { etag: '"b"' });
    const { open, requestedStarts } = script(tagged, other, other);
    await downloadInto(sink, open, options());
    expect(sink.bytes.equals(AUDIO)).toBe(true);
    expect(requestedStarts).toEqual([0, 10, 0]);
  });

  it("forgets the size of an audio that it starts over", async () => {
    const other = Buffer.from("ID3 shorter");
    const sink = new MemorySink();
    const whole = (): ContentResponse => part(0, other, { totalBytes: null });
    expect(await downloadInto(sink, script(cutAt(10), whole).open, options())).toEqual({ sizeBytes: 11 });
    expect(sink.bytes.equals(other)).toBe(true);
  });

  it("is complete once the announced bytes have arrived, whatever the socket does afterwards", async () => {
    const sink = new MemorySink();
    const { open, requestedStarts } = script(() => part(0, AUDIO, { failure: reset() }));
    expect(await downloadInto(sink, open, options())).toEqual({ sizeBytes: AUDIO.byteLength });
    expect(requestedStarts).toEqual([0]);
  });

  it.each(["not_ready", "not_found", "invalid_api_key", "rate_limit"] as const)(
    "passes %s to its caller at once",
    async (code) => {
      const { open, requestedStarts } = script(
        throwing(() => new AudioError(code, "no", { retryable: true })),
      );
      expect((await failureOf(downloadInto(new MemorySink(), open, options()))).code).toBe(code);
      expect(requestedStarts).toEqual([0]);
    },
  );

  it("gives up after repeated failures without progress, with the last error", async () => {
    const { open, requestedStarts } = script(cutAt(10));
    const failure = await failureOf(downloadInto(new MemorySink(), open, options()));
    expect(failure).toMatchObject({ code: "network_error", retryable: true });
    expect(requestedStarts).toEqual([0, 10, 10, 10, 10, 10]);
  });

  it("does not count starting over as progress", async () => {
    const sink = new MemorySink();
    // This service ignores ranges, and its connections always break at the same byte.
    const { open, requestedStarts } = script(() => part(0, AUDIO.subarray(0, 10), { failure: reset() }));
    await failureOf(downloadInto(sink, open, options()));
    expect(requestedStarts).toHaveLength(6);
  });

  it("pauses longer after each failure without progress", async () => {
    const pauses: number[] = [];
    const computeDelayMs = (breaks: number): number => {
      pauses.push(breaks);
      return 0;
    };
    const { open } = script(cutAt(4), cutAt(4), cutAt(4), cutAt(9), cutAt(9), rest);
    await downloadInto(new MemorySink(), open, options({ computeDelayMs }));
    expect(pauses).toEqual([1, 2, 3, 1, 2]);
  });
});

describe("too large an audio", () => {
  it("is refused by its announced length, before a byte is written", async () => {
    const sink = new MemorySink();
    let isDiscarded = false;
    const discard = (): void => {
      isDiscarded = true;
    };
    const { open, requestedStarts } = script(() => part(0, AUDIO, { totalBytes: 101, discard }));
    const failure = await failureOf(downloadInto(sink, open, options({ maxBytes: 100 })));
    expect(failure).toMatchObject({ code: "too_large", retryable: false });
    expect([sink.writtenBytes, requestedStarts.length, isDiscarded]).toEqual([0, 1, true]);
  });

  it("is stopped during the transfer if no length was announced", async () => {
    const sink = new MemorySink();
    const { open } = script(() => part(0, AUDIO, { totalBytes: null }));
    expect((await failureOf(downloadInto(sink, open, options({ maxBytes: 15 })))).code).toBe("too_large");
    expect(sink.writtenBytes).toBeLessThanOrEqual(15);
  });

  it("may have exactly the maximum size", async () => {
    const { open } = script(rest);
    await downloadInto(new MemorySink(), open, options({ maxBytes: AUDIO.byteLength }));
  });
});

describe("an audio of unknown size", () => {
  const whole = (): ContentResponse => part(0, AUDIO, { totalBytes: null });
  const unmarked = (): ContentResponse => part(0, AUDIO, { totalBytes: null, isEndUnmarked: true });

  it("is complete at the end of its chunks", async () => {
    const { open, requestedStarts } = script(whole);
    expect(await downloadInto(new MemorySink(), open, options())).toEqual({ sizeBytes: AUDIO.byteLength });
    expect(requestedStarts).toEqual([0]);
  });

  it("is queried for more bytes when only the connection's end marks its own, and a 416 confirms the size", async () => {
    const sink = new MemorySink();
    const { open, requestedStarts } = script(
      unmarked,
      throwing(() => stale(AUDIO.byteLength)),
    );
    expect(await downloadInto(sink, open, options())).toEqual({ sizeBytes: AUDIO.byteLength });
    expect([requestedStarts, sink.restarts]).toEqual([[0, AUDIO.byteLength], 0]);
  });

  it("continues when more bytes follow", async () => {
    const sink = new MemorySink();
    const cut = (): ContentResponse =>
      part(0, AUDIO.subarray(0, 12), { totalBytes: null, isEndUnmarked: true });
    await downloadInto(sink, script(cut, rest).open, options());
    expect(sink.bytes.equals(AUDIO)).toBe(true);
  });

  it("is accepted when two transfers have the same length", async () => {
    const sink = new MemorySink();
    const { open, requestedStarts } = script(unmarked);
    await downloadInto(sink, open, options());
    expect(sink.bytes.equals(AUDIO)).toBe(true);
    expect(requestedStarts).toEqual([0, AUDIO.byteLength]);
  });
});

describe("time and signals", () => {
  /** Yields one byte every 5 ms, for ever. */
  async function* drip(): AsyncGenerator<Uint8Array> {
    for (;;) {
      await systemClock.sleep(5);
      yield Buffer.from("x");
    }
  }

  it("aborts a body that arrives too slowly, and gives up if every attempt is too slow", async () => {
    let discarded = 0;
    const discard = (): void => {
      discarded += 1;
    };
    const { open, requestedStarts } = script((start) => ({
      start,
      totalBytes: 1_000_000,
      body: drip(),
      discard,
    }));
    const minProgress = { bytes: 1000, withinMs: 20 };
    const sink = new MemorySink();
    const failure = await failureOf(downloadInto(sink, open, options({ minProgress })));
    expect(failure).toMatchObject({ code: "timeout", retryable: true });
    expect(discarded).toBe(requestedStarts.length);
    expect([sink.restarts, requestedStarts.at(-1)]).toEqual([0, expect.any(Number)]);
    expect(requestedStarts).toEqual([...requestedStarts].sort((one, other) => one - other));
  });

  it("drops a response that arrives after the caller has cancelled", async () => {
    let isDiscarded = false;
    const left = new AbortController();
    const open = async (): Promise<ContentResponse> => {
      left.abort(new Error("left"));
      return part(0, AUDIO, {
        discard: () => {
          isDiscarded = true;
        },
      });
    };
    const sink = new MemorySink();
    await expect(downloadInto(sink, open, options({ signal: left.signal }))).rejects.toThrow("left");
    expect([isDiscarded, sink.writtenBytes]).toEqual([true, 0]);
  });

  it("rejects with the caller's reason, in a body and in a pause", async () => {
    const reason = new Error("left");
    const soon = (): AbortSignal => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), 20);
      return controller.signal;
    };
    const dripping = script(() => ({ start: 0, totalBytes: 1000, body: drip(), discard: () => {} }));
    const signal = soon();
    await expect(downloadInto(new MemorySink(), dripping.open, options({ signal }))).rejects.toBe(reason);
    const paused = options({ signal: soon(), computeDelayMs: () => 10_000 });
    await expect(downloadInto(new MemorySink(), script(cutAt(3)).open, paused)).rejects.toBe(reason);
    await expect(
      downloadInto(new MemorySink(), script(rest).open, options({ signal: AbortSignal.abort(reason) })),
    ).rejects.toBe(reason);
  });

  it("does not report a full disk as a broken connection", async () => {
    const full = Object.assign(new Error("full"), { code: "ENOSPC" });
    const sink = new MemorySink();
    sink.write = () => Promise.reject(full);
    const { open, requestedStarts } = script(rest);
    await expect(downloadInto(sink, open, options())).rejects.toBe(full);
    expect(requestedStarts).toEqual([0]);
  });
});

describe("at random", () => {
  const size = AUDIO.byteLength;
  const offset = fc.nat({ max: size });
  /** Generates one answer of the service. */
  const behaviour = fc.oneof(
    fc.record({ kind: fc.constant("cut" as const), at: offset }),
    fc.record({ kind: fc.constant("short" as const), at: offset }),
    fc.record({ kind: fc.constant("whole" as const), at: offset }),
    fc.record({ kind: fc.constant("shifted" as const), at: offset }),
    fc.record({ kind: fc.constant("surplus" as const), at: offset }),
    fc.record({ kind: fc.constant("refused" as const), at: offset }),
    fc.record({ kind: fc.constant("reset" as const), at: offset }),
    fc.record({ kind: fc.constant("good" as const), at: offset }),
  );

  const respond = (from: number, kind: string, at: number, pieceBytes: number): ContentResponse => {
    const end = Math.max(from, at);
    const make = (start: number, bytes: Uint8Array, failure?: unknown): ContentResponse => ({
      start,
      totalBytes: size,
      body: bodyOf(bytes, failure, pieceBytes),
      discard: () => {},
    });
    switch (kind) {
      case "cut":
        return make(from, AUDIO.subarray(from, end), reset());
      case "short":
        return make(from, AUDIO.subarray(from, end));
      case "whole":
        return make(0, AUDIO.subarray(0, at), reset());
      case "shifted":
        return make(Math.min(at, size - 1), AUDIO.subarray(Math.min(at, size - 1)));
      case "surplus":
        return make(from, Buffer.concat([AUDIO.subarray(from), Buffer.from("surplus")]));
      case "refused":
        throw stale();
      case "reset":
        throw reset();
      default:
        return make(from, AUDIO.subarray(from));
    }
  };

  it("yields exactly the audio, or an error, and counts no byte twice without starting over", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(behaviour, { maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        async (behaviours, pieceBytes) => {
          const sink = new MemorySink();
          let calls = 0;
          const open = async (from: number): Promise<ContentResponse> => {
            expect(from).toBe(sink.size);
            const { kind, at } = behaviours[calls] ?? { kind: "good", at: 0 };
            calls += 1;
            return respond(from, kind, at, pieceBytes);
          };
          const result = await downloadInto(sink, open, options()).catch((error: unknown) => error);
          if (result instanceof AudioError) {
            // A download survives five failures in a row, so these tests script more than five.
            expect(behaviours.length).toBeGreaterThan(5);
            return;
          }
          expect(result).toEqual({ sizeBytes: size });
          expect(sink.bytes.equals(AUDIO)).toBe(true);
          if (sink.restarts === 0) expect(sink.writtenBytes).toBe(size);
        },
      ),
      { numRuns: 500 },
    );
  });
});
