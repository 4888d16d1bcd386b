/** Whole downloads over real sockets that break at a chosen byte. */
import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type DownloadOptions, downloadInto } from "../../src/api/download.ts";
import { computeDelayAfterBreakMs } from "../../src/api/retry.ts";
import type { ServiceClient } from "../../src/api/service.ts";
import { systemClock } from "../../src/clock.ts";
import type { AudioError } from "../../src/errors.ts";
import { failureOf } from "./failure.ts";
import { clientOf, closeAll, httpServer, never, rawServer } from "./loopback.ts";
import { MemorySink } from "./memory-sink.ts";

afterEach(closeAll);

const AUDIO = Buffer.concat([Buffer.from("ID3"), randomBytes(700_000)]);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function rangeOf(head: string): number {
  return Number(/^range: bytes=(\d+)-/im.exec(head)?.[1] ?? 0);
}

function headFor(fromByte: number, totalBytes = AUDIO.byteLength): string {
  const length = `content-type: application/octet-stream\r\ncontent-length: ${totalBytes - fromByte}\r\n`;
  return fromByte === 0
    ? `HTTP/1.1 200 OK\r\n${length}\r\n`
    : `HTTP/1.1 206 Partial\r\ncontent-range: bytes ${fromByte}-${totalBytes - 1}/${totalBytes}\r\n${length}\r\n`;
}

function download(service: ServiceClient, sink: MemorySink, changes: Partial<DownloadOptions> = {}) {
  return downloadInto(sink, (fromByte, signal) => service.openContent("task-1", fromByte, signal), {
    maxBytes: 64 * 1024 * 1024,
    clock: systemClock,
    signal: never(),
    computeDelayMs: () => 5,
    ...changes,
  });
}

/** Writes, waits until the bytes are sent, then ends the connection in the given way. */
function writeThen(socket: Socket, bytes: Uint8Array, end: (socket: Socket) => void): void {
  socket.write(bytes, () => setTimeout(() => end(socket), 20));
}

describe("a connection that breaks", () => {
  it.each([
    ["is reset", (socket: Socket) => socket.resetAndDestroy()],
    ["is closed", (socket: Socket) => socket.end()],
  ])("is resumed when it %s in the middle, three times over", async (_how, end) => {
    const requestedStarts: number[] = [];
    const { url } = await rawServer((socket, head, connection) => {
      const from = rangeOf(head);
      requestedStarts.push(from);
      socket.write(headFor(from));
      const until = connection <= 3 ? from + 150_000 : AUDIO.byteLength;
      writeThen(socket, AUDIO.subarray(from, until), connection <= 3 ? end : () => {});
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.writtenBytes).toBe(AUDIO.byteLength);
    expect(requestedStarts).toHaveLength(4);
    expect(requestedStarts).toEqual([...requestedStarts].sort((a, b) => a - b));
  });

  it("is resumed when chunks end too early", async () => {
    const { url } = await rawServer((socket, head, connection) => {
      const from = rangeOf(head);
      if (connection > 1) {
        socket.write(headFor(from));
        socket.write(AUDIO.subarray(from));
        return;
      }
      socket.write(
        "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n",
      );
      socket.write(`${(100_000).toString(16)}\r\n`);
      writeThen(socket, AUDIO.subarray(0, 60_000), (open) => open.end());
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
  });

  it("has delivered the bytes before invalid chunks, even in the same packet", async () => {
    const requestedStarts: number[] = [];
    const { url } = await rawServer((socket, head) => {
      const from = rangeOf(head);
      requestedStarts.push(from);
      const to = Math.min(from + 60_000, AUDIO.byteLength);
      const coded = headFor(from).replace(/content-length: .*/, "transfer-encoding: chunked");
      const after = to === AUDIO.byteLength ? "\r\n0\r\n\r\n" : "\r\nno length";
      const before = Buffer.from(`${coded}${(to - from).toString(16)}\r\n`);
      socket.write(Buffer.concat([before, AUDIO.subarray(from, to), Buffer.from(after)]));
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(requestedStarts).toHaveLength(Math.ceil(AUDIO.byteLength / 60_000));
  });

  it("is resumed after a silence", async () => {
    const { url } = await rawServer((socket, head, connection) => {
      const from = rangeOf(head);
      socket.write(headFor(from));
      socket.write(connection === 1 ? AUDIO.subarray(0, 1000) : AUDIO.subarray(from));
    });
    const sink = new MemorySink();
    await download(clientOf(url, { timeouts: { idleBodyMs: 150 } }), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.restarts).toBe(0);
  });

  it("ends no process and damages no audio when the peer closes under backpressure", async () => {
    const { url } = await rawServer((socket, head) => {
      const from = rangeOf(head);
      socket.write(headFor(from));
      socket.write(AUDIO.subarray(from), () => socket.destroy());
    });
    const sink = new MemorySink();
    const write = sink.write.bind(sink);
    // Simulates a slow disk, so that unread bytes remain when the connection breaks.
    sink.write = async (chunk) => {
      await systemClock.sleep(2);
      await write(chunk);
    };
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.writtenBytes).toBe(AUDIO.byteLength);
  });

  it("is an error when the body is always shorter than its length", async () => {
    const { url } = await rawServer((socket, head) => {
      const from = rangeOf(head);
      socket.end(Buffer.concat([Buffer.from(headFor(from)), AUDIO.subarray(from, Math.max(from, 5000))]));
    });
    const failure = await failureOf(download(clientOf(url), new MemorySink()));
    expect(failure).toMatchObject({ code: "network_error", retryable: true });
  });
});

describe("a service that handles ranges incorrectly", () => {
  it("delivers the whole audio when it answers 200 to a Range", async () => {
    const { url } = await rawServer((socket, _head, connection) => {
      socket.write(headFor(0));
      if (connection === 1) writeThen(socket, AUDIO.subarray(0, 300_000), (open) => open.resetAndDestroy());
      else socket.write(AUDIO);
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.restarts).toBe(1);
  });

  it("delivers it when it answers 416", async () => {
    const { url } = await rawServer((socket, _head, connection) => {
      if (connection === 2) {
        socket.end("HTTP/1.1 416 No\r\ncontent-range: bytes */5\r\ncontent-length: 0\r\n\r\n");
        return;
      }
      socket.write(headFor(0));
      if (connection === 1) writeThen(socket, AUDIO.subarray(0, 300_000), (open) => open.resetAndDestroy());
      else socket.write(AUDIO);
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
  });

  it("delivers it when it sends another range than the requested one", async () => {
    const { url } = await rawServer((socket, head, connection) => {
      socket.write(headFor(connection === 2 ? 17 : rangeOf(head)));
      if (connection === 1) writeThen(socket, AUDIO.subarray(0, 300_000), (open) => open.resetAndDestroy());
      else socket.write(connection === 2 ? AUDIO.subarray(17) : AUDIO);
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.restarts).toBe(1);
  });

  it("delivers it, verified by a 416, when only the end of the connection marks the end", async () => {
    const { url } = await rawServer((socket, head) => {
      if (rangeOf(head) === AUDIO.byteLength) {
        const size = AUDIO.byteLength;
        socket.end(`HTTP/1.1 416 No\r\ncontent-range: bytes */${size}\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\nconnection: close\r\n\r\n");
      socket.end(AUDIO);
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink);
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.restarts).toBe(0);
  });

  it.each(["connection: close", "transfer-encoding: identity"])(
    "delivers the rest when such a connection was in fact cut (%s)",
    async (header) => {
      const { url } = await rawServer((socket, head) => {
        const from = rangeOf(head);
        if (from > 0) {
          socket.write(headFor(from));
          socket.write(AUDIO.subarray(from));
          return;
        }
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n${header}\r\n\r\n`);
        socket.end(AUDIO.subarray(0, 400_000));
      });
      const sink = new MemorySink();
      await download(clientOf(url), sink);
      expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    },
  );
});

describe("too much or too slow", () => {
  it("stops an audio whose length says more than 64 MiB without reading it", async () => {
    const { url } = await rawServer((socket) => {
      socket.write(headFor(0, 64 * 1024 * 1024 + 1));
      socket.write("ID3");
    });
    const sink = new MemorySink();
    expect((await failureOf(download(clientOf(url), sink))).code).toBe("too_large");
    expect(sink.writtenBytes).toBe(0);
  });

  it("stops an audio that turns out to be too long", async () => {
    let sentBytes = 0;
    const { url } = await httpServer((_request, response) => {
      const piece = Buffer.alloc(64 * 1024);
      const more = (): void => {
        if (response.destroyed || sentBytes > 100 * 1024 * 1024) return;
        sentBytes += piece.byteLength;
        response.write(piece, more);
      };
      response.writeHead(200, { "content-type": "audio/mpeg" });
      more();
    });
    const sink = new MemorySink();
    const maxBytes = 1024 * 1024;
    expect((await failureOf(download(clientOf(url), sink, { maxBytes }))).code).toBe("too_large");
    expect(sink.writtenBytes).toBeLessThanOrEqual(maxBytes);
    expect(sentBytes).toBeLessThan(50 * 1024 * 1024);
  });

  /** Sends the bytes in chunks of `pieceBytes`, one every `everyMs`. */
  function drip(socket: Socket, bytes: Uint8Array, pieceBytes: number, everyMs: number): void {
    let at = 0;
    const timer = setInterval(() => {
      socket.write(bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
      if (at >= bytes.byteLength) clearInterval(timer);
    }, everyMs);
    socket.on("close", () => clearInterval(timer));
  }

  const LEAST = { bytes: 1000, withinMs: 300 };

  it("completes over a slow and steady link, however often the progress deadline passes meanwhile", async () => {
    const audio = AUDIO.subarray(0, 40_000);
    const requestedStarts: number[] = [];
    const { url } = await rawServer((socket, head) => {
      requestedStarts.push(rangeOf(head));
      socket.write(headFor(rangeOf(head), audio.byteLength));
      // Sends at ten times the minimum rate, because a busy machine may delay bytes. The body takes four seconds,
      // which is four times the progress deadline.
      drip(socket, audio.subarray(rangeOf(head)), 200, 20);
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink, { minProgress: { bytes: 1000, withinMs: 1000 } });
    expect([sha256(sink.bytes), requestedStarts]).toEqual([sha256(audio), [0]]);
  });

  it("resumes from the current offset when a connection gets too slow, and fetches no byte twice", async () => {
    const requestedStarts: number[] = [];
    const { url } = await rawServer((socket, head, connection) => {
      const from = rangeOf(head);
      requestedStarts.push(from);
      socket.write(headFor(from));
      if (connection > 3) {
        socket.write(AUDIO.subarray(from));
        return;
      }
      socket.write(AUDIO.subarray(from, from + 100_000));
      drip(socket, AUDIO.subarray(from + 100_000), 1, 20);
    });
    const sink = new MemorySink();
    await download(clientOf(url), sink, { minProgress: LEAST });
    expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
    expect(sink.writtenBytes).toBe(AUDIO.byteLength);
    expect(requestedStarts).toHaveLength(4);
    expect(requestedStarts[1]).toBeGreaterThan(100_000);
    expect(requestedStarts[3]).toBeGreaterThan(300_000);
  });

  it("does not count the disk's time as slowness of the connection", async () => {
    const requestedStarts: number[] = [];
    const { url } = await rawServer((socket, head) => {
      requestedStarts.push(rangeOf(head));
      socket.write(headFor(rangeOf(head)));
      socket.write(AUDIO.subarray(rangeOf(head)));
    });
    const sink = new MemorySink();
    const write = sink.write.bind(sink);
    let hasHung = false;
    sink.write = async (chunk) => {
      await write(chunk);
      if (!hasHung) await new Promise((resolve) => setTimeout(resolve, 2 * LEAST.withinMs));
      hasHung = true;
    };
    await download(clientOf(url), sink, { minProgress: { ...LEAST, bytes: 100_000 } });
    expect([sha256(sink.bytes), requestedStarts]).toEqual([sha256(AUDIO), [0]]);
  });

  it("ends a download of one byte at a time, although every attempt makes a little progress", async () => {
    let connections = 0;
    const { url } = await rawServer((socket, head) => {
      connections += 1;
      socket.write(headFor(rangeOf(head)));
      drip(socket, AUDIO.subarray(rangeOf(head)), 1, 10);
    });
    const service = clientOf(url, { timeouts: { idleBodyMs: 1000 } });
    const minProgress = { bytes: 1000, withinMs: 50 };
    const failure = await failureOf(download(service, new MemorySink(), { minProgress }));
    expect(failure).toMatchObject({ code: "timeout", retryable: true });
    expect(connections).toBeLessThan(50);
  });
});

it("waits after a 503 for as long as the service asks, and resumes", async () => {
  const requestedStarts: Array<[from: number, atMs: number]> = [];
  const { url } = await rawServer((socket, head, connection) => {
    const from = rangeOf(head);
    requestedStarts.push([from, performance.now()]);
    if (connection === 2) {
      socket.end("HTTP/1.1 503 No\r\nretry-after: 2\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    socket.write(headFor(from));
    if (connection === 1) writeThen(socket, AUDIO.subarray(0, 200_000), (open) => open.resetAndDestroy());
    else socket.write(AUDIO.subarray(from));
  });
  const sink = new MemorySink();
  const pauses: number[] = [];
  const computeDelayMs = (breaks: number, error: AudioError): number => {
    pauses.push(computeDelayAfterBreakMs(error, breaks, () => 0));
    return (pauses.at(-1) ?? 0) / 10;
  };
  await download(clientOf(url), sink, { computeDelayMs });
  expect(sha256(sink.bytes)).toBe(sha256(AUDIO));
  expect(sink.writtenBytes).toBe(AUDIO.byteLength);
  // The first wait is the shortest backoff. The second is the Retry-After of the 503.
  expect(pauses).toEqual([1000, 2000]);
  const [, [, refusedAtMs = 0] = [], [, thirdAtMs = 0] = []] = requestedStarts;
  expect(thirdAtMs - refusedAtMs).toBeGreaterThanOrEqual(200);
});

it("passes a 409 not_ready to its caller", async () => {
  const { url } = await httpServer((_request, response) => {
    response.writeHead(409).end(JSON.stringify({ error: { code: "not_ready", message: "Soon." } }));
  });
  expect((await failureOf(download(clientOf(url), new MemorySink()))).code).toBe("not_ready");
});
