/** Whole downloads over real sockets that break at a chosen byte. */
import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type DownloadOptions, downloadInto } from "../../src/api/download.ts";
import type { ServiceClient } from "../../src/api/service.ts";
import { systemClock } from "../../src/clock.ts";
import { clientOf, closeAll, never, rawServer } from "./loopback.ts";
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

it("a connection that breaks has delivered the bytes before invalid chunks, even in the same packet", async () => {
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

describe("too much or too slow", () => {
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
});
