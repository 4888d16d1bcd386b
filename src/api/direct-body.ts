/** The body of an answer of Node's HTTP client: handed on chunk by chunk, held back when nobody takes it, freed at once. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { releaseBytes } from "./content.ts";

/** So many chunks of up to 64 KiB may wait for their reader before the socket stands still. */
const MOST_WAITING = 2;

const broken = (message: string, code: string): Error => Object.assign(new Error(message), { code });

/**
 * Frees what a socket read as soon as the parser has copied it: the collector sees only small wrappers, and would let
 * tens of MiB pile up (see {@link releaseBytes}). That it is a copy is seen on the first chunk, and only then believed.
 */
function releaseReads(response: IncomingMessage): void {
  const { socket } = response;
  let reading: ArrayBufferLike | null = null;
  let isCopied = false;
  const before = (read: Uint8Array): void => {
    reading = read.buffer;
  };
  const after = (read: Uint8Array): void => {
    reading = null;
    if (isCopied) releaseBytes(read);
  };
  response.on("data", (chunk: Uint8Array) => {
    if (reading !== null) isCopied = chunk.buffer !== reading;
  });
  socket.prependListener("data", before);
  socket.on("data", after);
  response.once("close", () => socket.off("data", before).off("data", after));
}

/**
 * @param idleMs of silence after which it is broken off; time in which its reader takes nothing does not count
 * @returns the body, to be read once: it ends where the answer says, or throws
 */
export function readBody(
  request: ClientRequest,
  response: IncomingMessage,
  idleMs: number,
): AsyncIterable<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let failure: unknown;
  let isOver = false;
  let wake = (): void => undefined;
  const end = (error?: unknown): void => {
    if (isOver) return;
    isOver = true;
    failure = error;
    wake();
  };
  response.on("data", (chunk: Uint8Array) => {
    waiting.push(chunk);
    if (waiting.length >= MOST_WAITING) response.pause();
    wake();
  });
  // Until somebody reads.
  response.pause();
  response.once("end", () => end());
  // What the parser finds is told by the request, and before the connection is closed over it. What comes after a
  // whole answer is no part of it: were it one, an answer that is always followed by more would never be read.
  request.on("error", (error) => {
    // What came before it may be all that the connection has brought: a download goes on behind it.
    while (response.read() !== null);
    if (!response.complete) end(error);
  });
  response.on("error", end);
  response.once("close", () => end(broken("the answer was cut short", "ECONNRESET")));
  releaseReads(response);

  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        const chunk = waiting.shift();
        if (chunk !== undefined) yield chunk;
        else if (isOver) break;
        else {
          const news = new Promise<void>((resolve) => {
            wake = resolve;
          });
          const silence = setTimeout(
            () => response.destroy(broken("nothing came for too long", "ETIMEDOUT")),
            idleMs,
          );
          response.resume();
          await news;
          clearTimeout(silence);
        }
      }
      if (failure !== undefined) throw failure;
    } finally {
      if (!isOver) response.destroy();
    }
  }
  return chunks();
}
