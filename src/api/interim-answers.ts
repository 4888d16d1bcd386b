/**
 * Removes interim answers (1xx) before undici reads them. Some gateways send an unasked "100 Continue", which a client
 * must be able to read (RFC 9110, 15.2); undici breaks the connection.
 */
import type { buildConnector } from "undici";

const BEFORE_STATUS = "HTTP/1.1 ";
const STATUS_BYTES = BEFORE_STATUS.length + "100".length;
const INTERIM = /^HTTP\/1\.\d 1\d\d/;
/** A head that is longer is handed on, and undici refuses it. */
const MAX_HEAD_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** Follows the heads of the answers on one connection. */
class InterimAnswers {
  #isInHead = false;
  /** The beginning of a head of which it is not known yet whether it is interim, and the whole of one that is. */
  #head: Buffer = NOTHING;

  /** A request is written, so the next bytes are the head of an answer. One request runs at a time. */
  expectHead(): void {
    this.#isInHead = true;
  }

  /** Returns the received bytes without interim answers. */
  withoutInterim(bytes: Buffer): Buffer {
    if (!this.#isInHead) return bytes;
    this.#head = Buffer.concat([this.#head, bytes]);
    for (;;) {
      const start = this.#head.toString("latin1", 0, STATUS_BYTES);
      const mayBeInterim = start.length < STATUS_BYTES ? /^HTTP|^H?T?T?P?$/.test(start) : INTERIM.test(start);
      if (!mayBeInterim || this.#head.length > MAX_HEAD_BYTES) break;
      const end = /\r?\n\r?\n/.exec(this.#head.toString("latin1"));
      if (start.length < STATUS_BYTES || end === null) return NOTHING;
      this.#head = this.#head.subarray(end.index + end[0].length);
    }
    this.#isInHead = false;
    const final = this.#head;
    this.#head = NOTHING;
    return final;
  }
}

/** Returns a connector whose connections carry no interim answers. */
export function ignoreInterimAnswers(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (!socket) return callback(error ?? new Error("there is no connection"), null);
      const answers = new InterimAnswers();
      const read = socket.read.bind(socket);
      const write = socket.write.bind(socket);
      socket.read = (size?: number): unknown => {
        const bytes: unknown = read(size);
        return Buffer.isBuffer(bytes) ? answers.withoutInterim(bytes) : bytes;
      };
      // The cast is safe, because the arguments are handed on as they are.
      socket.write = ((...args: Parameters<typeof write>): boolean => {
        answers.expectHead();
        return write(...args);
      }) as typeof socket.write;
      return callback(null, socket);
    });
}
