/**
 * Works like the SDK's stdio transport, but answers invalid messages with an error response and logs them
 * (docs/reference.md, Malformed requests).
 */
import type { Readable, Writable } from "node:stream";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { parseWithExactIds, restoreIds } from "./exact-ids.ts";
import {
  buildInvalidMessageReply,
  buildTooDeepReply,
  buildTooLongReply,
  type InvalidMessageReply,
  isNestedTooDeeply,
  NOT_JSON,
  rewriteZodError,
  withoutNulls,
} from "./invalid-messages.ts";

const LINE_FEED = 0x0a;

/** What is kept of each end of a line that is too long to be read. */
const KEPT_BYTES = 4096;

const cancelledRequestSchema = z.object({ requestId: z.union([z.string(), z.number()]) });

/**
 * Maximum number of sent bytes that the client has not read yet. While more bytes are unread, invalid messages get no
 * error response.
 */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Matches the escape of half a surrogate pair in JSON, behind an even number of backslashes. `JSON.stringify` writes
 * whole pairs as they are.
 */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/**
 * Sends and receives JSON-RPC messages, one on each line. Unlike the SDK's transport, treats members that are `null` as
 * absent, and answers an invalid or too long request with an error response.
 */
export class LenientStdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #onInvalidMessage: (sentence: string) => void;
  /** The beginning of a line whose end has not been received. */
  #lineChunks: Buffer[] = [];
  #lineBytes = 0;
  #isClosed = false;
  /** The ids of requests that were read and have no answer yet. */
  readonly #unanswered = new Set<string | number>();
  #onAnswered: () => void = () => undefined;

  /** @param onInvalidMessage called with the reason why a line was refused */
  constructor(input: Readable, output: Writable, onInvalidMessage: (sentence: string) => void) {
    this.#input = input;
    this.#output = output;
    this.#onInvalidMessage = onInvalidMessage;
  }

  async start(): Promise<void> {
    const end = (): void => void this.close();
    const endInput = (): void => {
      // The last line may lack its line feed.
      this.#receiveChunk(Buffer.from([LINE_FEED]));
      if (this.#unanswered.size === 0) end();
    };
    // Close the transport here if the input has already ended, because such an input emits no further event.
    if (this.#input.readableEnded || this.#input.destroyed) setImmediate(end);
    this.#input.on("data", this.#receiveChunk);
    this.#input.on("error", (error) => this.onerror?.(error));
    this.#input.on("end", endInput);
    this.#input.on("close", endInput);
    this.#output.on("error", (error) => {
      if (!this.#isClosed) this.onerror?.(error);
      end();
    });
  }

  /** Resolves when every request that was read is answered, or after a time. */
  async waitForAnswers(maxMs: number): Promise<void> {
    if (this.#unanswered.size === 0) return;
    const answered = Promise.withResolvers<void>();
    this.#onAnswered = answered.resolve;
    const timer = setTimeout(answered.resolve, maxMs);
    await answered.promise;
    clearTimeout(timer);
  }

  #forgetRequest(id: string | number): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#onAnswered();
  }

  readonly #receiveChunk = (chunk: Buffer): void => {
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to !== -1; to = chunk.indexOf(LINE_FEED, from)) {
      if (this.#isClosed) return;
      this.#append(chunk.subarray(from, to));
      this.#endLine();
      from = to + 1;
    }
    if (!this.#isClosed) this.#append(chunk.subarray(from));
  };

  #append(bytes: Buffer): void {
    this.#lineBytes += bytes.length;
    this.#lineChunks.push(bytes);
    if (this.#lineBytes <= STDIO_DEFAULT_MAX_BUFFER_SIZE) return;
    const line = Buffer.concat(this.#lineChunks);
    this.#lineChunks = [Buffer.from(line.subarray(0, KEPT_BYTES)), Buffer.from(line.subarray(-KEPT_BYTES))];
  }

  #endLine(): void {
    const line = Buffer.concat(this.#lineChunks).toString("utf8");
    const isTooLong = this.#lineBytes > STDIO_DEFAULT_MAX_BUFFER_SIZE;
    this.#lineChunks = [];
    this.#lineBytes = 0;
    if (isTooLong) this.#refuse(buildTooLongReply(line, parseWithExactIds));
    else this.#read(line);
  }

  #read(rawLine: string): void {
    // Some systems write a byte order mark before the first line.
    const line = rawLine.startsWith("\uFEFF") ? rawLine.slice(1) : rawLine;
    if (!/\S/.test(line)) return;
    let value: unknown;
    try {
      value = parseWithExactIds(line);
    } catch {
      this.#refuse(NOT_JSON);
      return;
    }
    if (isNestedTooDeeply(value)) {
      this.#refuse(buildTooDeepReply(value));
      return;
    }
    if (line.includes("null")) value = withoutNulls(value);
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      this.#refuse(buildInvalidMessageReply(value));
      return;
    }
    if ("method" in message && "id" in message) this.#unanswered.add(message.id);
    this.onmessage?.(message);
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    // A cancelled request gets no answer.
    const { success, data } = cancelledRequestSchema.safeParse(message.params);
    if (success) this.#forgetRequest(data.requestId);
  }

  #refuse({ id, code, message, isAwaited }: InvalidMessageReply): void {
    this.#onInvalidMessage(message);
    if (!isAwaited || this.#output.writableLength > MAX_UNREAD_BYTES) return;
    // Write the response directly, because the SDK's types do not allow a response without an id.
    void this.#write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`).catch(
      () => undefined,
    );
  }

  /** Writes a line of JSON. Every line leaves here, so that each has the digits of its ids and well-formed strings. */
  #write(line: string): Promise<void> {
    const wellFormed = line.includes("\\ud") ? line.replace(LONE_SURROGATE, "$1\ufffd") : line;
    return new Promise((resolve, reject) => {
      this.#output.write(restoreIds(wellFormed), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Resolves when the message has been written. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error("the connection is closed");
    const error = "error" in message ? rewriteZodError(message.error) : null;
    await this.#write(serializeMessage(error === null ? message : { ...message, error }));
    if (!("method" in message) && message.id !== undefined) this.#forgetRequest(message.id);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#receiveChunk);
    this.#input.pause();
    this.#lineChunks = [];
    this.onclose?.();
  }
}
